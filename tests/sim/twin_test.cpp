// Robustness 55: a second process that claims the address of a member. What it counts is nobody's:
// it is neither added to the member's counters nor takes their place.

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <utility>

#include "base/endpoint.h"
#include "sim/fleet.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using testing::plus_minus;

constexpr std::uint32_t kSidecars = 5;
constexpr std::uint32_t kClaimed = 2;
constexpr double kRate = 100;
/// So long a period that the level tells of every request of the story.
constexpr Duration kPeriod = std::chrono::seconds(100);
constexpr double kFrom = 3;
constexpr double kEnd = 20;
constexpr double kTwinOffers = 300;  // a second, as much as all others together

/// Another process under the claimed address, whose datagrams come from `source`.
class Twin {
  public:
    Twin(World& world, const Endpoint& source, std::span<const limiter::QuotaDefinition> quotas,
         std::uint64_t seed)
        : source_(source), quotas_(quotas), random_(seed), sidecar_(kClaimed) {
        world.strangers([this, &world](std::uint32_t from, const Endpoint& to, ByteSpan bytes) {
            if (to == source_ && sidecar_.running()) {
                sidecar_.receive(bytes, SimulatedSidecar::address_of(from), world.instant());
            }
        });
        world.at(kFrom, [this](World& w) {
            sidecar_.start({quotas_, {}, 0},
                           {SimulatedSidecar::address_of(0), SimulatedSidecar::address_of(1)},
                           w.instant(), random_.fork());
            turn(w);
        });
    }
    [[nodiscard]] double admitted() const { return admitted_; }
    [[nodiscard]] std::uint64_t sent() const { return sent_; }

  private:
    void turn(World& world) {
        for (int i = 0; i < static_cast<int>(kTwinOffers / 100); ++i) {
            admitted_ += sidecar_.offer("q", world.instant()) ? 1 : 0;
        }
        sidecar_.tick(world.instant());
        for (engine::Outgoing& outgoing : sidecar_.engine().take_outgoing()) {
            const auto number = SimulatedSidecar::number_of(outgoing.to);
            if (!number || *number >= kSidecars) {
                continue;
            }
            ++sent_;
            world.inject(*number, source_, std::move(outgoing.bytes));
        }
        world.action_at(world.now() + 0.01, [this](World& w) { turn(w); });
    }

    Endpoint source_;
    std::span<const limiter::QuotaDefinition> quotas_;
    Random random_;
    SimulatedSidecar sidecar_;
    double admitted_ = 0;
    std::uint64_t sent_ = 0;
};

/// Who is there, and whose word counts, as one sidecar knows it.
void check_members(World& world, std::uint32_t number) {
    auto& engine = world.sidecar(number).engine();
    CHECK(engine.statistics().peers_by_state.at("alive") == kSidecars - 1);
    const auto incarnation = world.sidecar(kClaimed).engine().incarnation();
    for (const auto& peer : engine.peers(world.sidecar(number).local(world.instant()))) {
        if (peer.address != SimulatedSidecar::address_of(kClaimed)) {
            continue;
        }
        if (peer.state == "alive") {
            CHECK(peer.incarnation == incarnation);
        }
    }
}

/// `reason`: under which its being there is counted.
void check_twin(const Endpoint& source, const std::string& reason, std::uint64_t seed) {
    WorldPlan plan = plan_of(
        {.sidecars = kSidecars, .limit = 1, .offered = kTwinOffers, .seconds = kEnd, .seed = seed});
    plan.definitions[0].limits[0].amount = kRate * to_seconds(kPeriod);
    plan.definitions[0].limits[0].period = kPeriod;
    keep_awake(plan, 60);  // more than half of it fills
    World world(plan);
    Twin twin(world, source, plan.definitions, seed);
    REQUIRE(world.run(kMeeting));
    CHECK(twin.admitted() > 0.9 * kTwinOffers * (kEnd - kFrom));
    CHECK(twin.sent() > 12);  // it asks two seeds, every 2 s
    CHECK(refused(world, 0, kEnd) == 0);
    const double level = admitted(world, 0, kEnd) - kRate * kEnd;
    std::uint64_t seen = 0;
    std::size_t cells = 0;
    for (std::uint32_t i = 0; i < kSidecars; ++i) {
        CAPTURE(i);
        check_members(world, i);
        SimulatedSidecar& sidecar = world.sidecar(i);
        const auto status = sidecar.engine().quota_status("q", sidecar.local(world.instant()));
        REQUIRE(status);
        CHECK(status->limits[0].level == plus_minus(level, 0.03 * level));
        const auto statistics = sidecar.engine().statistics();
        CHECK(statistics.cells <= kSidecars);  // one of each member, none of the twin
        cells += statistics.cells;
        seen += statistics.rejected.at(reason);
    }
    CHECK(cells >= kSidecars - 1);  // the owners do have them
    CHECK(seen > 0);
}

TEST_CASE("robustness 55: the counters of two processes with one address stay separate") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        // Behind another address it answers challenges in the member's name.
        check_twin(Endpoint::v4(0x0a0000ff, 7946), "address_conflict", seed);
        // From the claimed address itself: the challenges reach the member, for whom they are not.
        check_twin(SimulatedSidecar::address_of(kClaimed), "other_receiver", seed);
    }
}

}  // namespace
}  // namespace weir::sim
