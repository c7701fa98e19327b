// When an owner tells its users: at once of few limits, together of many.
#include "sync/owner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "owned_fixture.h"

namespace weir::sync {
namespace {

using test::member;

struct Fixture : OwnerSink {
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    membership::Owners owners;
    Instant now{std::chrono::seconds(1000)};
    std::vector<std::pair<gossip::MemberId, LimitKey>> totals;
    TotalEntry last;
    Owner owner{settings, silence, Random(3),
                [](const LimitKey&, std::string& name, limiter::LimitParameters& parameters,
                   limiter::Isolation&) {
                    name = "q";
                    parameters = {100, 100, 200, -1, limiter::Law::adaptive};
                    return true;
                },
                statistics};

    Fixture() {
        settings.crowd_of_limits = 8;
        settings.publication_wait = 300ms;
        owners.recompute(std::vector<membership::OwnerCandidate>{{member(0), {}}});
        owner.set_self(member(0));
        owner.start(owners, now);
        now += 2s;
    }
    void send_total(const gossip::MemberId& to, const TotalEntry& entry) override {
        totals.emplace_back(to, entry.key);
        last = entry;
    }
    void send_handover(const gossip::MemberId&, const HandoverEntry&) override {}
    void send_order(const gossip::MemberId&, const QuietOrder&) override {}
    void ask_name(const gossip::MemberId&, const LimitKey&) override {}
    void ask_owner(const gossip::MemberId&, std::uint16_t) override {}

    static LimitKey key(std::uint32_t limit) { return {limit, 0, 0, 1000}; }
    bool tell(std::uint32_t user, std::uint32_t limit, double admitted, bool may_wait = false) {
        DeltaEntry entry;
        entry.key = key(limit);
        entry.run = 5;
        entry.run_age = 100ms;
        entry.admitted = entry.offered = admitted;
        entry.rate = 37;
        entry.keep_alive = 1s;
        const bool answers =
            owner.receive(member(user), silence.number(member(user), now), entry, now, *this);
        if (answers && !may_wait) {
            answer(user, limit);
        }
        return answers;
    }
    void answer(std::uint32_t user, std::uint32_t limit) {
        if (const auto total = owner.answer(silence.number(member(user), now), key(limit), now)) {
            send_total(member(user), *total);
        }
    }
    /// Users 1 to 3 of so many limits, all of them hot; then what all reckon is off by a little.
    void make_hot(std::uint32_t limits) {
        for (std::uint32_t limit = 0; limit < limits; ++limit) {
            for (std::uint32_t user = 1; user <= 3; ++user) {
                tell(user, limit, 40);
            }
        }
        pass(100ms);
        for (std::uint32_t user = 1; user <= 3; ++user) {
            CHECK(told(user) == 2 * limits);  // an answer, and that the limit turned hot, at once
        }
        for (std::uint32_t limit = 0; limit < limits; ++limit) {
            tell(1, limit, 40 + 16);
        }
        totals.clear();
    }
    void pass(Duration time) {
        for (const Instant end = now + time; now < end;) {
            now += 10ms;
            owner.tick(now, *this);
        }
    }
    [[nodiscard]] std::size_t told(std::uint32_t user) const {
        return static_cast<std::size_t>(
            std::count_if(totals.begin(), totals.end(),
                          [&](const auto& each) { return each.first == member(user); }));
    }
};

TEST_CASE_FIXTURE(Fixture, "an owner of few limits publishes at once") {
    make_hot(3);
    pass(60ms);
    for (std::uint32_t user = 1; user <= 3; ++user) {
        CHECK(told(user) >= 3);
    }
}

TEST_CASE_FIXTURE(Fixture,
                  "an owner whose ticks come late looks at everything that is due by its clock") {
    make_hot(3);
    now += 80ms;  // stood still
    owner.tick(now, *this);
    for (std::uint32_t user = 1; user <= 3; ++user) {
        CHECK(told(user) >= 3);
    }
}

TEST_CASE_FIXTURE(Fixture, "an owner of many lets publications wait for each other") {
    make_hot(10);
    pass(200ms);
    CHECK(totals.empty());
    pass(160ms);
    for (std::uint32_t user = 1; user <= 3; ++user) {
        CHECK(told(user) >= 10);
    }
    // Each user is told all in one tick: they share datagrams.
    CHECK(std::is_sorted(totals.begin(), totals.begin() + 30,
                         [](const auto& a, const auto& b) { return a.first < b.first; }));
}

TEST_CASE_FIXTURE(Fixture, "what waits goes with the answer to a delta, and is not told twice") {
    make_hot(10);
    pass(100ms);
    const MemberNumber user = silence.number(member(2), now);
    tell(2, 4, 42);  // answered: nothing of this limit waits any more
    CHECK(told(2) == 1);
    owner.publish_deferred(user, now, *this);
    CHECK(told(2) == 10);
    owner.publish_deferred(user, now, *this);
    CHECK(told(2) == 10);
    CHECK(told(1) == 0);
}

TEST_CASE_FIXTURE(Fixture, "nothing is paid to whoever is gone") {
    make_hot(10);
    pass(100ms);
    silence.gone(member(2), now);
    pass(400ms);
    CHECK(told(2) == 0);
    CHECK(told(1) >= 10);
}

TEST_CASE_FIXTURE(Fixture, "an answer that may wait has the total of when it is sent") {
    CHECK(tell(1, 7, 10));
    REQUIRE(totals.size() == 1);
    now += 100ms;
    CHECK(tell(1, 7, 20, true));
    CHECK(totals.size() == 1);
    now += 50ms;
    CHECK(tell(2, 7, 30));
    REQUIRE(totals.size() == 2);
    now += 50ms;
    answer(1, 7);
    REQUIRE(totals.size() == 3);
    CHECK(totals.back() == std::pair(member(1), key(7)));
    CHECK(last.admitted == 20);
    CHECK(last.rate == 2 * 37);  // with what another origin has told since
}

TEST_CASE_FIXTURE(Fixture,
                  "what was refused, and what is owned or known no more, is not answered") {
    answer(1, 7);
    CHECK(totals.empty());
    CHECK(tell(1, 7, 10, true));
    CHECK_FALSE(tell(1, 7, -1, true));
    membership::Owners others;
    others.recompute(std::vector<membership::OwnerCandidate>{{member(9), {}}});
    const membership::Shard shard = membership::shard_of(key(7).quota);
    owner.shard_changed({shard, owners.of(shard), others.of(shard)}, now, *this);
    CHECK_FALSE(tell(1, 7, 20, true));
    answer(1, 7);
    CHECK(totals.empty());
}

}  // namespace
}  // namespace weir::sync
