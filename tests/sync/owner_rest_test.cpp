// Limits at rest at their owner: nobody offers anything, so nothing is due until the limit is heard
// of again or its level has drained.

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "owned_fixture.h"
#include "sync/owner.h"
#include "tolerance.h"

namespace weir::sync {
namespace {

using test::member;
using testing::plus_minus;

constexpr std::uint32_t kOrigin = 1;
constexpr std::uint32_t kOther = 2;
constexpr double kLow = 12;

struct Fixture : test::OwnerFixture {
    std::vector<std::pair<gossip::MemberId, TotalEntry>> totals;

    Fixture() : OwnerFixture({kLow / 3600, kLow, 2 * kLow, -1, limiter::Law::adaptive}) {
        owners.recompute(std::vector<membership::OwnerCandidate>{{member(0), {}}});
        owner.set_self(member(0));
        owner.start(owners, now);
        pass(2s);
    }
    void send_total(const gossip::MemberId& to, const TotalEntry& entry) override {
        totals.emplace_back(to, entry);
    }

    static LimitKey key(std::uint32_t limit) { return {limit, 0, 0, 3'600'000}; }
    void tell(std::uint32_t from, std::uint32_t limit, double admitted, double rate = 0) {
        DeltaEntry entry;
        entry.key = key(limit);
        entry.run = 5;
        entry.run_age = 100ms;
        entry.admitted = entry.offered = admitted;
        entry.rate = rate;
        entry.keep_alive = 1s;
        const MemberNumber number = silence.number(member(from), now);
        if (owner.receive(member(from), number, entry, now, *this)) {
            send_total(member(from), owner.answer(number, entry.key, now).value());
        }
    }
    [[nodiscard]] double level(std::uint32_t limit) { return owner.find(key(limit))->bucket.level; }
    [[nodiscard]] std::size_t told(std::uint32_t user) const {
        return static_cast<std::size_t>(
            std::count_if(totals.begin(), totals.end(),
                          [&](const auto& each) { return each.first == member(user); }));
    }
};

TEST_CASE_FIXTURE(Fixture, "a limit is looked at while it is offered something, then no more") {
    tell(kOrigin, 7, 8, 1);
    pass(1s);
    CHECK(owner.awake() == 1);
    tell(kOrigin, 7, 8);
    pass(200ms);
    CHECK(owner.awake() == 0);
    CHECK(owner.size() == 1);
    const std::uint64_t looks = statistics.looks;
    pass(30s);
    CHECK(statistics.looks == looks);
}

TEST_CASE_FIXTURE(Fixture, "the level of a limit at rest drains, and an increase comes on top") {
    tell(kOrigin, 7, 8);
    pass(900s, 1s);
    CHECK(owner.awake() == 0);
    tell(kOther, 7, 2);
    CHECK(level(7) == plus_minus(8 - 3 + 2, 0.02));
}

TEST_CASE_FIXTURE(Fixture, "who rests with a limit is told what others use of it, minutes later") {
    tell(kOrigin, 7, 7);
    pass(300s, 1s);
    totals.clear();
    tell(kOther, 7, 5, 1);
    pass(500ms);
    CHECK(told(kOrigin) >= 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a limit that forgets within seconds tells only those who used it lately") {
    parameters = {10, 10, 20, -1, limiter::Law::adaptive};
    tell(kOrigin, 7, 7);
    pass(100s, 1s);
    totals.clear();
    for (int i = 1; i <= 50; ++i) {
        tell(kOther, 7, i, 20);
        pass(50ms);
    }
    CHECK(told(kOther) > 0);
    CHECK(told(kOrigin) == 0);
}

TEST_CASE_FIXTURE(Fixture, "a limit at rest is forgotten when its level has drained") {
    tell(kOrigin, 7, 6);  // drains for half an hour
    tell(kOrigin, 8, 0);  // nothing to drain
    pass(1s);
    CHECK(owner.size() == 2);
    pass(100s, 1s);
    CHECK(owner.find(key(8)) == nullptr);
    pass(1600s, 1s);
    CHECK(owner.find(key(7)) != nullptr);
    pass(200s, 1s);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a limit that is used in between rests anew, and is forgotten later") {
    tell(kOrigin, 7, 6);
    pass(1700s, 1s);
    tell(kOrigin, 7, 12);
    pass(200s, 1s);
    CHECK(owner.find(key(7)) != nullptr);
    CHECK(owner.awake() == 0);
    pass(1800s, 1s);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a limit at rest drains at its former rate until it is edited") {
    tell(kOrigin, 7, 8);
    pass(900s, 1s);
    parameters.rate *= 10;
    owner.refresh_parameters(now);
    CHECK(level(7) == plus_minus(5, 0.02));
    pass(90s, 1s);
    tell(kOther, 7, 1);
    CHECK(level(7) == plus_minus(5 - 3 + 1, 0.04));
    pass(100s, 1s);  // it drains within 90 s now, not within 40 minutes
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "the end of a former limit's rest is not that of the limit in its place") {
    settings.maximum_owned_limits = 1;
    tell(kOrigin, 7, 5);  // drains for 25 minutes
    pass(100s, 1s);
    tell(kOrigin, 8, 0);
    CHECK(owner.find(key(7)) == nullptr);
    pass(100s, 1s);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a limit at rest that is half full makes no room") {
    settings.maximum_owned_limits = 1;
    tell(kOrigin, 7, 11);
    pass(100s, 1s);
    tell(kOrigin, 8, 0);
    CHECK(owner.find(key(7)) != nullptr);
    CHECK(statistics.dropped_owned_limits == 1);
}

TEST_CASE_FIXTURE(Fixture, "limits of a lost shard are forgotten although they rest") {
    tell(kOrigin, 7, 8);
    pass(5s);
    CHECK(owner.awake() == 0);
    const membership::Shard shard = membership::shard_of(key(7).quota);
    owner.shard_changed({shard, {member(0)}, {member(5)}}, now, *this);
    pass(2s);
    CHECK(owner.size() == 1);
    pass(2s);
    CHECK(owner.size() == 0);
}

TEST_CASE_FIXTURE(Fixture, "the number of a member that is forgotten leaves limits at rest") {
    tell(kOrigin, 7, 8);
    tell(kOther, 7, 1);
    pass(5s);
    owner.forget({silence.number(member(kOrigin), now)}, now);
    CHECK(owner.find(key(7))->cells.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "of limits that refuse everything only as many stay awake as are told") {
    settings.hot_limits = 4;
    HotTable hot(settings.hot_limits);
    parameters = {kLow / 3600, kLow, kLow, -1, limiter::Law::linear};
    for (std::uint32_t limit = 1; limit <= 20; ++limit) {
        tell(kOrigin, limit, kLow + 1);
    }
    for (int i = 0; i < 10; ++i) {
        owner.note_hot(hot, now);
        pass(250ms);
    }
    CHECK(owner.awake() == 4);
    CHECK(hot.size() == 4);
}

}  // namespace
}  // namespace weir::sync
