// Anchors in a fleet of engines, whose datagrams are handed over at once: they own the limits, and
// the members that serve share them as if no anchor were there.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "engine_member.h"
#include "sim/quota_set.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

using Member = test::EngineMember;

class EngineFleet {
  public:
    std::size_t add(bool anchor) {
        members_.emplace_back();
        begin(members_.size() - 1, anchor);
        return members_.size() - 1;
    }
    /// The member says goodbye, and another process takes its place.
    void restart(std::size_t index) {
        members_[index]->engine->goodbye(now_);
        test::deliver(members_, *members_[index], now_);
        ++runs_;
        begin(index, false);
    }
    Member& operator[](std::size_t index) { return *members_[index]; }
    [[nodiscard]] Instant now() const { return now_; }

    void put(const limiter::QuotaDefinition& definition) {
        for (auto& member : members_) {
            REQUIRE(sim::put_quota(member->limiter, definition, now_).empty());
        }
    }
    void run(Duration time) {
        for (const Instant end = now_ + time; now_ < end; now_ += 10ms) {
            for (auto& member : members_) {
                member->engine->set_wall_clock(Duration(1'700'000'000s));
                member->engine->tick(now_);
                test::deliver(members_, *member, now_);
            }
        }
    }
    /// How many of so many requests a member admits at once.
    int offer(std::size_t index, int requests) {
        Member& at = *members_[index];
        int admitted = 0;
        for (int i = 0; i < requests; ++i) {
            admitted += test::admits(at, now_) ? 1 : 0;
        }
        at.limiter.quiescent(*at.thread);
        return admitted;
    }

  private:
    void begin(std::size_t index, bool anchor) {
        members_[index] =
            std::make_unique<Member>(static_cast<std::uint32_t>(index), anchor, now_, runs_);
        members_[index]->engine->start(now_);
    }

    Instant now_{1h};
    std::uint64_t runs_ = 0;
    std::vector<std::unique_ptr<Member>> members_;
};

limiter::QuotaDefinition quota_of(const limiter::RateLimit& limit) {
    limiter::QuotaDefinition definition;
    definition.name = "q";
    definition.limits = {limit};
    return definition;
}

/// An anchor and two members that serve.
EngineFleet anchored() {
    EngineFleet fleet;
    fleet.add(true);
    fleet.add(false);
    fleet.add(false);
    return fleet;
}

TEST_CASE("peers show who is an anchor, and each member counts the live ones") {
    EngineFleet fleet = anchored();
    fleet.run(3s);
    for (const std::size_t index : {0U, 1U, 2U}) {
        const auto peers = fleet[index].engine->peers(fleet.now());
        REQUIRE(peers.size() == 3);
        for (const PeerReport& peer : peers) {
            CHECK(peer.anchor == (peer.address == fleet[0].address));
        }
        CHECK(fleet[index].engine->statistics().anchors == 1);
        CHECK(fleet[index].engine->statistics().is_anchor == (index == 0));
    }
}

TEST_CASE("an anchor is the first owner, and has no part of what is in flight") {
    EngineFleet fleet = anchored();
    fleet.put(quota_of(limiter::RateLimit::in_flight(12)));
    fleet.run(3s);
    // An equal part of two members, and one.
    CHECK(fleet.offer(1, 20) == 7);
    fleet.run(100ms);
    // The anchor divides the limit: nothing is left for others, and the second one gets what is.
    CHECK(fleet[0].engine->statistics().divided_limits == 1);
    CHECK(fleet[1].engine->statistics().divided_limits == 0);
    fleet.run(2s);
    const int more = fleet.offer(1, 20);
    CHECK(more >= 4);  // most of the half that nobody else wants
    CHECK(more <= 5);
}

limiter::RateLimit window_from_first_use() {
    limiter::RateLimit limit = limiter::RateLimit::in_window(100, 1h);
    limit.from = limiter::WindowStart::first;
    return limit;
}

TEST_CASE("a window is shared among those that serve") {
    EngineFleet fleet = anchored();
    fleet.put(quota_of(window_from_first_use()));
    fleet.run(5s);
    CHECK(fleet.offer(1, 200) == 50);
    int admitted = 50;
    for (int i = 0; i < 100; ++i) {
        fleet.run(50ms);
        admitted += fleet.offer(1, 5) + fleet.offer(2, 5);
    }
    CHECK(admitted == 100);
}

TEST_CASE("the only member that serves asks the anchor what was admitted before it began") {
    EngineFleet fleet;
    fleet.add(true);
    fleet.add(false);
    fleet.put(quota_of(window_from_first_use()));
    fleet.run(5s);
    int admitted = fleet.offer(1, 45);
    CHECK(admitted == 45);
    fleet.run(1s);
    fleet.restart(1);
    fleet.put(quota_of(window_from_first_use()));
    fleet.run(50ms);
    const int burst = fleet.offer(1, 200);  // before it can have been told
    CHECK(burst == 1);
    admitted += burst;
    for (int i = 0; i < 100; ++i) {
        fleet.run(50ms);
        admitted += fleet.offer(1, 5);
    }
    CHECK(admitted >= 99);
    CHECK(admitted <= 101);
}

TEST_CASE("an anchor owns every limit of a rate that others use") {
    EngineFleet fleet = anchored();
    fleet.put(quota_of({.unit = limiter::Unit::requests, .amount = 10, .period = 1s}));
    fleet.run(3s);
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(fleet.offer(1, 3));
        static_cast<void>(fleet.offer(2, 3));
        fleet.run(20ms);
    }
    const auto report = fleet[1].engine->quota_status("q", fleet.now());
    REQUIRE(report.has_value());
    REQUIRE_FALSE(report->limits[0].owners.empty());
    CHECK(report->limits[0].owners.front() == fleet[0].address);
    CHECK(report->limits[0].origins == 2);
    CHECK(fleet[0].engine->statistics().owned_limits == 1);
}

}  // namespace
}  // namespace weir::engine
