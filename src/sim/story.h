#pragma once
// A story: a fleet, a load, faults, and what must come of them, next to what the reference model
// gave for the same. Running one gives figures; figures can be judged. Plain values; running is
// single-threaded and repeatable for a seed.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/world.h"

namespace weir::sim {

/// Bounds or figures of admitted over the limit.
struct Figures {
    double mean_least = 0;
    double mean_most = 0;
    double second_least = 0;  // worst sliding second
    double second_most = 0;
};

/// What the reference model gave. Not every row of its table has every figure.
struct Reference {
    std::optional<Figures> steady;
    bool seconds_known = true;  // whether the worst seconds of `steady` are
    bool nothing_refused = false;
    /// Admitted over the limit in single seconds after the fault or step.
    std::vector<double> single_seconds;
    std::string text;  // as the table has it
};

struct Story {
    std::string name;
    std::string text;
    WorldPlan plan;
    double limit = 1000;
    /// The quotas whose admitted requests are compared with the limit; empty: all.
    std::optional<std::uint32_t> quota;
    double steady_from = 8;
    double steady_to = 25;
    double seconds_from = 0;  // where `single_seconds` begin
    std::function<void(World&)> arrange;
    Reference reference;
};

struct StoryResult {
    std::uint64_t seed = 0;
    bool met = true;
    double mean = 0;
    double second_least = 0;
    double second_most = 0;
    double refused = 0;
    double offered = 0;
    std::vector<double> single_seconds;
    std::vector<double> quota_share;  // of each quota in what was admitted while steady
    double deltas = 0;                // messages a second, sidecar and owner
    double totals = 0;
    double bytes = 0;      // a second and sidecar, in and out, IP and UDP headers counted
    double datagrams = 0;  // a second and sidecar, in and out
    std::uint64_t fingerprint = 0;
};

[[nodiscard]] StoryResult run(const Story& story, std::uint64_t seed);

/// Every row of the table, in its order.
[[nodiscard]] std::vector<Story> all_stories();

/// Several runs of a story.
struct Summary {
    double mean_least = 0;
    double mean_most = 0;
    double second_least = 0;
    double second_most = 0;
    double refused = 0;
    double deltas = 0;
    double totals = 0;
    double bytes = 0;
    double datagrams = 0;
    std::vector<double> single_seconds;  // means over the runs
};
[[nodiscard]] Summary summarise(const std::vector<StoryResult>& results);

/// What of the summary is further from the reference than allowed: means by 1 % of its range, worst
/// seconds by 0.03. Empty: as good or better.
[[nodiscard]] std::vector<std::string> judge(const Story& story, const Summary& summary);

}  // namespace weir::sim
