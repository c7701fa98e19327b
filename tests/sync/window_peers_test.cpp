// What peers may say about windows, true or false: nothing of it ends the process, and nothing
// makes a member admit more than the limit says.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "sanitized.h"
#include "sim/quota_set.h"
#include "sync/window_origin.h"
#include "sync/window_owner.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kWall = 1'795'867'200;

/// A member that gets what the test says, and keeps nothing of what it sends.
struct Alone : WindowSink {
    explicit Alone(std::uint64_t seed, limiter::WindowStart from = limiter::WindowStart::calendar)
        : limiter({.seed = seed}) {
        limiter.set_wall_clock(std::chrono::seconds(kWall) - now.time_since_epoch());
        limiter.drain_active([](limiter::LimitRef) {});
        limiter::QuotaDefinition definition;
        definition.name = "q";
        definition.limits = {limiter::RateLimit::in_window(100, 1min)};
        definition.limits[0].from = from;
        REQUIRE(sim::put_quota(limiter, definition, now).empty());
        origin.set_run(7);
        std::vector<membership::OwnerCandidate> candidates;
        for (std::uint32_t i = 0; i < 5; ++i) {
            ids.push_back({Endpoint::v4(0x0a000000 + i, 7946), i + 1});
            candidates.push_back({ids.back(), {}});
        }
        (void)owners.recompute(candidates);
        self = owners.of(shard()).front();
    }
    [[nodiscard]] bool has_room_for_windows(bool urgent) override { return urgent || sent % 3 > 0; }
    void send_window_report(const gossip::MemberId& to, const WindowReport& report) override {
        CHECK(plausible(report));
        ++sent;
        ++reports;
        last = report;
        if (to == self) {
            owner.receive(self, silence.number(self, now), report, now, *this);
        }
    }
    void send_window_grant(const gossip::MemberId& to, const WindowGrant& grant) override {
        CHECK(plausible(grant));
        ++sent;
        noted += grant.run == 9 ? 1U : 0U;
        if (to == self) {
            origin.receive(self, grant, now);
        }
    }
    [[nodiscard]] static membership::Shard shard() { return membership::shard_of(quota_hash("q")); }
    void tick() {
        limiter.drain_active([](limiter::LimitRef) {});
        const std::int64_t second = limiter.wall_second(now);
        limiter.share_windows(5, second - 60);
        owner.tick(now, second, {5, true}, self, owners, *this);
        origin.tick(now, second, owners, *this);
        limiter.quiescent(thread);
    }
    void tick_times(int times) {
        for (int i = 0; i < times; ++i) {
            now += 10ms;
            tick();
        }
    }
    /// Whether a request is admitted.
    [[nodiscard]] bool admits() {
        const auto leaf = limiter.find(thread, "q", now);
        return limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge).admitted;
    }

    Instant now{1h};
    limiter::Limiter limiter;
    limiter::ThreadContext& thread = limiter.register_thread(3);
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    membership::Owners owners;
    std::vector<gossip::MemberId> ids;
    gossip::MemberId self;
    WindowOrigin origin{limiter, statistics};
    WindowOwner owner{silence, [this] { return ids; }, statistics};
    std::uint64_t sent = 0;
    std::uint64_t reports = 0;
    std::uint64_t noted = 0;  // answers about run 9
    WindowReport last;
};

/// A weight that is likely to be at a border.
std::uint64_t some_weight(Random& random) {
    constexpr std::array<std::uint64_t, 7> kWeights = {
        0, 1, 99, 100, 101, 1'000'000'000'000'000, 10'000'000'000'000'000};
    return kWeights[random.below(kWeights.size())];
}

std::uint32_t some_end(Random& random) {
    constexpr std::array<std::uint32_t, 8> kEnds = {
        1, kWall - 1, kWall, kWall + 1, kWall + 30, kWall + 60, kWall + 61, 0xffff'ffff};
    return kEnds[random.below(kEnds.size())];
}

TEST_CASE("what a member said last counts, also if its goodbye has overtaken it") {
    for (const bool noticed : {false, true}) {
        CAPTURE(noticed);
        Alone member(3);
        member.tick();
        const gossip::MemberId leaver =
            member.ids[0] == member.self ? member.ids[1] : member.ids[0];
        const MemberNumber number = member.silence.number(leaver, member.now);
        member.silence.joined(leaver, true);
        member.silence.heard(number, member.now);
        WindowReport report{.key = {quota_hash("q"), 1, 0, 60'000},
                            .run = 5,
                            .end = static_cast<std::uint32_t>(kWall + 60),
                            .number = 1,
                            .most = 100,
                            .allowance = 20,
                            .admitted = 10,
                            .wanted = 10};
        member.owner.receive(leaver, number, report, member.now, member);
        CHECK(member.owner.admitted(report.key) == 10);
        member.silence.gone(leaver, member.now);
        member.owner.members_changed();
        if (noticed) {
            member.tick();
        }
        report.number = 2;
        report.admitted = report.wanted = 11;
        member.owner.receive(leaver, number, report, member.now, member);
        member.now += 10ms;
        member.tick();
        CHECK(member.owner.admitted(report.key) == 11);
    }
}

TEST_CASE("a member joins the window that another owner knows, also if it is the first owner") {
    Alone member(4, limiter::WindowStart::first);
    member.sent = 1;  // so that there is room for what may wait
    member.tick();
    REQUIRE(member.admits());
    member.tick_times(100);
    const auto end_here = [&] { return member.limiter.inspect("q", member.now)[0].window_end; };
    CHECK(end_here() == kWall + 60);
    REQUIRE(member.last.admitted == 1);
    WindowGrant answer{.key = member.last.key,
                       .run = 7,
                       .end = static_cast<std::uint32_t>(kWall + 30),
                       .number = member.last.number};
    const auto& list = member.owners.of(Alone::shard());
    const auto stranger = std::find_if(member.ids.begin(), member.ids.end(), [&](const auto& id) {
        return std::find(list.begin(), list.end(), id) == list.end();
    });
    member.origin.receive(*stranger, answer, member.now);
    CHECK(end_here() == kWall + 60);
    member.origin.receive(list.back(), answer, member.now);
    member.tick_times(10);
    CHECK(end_here() == kWall + 30);
    CHECK(member.last.end == kWall + 30);
    CHECK(member.owner.admitted(member.last.key) == 1);
}

/// What a member has admitted in the window of "q" that ends so many seconds after the start.
WindowReport report_of(std::uint64_t run, std::int64_t end, std::uint64_t admitted) {
    return {.key = {quota_hash("q"), 1, 0, 60'000},
            .run = run,
            .end = static_cast<std::uint32_t>(kWall + end),
            .number = 1,
            .most = 100,
            .allowance = 20,
            .admitted = admitted,
            .wanted = admitted};
}

/// An owner of "q" to which the other members report.
struct Heard : Alone {
    Heard() : Alone(6, limiter::WindowStart::first) {
        for (const gossip::MemberId& id : ids) {
            if (id != self) {
                others.push_back(id);
                silence.joined(id, true);
            }
        }
        tick();
    }
    void hear(std::size_t from, const WindowReport& report) {
        const MemberNumber number = silence.number(others[from], now);
        silence.heard(number, now);
        owner.receive(others[from], number, report, now, *this);
    }
    [[nodiscard]] std::optional<std::uint64_t> known() const { return owner.admitted(key); }
    const LimitKey key = report_of(1, 60, 0).key;
    std::vector<gossip::MemberId> others;
};

TEST_CASE("who tells of one that is gone does not decide which window members that live are in") {
    Heard member;
    WindowReport gone = report_of(9, 60, 30);
    gone.gone = true;
    SUBCASE("they are in a later one") {
        member.hear(0, report_of(1, 90, 5));
        member.hear(1, gone);
        CHECK(member.known() == 5);
        CHECK(member.noted == 0);
        member.hear(2, report_of(2, 60, 3));  // in that one, too, after all
        member.hear(1, gone);
        CHECK(member.known() == 38);
        CHECK(member.noted == 1);
    }
    SUBCASE("none is known to be in any") {
        member.hear(1, gone);
        CHECK(member.known() == 30);
        member.hear(0, report_of(1, 90, 5));
        CHECK(member.known() == 35);
    }
}

TEST_CASE("what is granted and taken back before it was reported is confirmed") {
    Alone member(4);
    member.sent = 1;  // so that there is room for what may wait
    member.tick();
    REQUIRE(member.admits());
    member.tick_times(30);
    REQUIRE(member.last.admitted == 1);
    const std::uint64_t number = member.last.number;
    WindowGrant grant{.key = member.last.key,
                      .run = 7,
                      .end = member.last.end,
                      .number = number,
                      .granted = true,
                      .allowance = member.last.allowance + 5};
    bool raised = false;
    SUBCASE("it came here") { raised = true; }
    SUBCASE("it was lost") {}
    if (raised) {
        member.origin.receive(member.self, grant, member.now);
        member.tick_times(30);
        CHECK(member.last.number == number);
    }
    grant.allowance -= 5;
    member.origin.receive(member.self, grant, member.now);
    member.tick_times(30);
    CHECK(member.last.number > number);
    CHECK(member.last.allowance == grant.allowance);
    const std::uint64_t confirmed = member.last.number;
    member.tick_times(30);
    CHECK(member.last.number == confirmed);
}

TEST_CASE("two answers to a report that was sent twice, because they took long, ask for nothing") {
    Alone member(4);
    member.sent = 1;  // so that there is room for what may wait
    member.self = member.ids[0];
    const std::vector<membership::OwnerCandidate> other = {{member.ids[1], {}}};
    (void)member.owners.recompute(other);  // it does not answer at once
    REQUIRE(member.admits());
    member.tick_times(30);
    const std::uint64_t number = member.last.number;
    const WindowGrant grant{.key = member.last.key,
                            .run = 7,
                            .end = member.last.end,
                            .number = number,
                            .granted = true,
                            .allowance = member.last.allowance};
    REQUIRE(member.reports == 2);
    member.sent = 1;
    for (int i = 0; i < 2; ++i) {
        member.origin.receive(member.ids[1], grant, member.now);
        member.tick_times(30);
        CHECK(member.last.number == number);
    }
    member.origin.receive(member.ids[1], grant, member.now);
    member.tick_times(30);
    CHECK(member.last.number > number);
}

TEST_CASE("whatever peers say, no member admits more than the limit in a window of its own") {
    for (std::uint64_t seed = 1; seed <= (kSanitized ? 3 : 20); ++seed) {
        CAPTURE(seed);
        Random random(seed);
        Alone member(seed);
        const LimitKey key{quota_hash("q"), 1, 0, 60'000};
        int in_row = 0;
        std::int64_t end = 0;
        for (int step = 0; step < 3000; ++step) {
            const gossip::MemberId& from = member.ids[random.below(member.ids.size())];
            const std::uint64_t number = 1 + random.below(6);
            const WindowReport report{.key = key,
                                      .run = 1 + random.below(8),
                                      .end = some_end(random),
                                      .number = number,
                                      .told = random.below(2) == 0,
                                      .gone = random.below(3) == 0,
                                      .most = some_weight(random),
                                      .allowance = some_weight(random),
                                      .admitted = some_weight(random),
                                      .wanted = some_weight(random)};
            CHECK(plausible(report));
            member.owner.receive(from, member.silence.number(from, member.now), report, member.now,
                                 member);
            const bool answers = random.below(2) == 0;
            const WindowGrant grant{.key = key,
                                    .run = answers ? 7U : 0U,
                                    .end = some_end(random),
                                    .number = answers ? number : std::uint64_t{0},
                                    .granted = random.below(3) > 0,
                                    .scarce = random.below(2) == 0,
                                    .allowance = some_weight(random)};
            CHECK(plausible(grant));
            member.owner.noted(from, grant);
            member.origin.receive(from, grant, member.now);
            const bool admitted = member.admits();
            const std::int64_t now_end = member.limiter.inspect("q", member.now).at(0).window_end;
            in_row = now_end == end ? in_row : 0;
            end = now_end;
            in_row += admitted ? 1 : 0;
            CHECK(in_row <= 100);
            member.tick();
            member.now += random.below(50) == 0 ? Duration(1500ms) : Duration(10ms);
        }
    }
}

}  // namespace
}  // namespace weir::sync
