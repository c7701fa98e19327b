// What an owner keeps of runs that are gone, against a plain model.

#include "sync/gone_runs.h"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "base/random.h"
#include "sync/window_owner.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using Taken = GoneRuns::Taken;

/// The same, in the plainest way.
struct PlainCounts {
    std::map<std::uint64_t, GoneRuns::GoneRun> counts;
    unsigned others = 0;

    [[nodiscard]] std::uint64_t admitted() const {
        std::uint64_t sum = 0;
        for (const auto& [run, count] : counts) {
            sum += count.admitted;
        }
        return sum;
    }
    [[nodiscard]] std::size_t untold() const {
        std::size_t found = 0;
        for (const auto& [run, count] : counts) {
            found += (others & ~unsigned{count.noted}) != 0 ? 1U : 0U;
        }
        return found;
    }
};

void check_alike(const GoneRuns& runs, const PlainCounts& plain) {
    REQUIRE(runs.size() == plain.counts.size());
    CHECK(runs.admitted() == plain.admitted());
    CHECK(runs.untold() == plain.untold());
    std::size_t place = 0;
    for (const auto& [run, count] : plain.counts) {
        const GoneRuns::GoneRun& kept = runs.counts()[place++];
        CHECK(kept.run == run);
        CHECK(kept.number == count.number);
        CHECK(kept.admitted == count.admitted);
        CHECK(kept.noted == count.noted);
    }
    std::size_t told = 0;
    runs.for_each_untold([&](const GoneRuns::GoneRun& count, GoneRuns::OwnerBits owners) {
        CHECK(owners == (plain.others & ~unsigned{plain.counts.at(count.run).noted}));
        CHECK(owners != 0);
        ++told;
        return true;
    });
    CHECK(told == plain.untold());
}

void do_something(GoneRuns& runs, PlainCounts& plain, Random& random) {
    const std::uint64_t run = 1 + random.below(20);
    const std::uint64_t number = 1 + random.below(50);
    const auto owners = static_cast<GoneRuns::OwnerBits>(random.below(8));
    const std::uint64_t what = random.below(10);
    if (what < 5) {
        const std::uint64_t admitted = random.below(1000);
        GoneRuns::GoneRun& count = plain.counts[run];
        const bool news = number > count.number;
        if (news) {
            count = {.run = run, .number = number, .admitted = admitted, .noted = 0};
        }
        CHECK(runs.take(run, number, admitted) == (news ? Taken::news : Taken::known));
    } else if (what < 8) {
        // Most notes are of the newest report.
        const GoneRuns::GoneRun* const count = runs.find(run);
        const std::uint64_t noted = count != nullptr && what < 7 ? count->number : number;
        const std::size_t before = plain.untold();
        const bool done = runs.note(run, noted, owners);
        const auto known = plain.counts.find(run);
        if (known != plain.counts.end() && known->second.number == noted) {
            known->second.noted = static_cast<GoneRuns::OwnerBits>(known->second.noted | owners);
        }
        CHECK(done == (plain.untold() < before));
    } else if (what < 9) {
        CHECK(runs.remove(run) == (plain.counts.erase(run) == 1));
    } else {
        runs.tell_all(owners);
        plain.others = owners;
        for (auto& [each, count] : plain.counts) {
            count.noted = 0;
        }
    }
}

TEST_CASE("counts of gone runs are those of a plain model") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        GoneRuns runs;
        PlainCounts plain;
        for (int i = 0; i < 300; ++i) {
            do_something(runs, plain, random);
            check_alike(runs, plain);
        }
        runs.clear();
        CHECK(runs.size() + runs.untold() + runs.admitted() == 0);
    }
}

TEST_CASE("a sum of counts that are false and huge is huge, and exact again without them") {
    GoneRuns runs;
    CHECK(runs.take(1, 1, 7) == Taken::news);
    for (std::uint64_t run = 2; run < 2000; ++run) {
        CHECK(runs.take(run, 1, std::uint64_t{1} << 55) == Taken::news);
        CHECK(runs.admitted() >= std::uint64_t{1} << 55);
    }
    CHECK(runs.admitted() == std::uint64_t{1} << 62);
    for (std::uint64_t run = 2; run < 2000; ++run) {
        CHECK(runs.remove(run));
    }
    CHECK(runs.admitted() == 7);
}

TEST_CASE("a window has room for so many gone runs, and known ones are renewed when it is full") {
    GoneRuns runs;
    Random random(5);
    std::uint64_t run = 0;
    while (runs.size() < GoneRuns::kMost) {
        run = 1 + random.below(std::uint64_t{1} << 60);
        (void)runs.take(run, 1, 1);
    }
    CHECK(runs.take(std::uint64_t{1} << 61, 1, 1) == Taken::full);
    CHECK(runs.find(std::uint64_t{1} << 61) == nullptr);
    CHECK(runs.take(run, 2, 3) == Taken::news);
    CHECK(runs.admitted() == GoneRuns::kMost + 2);
    static_assert(sizeof(GoneRuns::GoneRun) == 32);
}

/// An owner whose messages find little room, and another one that notes all it is told.
struct TwoOwners final : WindowSink {
    static constexpr std::int64_t kSecond = 1'795'867'200;
    static constexpr int kRoom = 500;  // in each tick

    TwoOwners() {
        std::vector<membership::OwnerCandidate> candidates;
        for (const gossip::MemberId& id : ids) {
            candidates.push_back({id, {}});
        }
        (void)owners.recompute(candidates);
        tick();
    }
    void tick() {
        room = kRoom;
        owner.tick(now, kSecond, {2, true}, ids[0], owners, *this);
        for (const WindowGrant& grant : std::exchange(noted, {})) {
            owner.noted(ids[1], grant);
        }
        now += 10ms;
    }
    [[nodiscard]] bool has_room_for_windows(bool /*urgent*/) override { return room > 0; }
    void send_window_report(const gossip::MemberId& to, const WindowReport& report) override {
        REQUIRE(to == ids[1]);
        CHECK(report.gone);
        --room;
        ++sent;
        told[report.run] = report.admitted;
        noted.push_back(
            {.key = report.key, .run = report.run, .end = report.end, .number = report.number});
    }
    void send_window_grant(const gossip::MemberId& /*to*/, const WindowGrant&) override {}

    std::vector<gossip::MemberId> ids{{Endpoint::v4(0x0a000001, 7946), 1},
                                      {Endpoint::v4(0x0a000002, 7946), 2}};
    Instant now{1h};
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    WindowOwner owner{silence, [this] { return ids; }, statistics};
    membership::Owners owners;
    int room = 0;
    std::size_t sent = 0;
    std::map<std::uint64_t, std::uint64_t> told;
    std::vector<WindowGrant> noted;
};

TEST_CASE("many gone runs are told in portions, each once, and then never again") {
    TwoOwners two;
    WindowReport count;
    count.key = {quota_hash("q"), static_cast<std::uint8_t>(limiter::LimitKind::window), 0, 60'000};
    count.end = static_cast<std::uint32_t>(TwoOwners::kSecond + 30);
    count.gone = true;
    count.most = 1'000'000;
    count.number = 3;
    Random random(11);
    constexpr std::size_t kRuns = 20'000;
    for (std::size_t i = 0; i < kRuns; ++i) {
        count.run = 1 + i * 7919 % kRuns;
        count.admitted = random.below(50);
        two.owner.restore(count, two.now);
    }
    for (int i = 0; i < 3000; ++i) {
        two.tick();
    }
    CHECK(two.told.size() == kRuns);
    CHECK(two.sent == kRuns);
    std::uint64_t sum = 0;
    for (const auto& [run, admitted] : two.told) {
        sum += admitted;
    }
    CHECK(two.owner.admitted(count.key) == sum);
    for (int i = 0; i < 3000; ++i) {
        two.tick();
    }
    CHECK(two.sent == kRuns);
}

}  // namespace
}  // namespace weir::sync
