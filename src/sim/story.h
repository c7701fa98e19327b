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

/// Least and most of several runs.
struct Range {
    double least = 0;
    double most = 0;
    void add(double value);
    /// How far the one that is further off is from 1.
    [[nodiscard]] double distance_from_one() const;
};

/// What the reference model gave. Not every row of its table has every figure.
struct Reference {
    std::optional<Figures> steady;
    bool seconds_known = true;  // whether the worst seconds of `steady` are
    bool nothing_refused = false;
    /// Refused of what was offered, at most.
    std::optional<double> refused_share;
    /// Bytes a second, in and out, IP and UDP headers counted: of a sidecar on average, and of the
    /// one with most (the busiest owner).
    std::optional<double> bytes;
    std::optional<double> busiest_bytes;
    /// weir_gossip_staleness_seconds, mean of all sidecars, at most.
    std::optional<double> staleness;
    /// Whether owners are to be seen asking for slowness.
    bool paced = false;
    /// The same figures for each of many equal quotas.
    std::optional<Figures> each_quota;
    /// Admitted over the limit in single seconds after the fault or step, over its 20 seeds.
    std::vector<Range> single_seconds;
    /// What each quota gets of what is admitted while steady; give or take 3 % of it.
    std::vector<double> shares;
    std::string text;  // as the table has it
};

/// What weir itself gave over 20 seeds, as docs/cluster.md has it: where the reference is so much
/// worse that a bad regression would still be within its bounds.
struct OwnFigures {
    std::optional<Figures> steady;
    std::vector<Range> single_seconds;
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
    double traffic_from = 0;  // from where on bytes and datagrams are counted
    std::function<void(World&)> arrange;
    Reference reference;
    OwnFigures own;
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
    /// Of single quotas over their equal part of the limit: the means' and seconds' range.
    Range quota_mean{1e9, -1e9};
    Range quota_second{1e9, -1e9};
    double deltas = 0;  // messages a second, sidecar and owner
    double totals = 0;
    double bytes = 0;          // a second and sidecar, in and out, IP and UDP headers counted
    double datagrams = 0;      // a second and sidecar, in and out
    double busiest_bytes = 0;  // the same of the sidecar with most of them
    double busiest_datagrams = 0;
    double staleness = 0;  // as sidecars show it: mean of all, once a second of those for traffic
    double pace = 1;       // the slowest that an owner asked for, at the end
    std::uint64_t fingerprint = 0;
    std::vector<std::string> findings;  // what the checkers objected to
};

[[nodiscard]] StoryResult run(const Story& story, std::uint64_t seed);

/// Every row of the table, in its order.
[[nodiscard]] std::vector<Story> all_stories();

/// Owners on throttled pods; part of all_stories().
[[nodiscard]] std::vector<Story> throttle_stories();

/// Gives the stories of faults the figures that weir itself had; part of all_stories().
void add_own_figures(std::vector<Story>& stories);

/// Those that are judged by traffic: a fleet that grows, owners of a quota that all use.
[[nodiscard]] std::vector<Story> cost_stories();

/// Several runs of a story.
struct Summary {
    bool met = true;
    double mean_least = 0;
    double mean_most = 0;
    double second_least = 0;
    double second_most = 0;
    double refused = 0;
    double deltas = 0;
    double totals = 0;
    double bytes = 0;
    double datagrams = 0;
    double busiest_bytes = 0;  // of the worst run
    double busiest_datagrams = 0;
    double staleness = 0;  // of the worst run
    double pace = 1;       // of the run with least
    double refused_share = 0;
    std::vector<Range> single_seconds;
    std::vector<Range> shares;
    std::vector<std::string> findings;  // of all runs
    Range quota_mean{1e9, -1e9};
    Range quota_second{1e9, -1e9};
};
[[nodiscard]] Summary summarise(const std::vector<StoryResult>& results);

/// What of the summary is further from the reference than allowed: means by 1 % of its range, worst
/// seconds by 0.03, single ones too. The same of weir's own figures, where there are some; single
/// seconds are then held on both sides. Empty: as good or better.
[[nodiscard]] std::vector<std::string> judge(const Story& story, const Summary& summary);

}  // namespace weir::sim
