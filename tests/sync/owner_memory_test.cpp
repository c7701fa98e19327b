// What an owner keeps of limits that it does not use itself, and for how long: robustness 47. Names
// may be lost on their way, and whoever tells of limits may have invented them.

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "owned_fixture.h"
#include "sync/owner.h"
#include "tolerance.h"

namespace weir::sync {
namespace {

using test::member;
using testing::plus_minus;

constexpr limiter::LimitParameters kLimit{10, 100, 200, -1, limiter::Law::adaptive};
constexpr std::uint32_t kOrigin = 1;

struct Fixture : OwnerSink {
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    membership::Owners owners;
    Instant now{std::chrono::seconds(1000)};
    std::optional<limiter::LimitParameters> used_here;
    std::optional<limiter::LimitParameters> defined_here;  // known by the name only
    std::vector<Instant> asked;
    gossip::MemberId asked_last;
    Owner owner{settings, silence, Random(3),
                [this](const LimitKey&, std::string& name, limiter::LimitParameters& parameters,
                       limiter::Isolation&) {
                    const auto& known = !name.empty() && defined_here ? defined_here : used_here;
                    if (known) {
                        parameters = *known;
                    }
                    if (known && name.empty()) {
                        name = "q";
                    }
                    return known.has_value();
                },
                statistics};

    Fixture() {
        settings.told_memory = 10min;
        owners.recompute(std::vector<membership::OwnerCandidate>{{member(0), {}}});
        owner.set_self(member(0));
        owner.start(owners, now);
    }
    void send_total(const gossip::MemberId&, const TotalEntry&) override {}
    void send_handover(const gossip::MemberId&, const HandoverEntry&) override {}
    void send_order(const gossip::MemberId&, const QuietOrder&) override {}
    void ask_name(const gossip::MemberId& to, const LimitKey&) override {
        asked.push_back(now);
        asked_last = to;
    }
    void ask_owner(const gossip::MemberId&, std::uint16_t) override {}

    static LimitKey key(std::uint32_t limit) { return {limit, 0, 0, 1000}; }
    [[nodiscard]] MemberNumber number(std::uint32_t of) { return silence.number(member(of), now); }
    void report(std::uint32_t limit, double admitted) {
        DeltaEntry entry;
        entry.key = key(limit);
        entry.run = 5;
        entry.run_age = 100ms;
        entry.admitted = entry.offered = admitted;
        entry.keep_alive = 1s;
        static_cast<void>(owner.receive(member(kOrigin), number(kOrigin), entry, now, *this));
    }
    void hand_over(std::uint32_t limit, double level) {
        HandoverEntry entry;
        entry.key = key(limit);
        entry.level = level;
        CHECK(owner.receive(number(kOrigin), entry, now, *this));
    }
    void tell_name(std::uint32_t limit, const limiter::LimitParameters& of) {
        NameEntry entry{key(limit), "q", of.rate, of.low, of.high, 0, 0};
        owner.name_told(number(kOrigin), entry, now);
    }
    void pass(Duration time, Duration step = 50ms) {
        for (const Instant end = now + time; now < end;) {
            now += step;
            owner.tick(now, *this);
        }
    }
    [[nodiscard]] double level(std::uint32_t limit) const {
        const OwnedLimit* known = owner.find(key(limit));
        if (known == nullptr || !known->parameters) {
            return known == nullptr ? -1 : known->bucket.level;
        }
        // What is at rest has drained since it was last looked at.
        return known->bucket.level - known->parameters->rate * to_seconds(now - known->advanced);
    }
};

TEST_CASE_FIXTURE(Fixture, "a limit of which nobody tells what it is is forgotten") {
    now += 2s;
    for (std::uint32_t limit = 0; limit < 50; ++limit) {
        report(limit, 1);
    }
    pass(70s);
    CHECK(owner.size() == 50);
    pass(10s);
    CHECK(owner.size() == 0);
    CHECK(owner.cells() == 0);
}

TEST_CASE_FIXTURE(Fixture, "so is what was handed over without a name") {
    hand_over(1, 150);
    pass(50s);
    CHECK(owner.size() == 1);
    pass(15s);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "what an origin told of a limit does not keep it for ever") {
    now += 2s;
    report(1, 90);
    tell_name(1, {1e-6, 1e-6, 1e12, -1, limiter::Law::adaptive});
    report(2, 90);
    tell_name(2, {0.1, 100, 100, -1, limiter::Law::adaptive});  // drains in 15 minutes
    pass(9min);
    CHECK(owner.size() == 2);
    CHECK(level(2) == plus_minus(90 - 0.1 * 540, 0.1));
    pass(70s);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "our own definitions keep it until it has drained") {
    used_here = limiter::LimitParameters{0.1, 100, 100, -1, limiter::Law::adaptive};
    now += 2s;
    report(1, 90);
    pass(14min, 500ms);
    CHECK(owner.size() == 1);
    pass(70s, 500ms);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a limit of 0 keeps no level") {
    used_here = kLimit;
    now += 2s;
    report(1, 90);
    used_here->rate = 0;
    owner.refresh_parameters(now);
    pass(80s);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a name that comes late: the level has drained meanwhile") {
    hand_over(1, 150);
    hand_over(2, 150);
    pass(4s);
    CHECK(level(1) == 150);
    tell_name(1, kLimit);
    CHECK(level(1) == plus_minus(110, 0.5));
    pass(1s);
    CHECK(level(1) == plus_minus(100, 0.5));
    // The same where the name leads to a definition of our own.
    defined_here = kLimit;
    tell_name(2, {1e-6, 1e-6, 1e12, -1, limiter::Law::adaptive});
    CHECK(level(2) == plus_minus(100, 0.5));
}

TEST_CASE_FIXTURE(Fixture, "a long level has to be kept when it is told which limit it is of") {
    now += 2s;
    report(1, 5);
    const std::uint64_t news = owner.level_news();
    tell_name(1, {0.01, 10, 20});
    CHECK(owner.level_news() == news + 1);
    tell_name(1, {0.01, 10, 20});
    CHECK(owner.level_news() == news + 1);
    report(2, 5);
    tell_name(2, {100, 10, 20});  // it drains at once
    CHECK(owner.level_news() == news + 1);
}

TEST_CASE_FIXTURE(Fixture, "what came in the last moment has not drained with the rest") {
    now += 2s;
    report(1, 1e9);  // no ceiling yet
    pass(1s);
    tell_name(1, kLimit);
    CHECK(level(1) == plus_minus(kLimit.high - kLimit.rate, 0.5));
}

TEST_CASE_FIXTURE(Fixture, "a limit that is used here meanwhile needs no name") {
    hand_over(1, 150);
    pass(2s);
    used_here = kLimit;
    report(1, 5);
    REQUIRE(owner.find(key(1))->parameters);
    CHECK(level(1) == plus_minus(135, 0.5));
}

TEST_CASE_FIXTURE(Fixture, "a name is asked for again, ever more seldom, though nobody speaks") {
    hand_over(1, 150);
    CHECK(asked.size() == 1);
    CHECK(asked_last == member(kOrigin));
    pass(1s);
    CHECK(asked.size() == 4);  // after 0.1, 0.3 and 0.7 s
    pass(50s);
    CHECK(asked.size() == 7);
    CHECK(asked.back() < now - 40s);
    CHECK(statistics.names_asked == 7);
}

TEST_CASE_FIXTURE(Fixture, "whoever is told asks no more, nor is asked who is gone") {
    hand_over(1, 150);
    pass(200ms);
    CHECK(asked.size() == 2);
    tell_name(1, kLimit);
    pass(5s);
    CHECK(asked.size() == 2);
    hand_over(2, 150);
    CHECK(asked.size() == 3);
    silence.gone(member(kOrigin), now);
    pass(5s);
    CHECK(asked.size() == 3);
}

TEST_CASE_FIXTURE(Fixture, "of very many names few are asked for again in each tick") {
    for (std::uint32_t limit = 0; limit < 1000; ++limit) {
        hand_over(limit, 1);
    }
    asked.clear();
    for (int i = 0; i < 200; ++i) {
        const std::size_t before = asked.size();
        pass(10ms, 10ms);
        CHECK(asked.size() - before <= 32);
    }
    CHECK(asked.size() > 1000);
}

TEST_CASE_FIXTURE(Fixture, "in a full table the emptiest that nobody uses makes room") {
    settings.maximum_owned_limits = 4;
    used_here = limiter::LimitParameters{0.001, 100, 100, -1, limiter::Law::adaptive};
    now += 2s;
    report(1, 50);
    report(2, 20);
    report(3, 80);
    used_here.reset();
    report(4, 99);  // of which somebody will tell a lie
    tell_name(4, {1e-6, 1e12, 1e12, -1, limiter::Law::adaptive});
    report(5, 1);
    CHECK(owner.find(key(5)) == nullptr);  // all are in use
    CHECK(statistics.dropped_owned_limits == 1);
    pass(80s);
    CHECK(owner.size() == 4);
    used_here = kLimit;
    report(5, 1);
    CHECK(owner.find(key(5)) != nullptr);
    CHECK(owner.find(key(4)) == nullptr);
    report(6, 1);
    CHECK(owner.find(key(2)) == nullptr);
    CHECK(owner.find(key(3)) != nullptr);
    CHECK(statistics.room_made == 2);
    CHECK(owner.size() == 4);
    pass(1s);
    CHECK(level(5) <= 0);  // the new ones are looked at like all
    CHECK(owner.size() == 4);
}

}  // namespace
}  // namespace weir::sync
