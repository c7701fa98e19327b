// The integration matrix (docs/integration-matrix.md) in virtual time: every case of it, with the
// same tree, arrivals, spread and bounds, where no machine can be late. Real processes run few of
// the cases in CI, each for some seconds; what takes half a minute of every case to see is seen
// here.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/fleet.h"
#include "sim/world.h"
#include "tolerance.h"

namespace weir::sim {
namespace {

using namespace test;
using testing::plus_minus;

constexpr double kChildRate = 1000;
constexpr std::size_t kChildren = 2;
constexpr std::size_t kSteadySeconds = 30;

struct Case {
    std::uint32_t sidecars = 1;
    bool poisson = false;
    double factor = 1;
    bool uneven = false;  // 80 % of it through the first sidecar, 10 % through each of two others
    double parent_rate = 3000;

    [[nodiscard]] bool parent_is_measured() const { return parent_rate < kChildren * kChildRate; }
    [[nodiscard]] double limit() const { return parent_is_measured() ? parent_rate : kChildRate; }
    /// Offered to each child, a second.
    [[nodiscard]] double child_load() const {
        return factor * (parent_is_measured() ? parent_rate / kChildren : kChildRate);
    }
    /// t0 + high/(offered - rate) + 1 s; high is two seconds of the rate.
    [[nodiscard]] double steady_from() const {
        const double offered = child_load() * (parent_is_measured() ? kChildren : 1);
        return 1 + (offered > limit() ? 2 * limit() / (offered - limit()) : 0);
    }
    /// Of one second above the limit: three deviations of the arrivals' own noise, at most 8 % at
    /// 1,000 a second.
    [[nodiscard]] double second_bound() const {
        return poisson ? std::min(3.0, 0.08 * std::sqrt(1000.0)) / std::sqrt(limit()) : 0.05;
    }
    [[nodiscard]] std::string text() const {
        return std::to_string(sidecars) + (poisson ? " poisson " : " constant ") +
               std::to_string(factor) + (uneven ? " 80/10/10 " : " even ") +
               std::to_string(parent_rate);
    }
};

std::vector<Case> cases_of(std::uint32_t sidecars, double factor) {
    std::vector<Case> cases;
    for (const bool poisson : {false, true}) {
        for (const bool uneven : {false, true}) {
            for (const double parent_rate : {3000.0, 1500.0}) {
                if (sidecars > 1 || !uneven) {
                    cases.push_back({sidecars, poisson, factor, uneven, parent_rate});
                }
            }
        }
    }
    return cases;
}

/// Names of quotas that have the same owners, and the sidecars that own none of them. A sidecar has
/// the same address in every world, so other worlds of that size have the same owners.
struct SharedOwners {
    std::vector<std::string> names;
    std::vector<std::uint32_t> others;
};

SharedOwners find_shared_owners(std::uint32_t sidecars) {
    WorldPlan plan =
        plan_of({.sidecars = sidecars, .limit = kChildRate, .offered = 0, .seconds = 2, .seed = 1});
    plan.definitions.clear();
    for (char letter = 'a'; letter <= 'z'; ++letter) {
        plan.definitions.push_back(quota(std::string("q") + letter, kChildRate));
    }
    plan.load.quotas = {plan.definitions.front().name};
    World world(plan);
    std::map<std::vector<std::uint32_t>, std::vector<std::string>> names;
    world.at(0, [&](World& w) {
        for (const auto& definition : plan.definitions) {
            CHECK(w.sidecar(0).offer(definition.name, w.instant()));
        }
    });
    world.at(1, [&](World& w) {
        for (const auto& definition : plan.definitions) {
            std::vector<std::uint32_t> owners = w.owners_of(definition.name);
            std::sort(owners.begin(), owners.end());
            names[owners].push_back(definition.name);
        }
    });
    REQUIRE(world.run(kMeeting));
    SharedOwners found;
    for (const auto& [owners, shared] : names) {
        if (shared.size() > found.names.size()) {
            found = {shared, {}};
            for (std::uint32_t i = 0; i < sidecars; ++i) {
                if (!std::binary_search(owners.begin(), owners.end(), i)) {
                    found.others.push_back(i);
                }
            }
        }
    }
    REQUIRE(found.names.size() >= kChildren + 1);
    return found;
}

/// Offers one child its load until the end of the world, and counts what comes of it.
class Stream {
  public:
    Stream(const Case& of, std::string name, std::vector<std::uint32_t> targets, Random random)
        : case_(of), name_(std::move(name)), targets_(std::move(targets)), random_(random) {
        shares_.assign(targets_.size(),
                       case_.uneven ? 0.0 : 1.0 / static_cast<double>(targets_.size()));
        if (case_.uneven) {
            shares_[0] = 0.8;
            shares_[1] = shares_[2] = 0.1;
        }
        due_.assign(targets_.size(), 0);
        at_ = random_.unit() / case_.child_load();
    }

    void begin(World& world) { schedule(world); }
    [[nodiscard]] double admitted_in(std::size_t second) const { return admitted_.at(second); }
    [[nodiscard]] double offered() const { return offered_; }
    [[nodiscard]] double refused() const { return refused_; }

  private:
    void schedule(World& world) {
        const double end = case_.steady_from() + kSteadySeconds;
        if (at_ < end) {
            world.action_at(at_, [this](World& w) { arrive(w); });
        }
    }

    void arrive(World& world) {
        const bool admitted = world.sidecar(next_target()).offer(name_, world.instant());
        ++offered_;
        refused_ += admitted ? 0 : 1;
        const double since = at_ - case_.steady_from();
        if (admitted && since >= 0) {
            const auto second = static_cast<std::size_t>(since);
            admitted_.at(std::min(second, kSteadySeconds - 1)) += 1;
        }
        at_ += case_.poisson ? random_.exponential(case_.child_load()) : 1 / case_.child_load();
        schedule(world);
    }

    /// In turn, each as often as its share says.
    std::uint32_t next_target() {
        for (std::size_t i = 0; i < due_.size(); ++i) {
            due_[i] += shares_[i];
        }
        const auto most = std::max_element(due_.begin(), due_.end());
        *most -= 1;
        return targets_[static_cast<std::size_t>(most - due_.begin())];
    }

    const Case& case_;
    std::string name_;
    std::vector<std::uint32_t> targets_;
    Random random_;
    std::vector<double> shares_;
    std::vector<double> due_;
    double at_ = 0;
    double offered_ = 0;
    double refused_ = 0;
    std::array<double, kSteadySeconds> admitted_{};
};

void check_seconds(const Case& of, const std::array<double, kSteadySeconds>& seconds) {
    double sum = 0;
    for (const double second : seconds) {
        sum += second;
    }
    const double mean = sum / static_cast<double>(kSteadySeconds) / of.limit();
    CHECK(mean == plus_minus(1, 0.005));
    CHECK(*std::max_element(seconds.begin(), seconds.end()) <=
          of.limit() * (1 + of.second_bound()));
}

void run_case(const Case& of, const SharedOwners& shared, std::uint64_t seed) {
    CAPTURE(of.text());
    CAPTURE(seed);
    WorldPlan plan = plan_of({.sidecars = of.sidecars,
                              .limit = 1,
                              .offered = 0,
                              .seconds = of.steady_from() + kSteadySeconds,
                              .seed = seed});
    plan.definitions = {quota(shared.names[0], of.parent_rate)};
    for (std::size_t i = 0; i < kChildren; ++i) {
        plan.definitions.push_back(quota(shared.names[i + 1], kChildRate));
        plan.definitions.back().parent = shared.names[0];
    }
    plan.load.quotas = {shared.names[1]};
    World world(plan);
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < kChildren; ++i) {
        streams.emplace_back(of, shared.names[i + 1], shared.others, Random(100 * seed + i));
    }
    world.at(0, [&streams](World& w) {
        for (Stream& stream : streams) {
            stream.begin(w);
        }
    });
    REQUIRE(world.run(kMeeting));
    const double offered = streams[0].offered() + streams[1].offered();
    if (of.factor < 1) {
        CHECK(streams[0].refused() + streams[1].refused() <= 0.001 * offered);
        return;
    }
    std::array<std::array<double, kSteadySeconds>, kChildren> seconds{};
    std::array<double, kSteadySeconds> both{};
    for (std::size_t second = 0; second < kSteadySeconds; ++second) {
        for (std::size_t i = 0; i < kChildren; ++i) {
            seconds.at(i).at(second) = streams[i].admitted_in(second);
            both.at(second) += streams[i].admitted_in(second);
        }
    }
    if (of.parent_is_measured()) {
        check_seconds(of, both);
        return;
    }
    for (const auto& child : seconds) {
        check_seconds(of, child);
    }
}

void run_cases(double factor) {
    for (const std::uint32_t sidecars : {1U, 3U, 7U}) {
        SharedOwners shared{{"parent", "one", "two"}, {}};
        if (sidecars > 3) {
            shared = find_shared_owners(sidecars);
            CHECK(shared.others.size() == sidecars - 3);
        } else {
            for (std::uint32_t i = 0; i < sidecars; ++i) {
                shared.others.push_back(i);
            }
        }
        for (const Case& of : cases_of(sidecars, factor)) {
            for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
                run_case(of, shared, seed);
            }
        }
    }
}

TEST_CASE("the matrix below the limit: next to nothing is refused") { run_cases(0.95); }

TEST_CASE("the matrix at one and a half times the limit") { run_cases(1.5); }

TEST_CASE("the matrix at five times the limit") { run_cases(5); }

}  // namespace
}  // namespace weir::sim
