// Units that programs obtain many at once, from a fleet: together they are granted the limit.

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "limiter/limiter.h"
#include "sim/fleet.h"
#include "sim/world.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr double kLimit = 100;  // units a second
constexpr double kBegin = 5;
constexpr double kFrom = 10;
constexpr double kTo = 40;

struct Wishes {
    std::uint32_t sidecars = 3;
    double wanted = 5;
    double minimum = 0;
    double every = 0.005;  // seconds from one wish in the fleet to the next
};

struct Granted {
    double mean = 0;         // units a second, as a multiple of the limit
    double most_second = 0;  // the most of a second, in units
    bool whole = true;       // never more than was wanted, nor less than the minimum but none
};

/// One client at each sidecar, in a thread of its own as far as the limiter knows.
class Clients {
  public:
    explicit Clients(World& world) : threads_(world.size()) {}

    double obtain(World& world, std::uint32_t number, const Wishes& wishes) {
        SimulatedSidecar& sidecar = world.sidecar(number);
        limiter::Limiter& limiter = sidecar.limiter();
        limiter::ThreadContext*& thread = threads_[number];
        if (thread == nullptr) {
            thread = &limiter.register_thread(number);
        }
        const Instant now = sidecar.local(world.instant());
        const limiter::LeafId leaf = limiter.find(*thread, "q", now);
        const limiter::Wish wish{wishes.wanted, wishes.minimum, {}};
        const limiter::Grant grant =
            limiter.obtain(*thread, leaf, wish, now, limiter::CheckMode::charge);
        limiter.quiescent(*thread);
        return grant.granted;
    }

  private:
    std::vector<limiter::ThreadContext*> threads_;
};

Granted granted(const Wishes& wishes, std::uint64_t seed) {
    WorldPlan plan;
    plan.sidecars = wishes.sidecars;
    plan.seconds = kTo;
    plan.seed = seed;
    plan.definitions = {quota("q", kLimit)};
    plan.load.quotas = {"q"};
    World world(plan);
    Random random(seed);
    Granted result;
    std::vector<double> seconds(static_cast<std::size_t>(kTo));
    Clients clients(world);
    for (double at = kBegin; at < kTo; at += wishes.every) {
        const auto number = static_cast<std::uint32_t>(random.below(wishes.sidecars));
        world.at(at, [&, at, number](World& now) {
            const double units = clients.obtain(now, number, wishes);
            seconds[static_cast<std::size_t>(at)] += units;
            const bool enough = units == 0 || units >= wishes.minimum;
            result.whole = result.whole && enough && units <= wishes.wanted;
            result.mean += at < kFrom ? 0 : units / (kTo - kFrom) / kLimit;
        });
    }
    CHECK(world.run(kMeeting));
    result.most_second =
        *std::max_element(seconds.begin() + static_cast<int>(kFrom), seconds.end());
    return result;
}

}  // namespace

TEST_CASE("wishes above the limit are granted the limit, whatever their size") {
    const std::vector<Wishes> all = {
        {3, 5, 0, 0.005}, {3, 50, 0, 0.05}, {3, 5, 5, 0.005}, {10, 5, 0, 0.005}, {10, 5, 0, 0.001},
    };
    for (const Wishes& wishes : all) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(seed);
            CAPTURE(wishes.sidecars);
            CAPTURE(wishes.wanted);
            CAPTURE(wishes.minimum);
            const Granted result = granted(wishes, seed);
            CHECK(result.mean >= 0.985);
            CHECK(result.mean <= 1.01);
            CHECK(result.most_second <= 1.25 * kLimit);
            CHECK(result.whole);
        }
    }
}

TEST_CASE("half of the bucket or nothing: the sum of the grants is no more than the limit allows") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        const Granted result = granted({10, 50, 50, 0.05}, seed);
        CHECK(result.mean >= 0.95);
        CHECK(result.mean <= 1.05);
        CHECK(result.whole);
    }
}

}  // namespace weir::sim
