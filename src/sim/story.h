#pragma once
// A story: a fleet, its load, the faults that happen to it, and what is expected of it. Running a
// story gives figures, which can be judged. docs/simulator.md says how a story is written as text;
// story_file.h reads it. Plain values; a run is single-threaded and repeatable for a seed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/counted_figures.h"
#include "sim/faults.h"
#include "sim/world.h"

namespace weir::sim {

/// The least and the greatest of several values, or the bounds of one value.
struct ValueRange {
    double least = 0;
    double most = 0;
    void add(double value);
    /// The larger of the distances of `least` and `most` from 1.
    [[nodiscard]] double distance_from_one() const;
};

/// Admitted requests as a multiple of the limit, while the load is steady.
struct SteadyRange {
    ValueRange mean;
    std::optional<ValueRange> seconds;  // the least and the greatest of all sliding seconds
};

/// What is expected of a story. For the stories of docs/cluster.md these are the figures of the
/// reference model. Members without a value are not judged.
struct Expectation {
    std::string text;  // as the table in the documentation shows it
    std::optional<SteadyRange> steady;
    /// The largest share of offered requests that may be refused. 0: not one request.
    std::optional<double> refused_share;
    /// Admitted requests as multiples of the limit in single seconds, from Story::seconds_from on.
    /// A second may be as far from 1 as the end of its range that is further from 1.
    std::vector<ValueRange> single_seconds;
    /// The share of each leaf in the requests that are admitted while the load is steady. It may be
    /// off by 3 % of the value.
    std::vector<double> shares;
    /// The same as `steady` for each leaf, as a multiple of an equal part of the limit.
    std::optional<SteadyRange> each_quota;
    /// The largest number of bytes per second, in and out, with IP and UDP headers: the average of
    /// all sidecars, and that of the busiest sidecar, which is an owner.
    std::optional<double> bytes;
    std::optional<double> busiest_bytes;
    /// The largest mean of weir_gossip_staleness_seconds over all sidecars.
    std::optional<double> staleness;
    /// Whether owners must ask for a slower pace.
    bool paced = false;
    /// What is admitted in each window that begins and ends while the load is steady, as a multiple
    /// of the limit.
    std::optional<ValueRange> windows;
    /// How many requests are in flight while the load is steady, on average, as a multiple of the
    /// limit.
    std::optional<ValueRange> in_flight;
};

/// The figures that weir itself had before, over 20 seeds. They are given where the expectation is
/// so wide that a bad regression would still be within it.
struct OwnFigures {
    std::optional<SteadyRange> steady;
    /// Bounds on both sides.
    std::vector<ValueRange> single_seconds;
};

struct Story {
    std::string name;
    std::string text;  // what it is about
    WorldPlan plan;
    /// The seed of all chance. Without it each run has its own.
    std::optional<std::uint64_t> seed;
    std::vector<Fault> faults;
    double limit = 1;  // requests a second with which the admitted ones are compared
    double steady_from = 0;
    double steady_to = 0;
    double seconds_from = 0;
    double traffic_from = 0;  // bytes and datagrams are counted from here on
    Expectation expected;
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
    /// The least and the greatest mean and second of single quotas, as multiples of an equal part
    /// of the limit.
    ValueRange quota_mean{1e9, -1e9};
    ValueRange quota_second{1e9, -1e9};
    double deltas = 0;  // messages a second, sidecar and owner
    double totals = 0;
    double bytes = 0;          // a second and sidecar, in and out, IP and UDP headers counted
    double datagrams = 0;      // a second and sidecar, in and out
    double busiest_bytes = 0;  // the same of the sidecar with most of them
    double busiest_datagrams = 0;
    double staleness = 0;  // as sidecars show it: mean of all, once a second of those for traffic
    double pace = 1;       // the slowest that an owner asked for, at the end
    std::uint64_t fingerprint = 0;
    std::vector<std::string> findings;   // what the checkers objected to
    std::vector<CountedFigure> counted;  // of each limit of windows or of requests in flight
};

[[nodiscard]] StoryResult run(const Story& story, std::uint64_t seed);

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
    std::vector<ValueRange> single_seconds;
    std::vector<ValueRange> shares;
    std::vector<std::string> findings;  // of all runs
    ValueRange quota_mean{1e9, -1e9};
    ValueRange quota_second{1e9, -1e9};
    ValueRange windows{1e9, -1e9};    // of all windows, as a multiple of the limit
    ValueRange in_flight{1e9, -1e9};  // means, as a multiple of the limit
};
[[nodiscard]] Summary summarise(const std::vector<StoryResult>& results);

/// What of the summary is further from what is expected than allowed: a mean may leave its range by
/// 0.01 and a second by 0.03. The same holds for weir's own figures. What the checkers objected to
/// is part of it. Empty: all is as expected.
[[nodiscard]] std::vector<std::string> judge(const Story& story, const Summary& summary);

}  // namespace weir::sim
