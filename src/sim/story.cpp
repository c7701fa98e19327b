#include "sim/story.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "sim/watch.h"

namespace weir::sim {
namespace {

constexpr double kMeanMargin = 0.01;
constexpr double kSecondMargin = 0.03;
constexpr double kShareMargin = 0.03;  // of the share
constexpr double kLongestMeeting = 20;
/// The time in which all members have told everything. Members that were given up under heavy loss
/// take longer to be found again.
constexpr double kSettling = 15;
constexpr double kLongestSettling = 90;
constexpr double kIpAndUdp = 28;  // header bytes of a datagram over IPv4

std::string comparison(const char* what, double value, const char* relation, double bound) {
    char text[160];
    std::snprintf(text, sizeof text, "%s %.4f %s %.4f", what, value, relation, bound);
    return text;
}

void judge_range(const std::string& what, ValueRange ours, ValueRange theirs, double margin,
                 std::vector<std::string>& faults) {
    const double least = theirs.least - margin;
    const double most = theirs.most + margin;
    if (ours.least < least) {
        faults.push_back(comparison(what.c_str(), ours.least, "<", least));
    }
    if (ours.most > most) {
        faults.push_back(comparison(what.c_str(), ours.most, ">", most));
    }
}

/// Adds the differences between figures and summary; each text begins with `whose`.
void judge_figures(const std::string& whose, const SteadyRange& figures, const Summary& summary,
                   std::vector<std::string>& faults) {
    judge_range(whose + "mean", {summary.mean_least, summary.mean_most}, figures.mean, kMeanMargin,
                faults);
    if (figures.seconds) {
        judge_range(whose + "second", {summary.second_least, summary.second_most}, *figures.seconds,
                    kSecondMargin, faults);
    }
}

void judge_single_seconds(const Expectation& expected, const Summary& summary,
                          std::vector<std::string>& faults) {
    for (std::size_t i = 0; i < expected.single_seconds.size(); ++i) {
        const double ours = summary.single_seconds[i].distance_from_one();
        const double theirs = expected.single_seconds[i].distance_from_one();
        const double bound = theirs + kSecondMargin;
        if (ours <= bound) {
            continue;
        }
        const std::string what = "second " + std::to_string(i + 1) + " off by";
        faults.push_back(comparison(what.c_str(), ours, ">", bound));
    }
}

void judge_own(const OwnFigures& own, const Summary& summary, std::vector<std::string>& faults) {
    if (own.steady) {
        judge_figures("own ", *own.steady, summary, faults);
    }
    for (std::size_t i = 0; i < own.single_seconds.size(); ++i) {
        const std::string what = "own second " + std::to_string(i + 1);
        judge_range(what, summary.single_seconds[i], own.single_seconds[i], kSecondMargin, faults);
    }
}

/// Adds each leaf's share of the admitted requests. If all leaves are to be treated alike, the
/// share of a leaf that by chance was offered more is corrected for that.
void add_shares(const Story& story, const Recorder& recorder, std::size_t leaves,
                StoryResult& result) {
    const auto part_of = [&](double (Recorder::*between)(double, double, std::uint32_t) const,
                             std::uint32_t leaf) {
        const double all =
            (recorder.*between)(story.steady_from, story.steady_to, Recorder::kAnyQuota);
        return all > 0 ? (recorder.*between)(story.steady_from, story.steady_to, leaf) / all : 0;
    };
    for (std::uint32_t i = 0; i < leaves; ++i) {
        double share = part_of(&Recorder::admitted_between, i);
        if (!story.expected.shares.empty()) {
            const double offered = part_of(&Recorder::offered_between, i);
            share *= offered > 0 ? story.expected.shares[i] / offered : 1;
        }
        result.quota_share.push_back(share);
    }
}

void judge_shares(const Expectation& expected, const Summary& summary,
                  std::vector<std::string>& faults) {
    for (std::size_t i = 0; i < expected.shares.size(); ++i) {
        const double least = expected.shares[i] * (1 - kShareMargin);
        const double most = expected.shares[i] * (1 + kShareMargin);
        if (summary.shares[i].least < least) {
            faults.push_back(comparison("share", summary.shares[i].least, "<", least));
        }
        if (summary.shares[i].most > most) {
            faults.push_back(comparison("share", summary.shares[i].most, ">", most));
        }
    }
}

void add_counted(const std::vector<CountedFigure>& figures, Summary& summary) {
    for (const CountedFigure& figure : figures) {
        if (figure.windows && figure.count > 0) {
            summary.windows.add(figure.least / figure.limit);
            summary.windows.add(figure.most / figure.limit);
        } else if (!figure.windows) {
            summary.in_flight.add(figure.mean / figure.limit);
        }
    }
}

void judge_counted(const Expectation& expected, const Summary& summary,
                   std::vector<std::string>& faults) {
    if (expected.windows) {
        judge_range("admitted in a window", summary.windows, *expected.windows, 0, faults);
    }
    if (expected.in_flight) {
        judge_range("mean in flight", summary.in_flight, *expected.in_flight, 0, faults);
    }
}

void add_ranges(std::vector<ValueRange>& ranges, const std::vector<double>& values, bool first) {
    if (first) {
        ranges.assign(values.size(), ValueRange{1e9, -1e9});
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        ranges[i].add(values[i]);
    }
}

/// Adds the figures of all quotas together.
void add_admitted(const Story& story, const Recorder& recorder, StoryResult& result) {
    constexpr std::uint32_t quota = Recorder::kAnyQuota;
    const double span = story.steady_to - story.steady_from;
    result.mean =
        recorder.admitted_between(story.steady_from, story.steady_to, quota) / (story.limit * span);
    const auto range = recorder.admitted_seconds(story.steady_from, story.steady_to, quota);
    result.second_least = range.least / story.limit;
    result.second_most = range.most / story.limit;
    result.offered = recorder.offered_between(0, story.plan.seconds, quota);
    result.refused = result.offered - recorder.admitted_between(0, story.plan.seconds, quota);
    for (std::size_t i = 0; i < story.expected.single_seconds.size(); ++i) {
        const double at = story.seconds_from + static_cast<double>(i);
        result.single_seconds.push_back(recorder.admitted_between(at, at + 1, quota) / story.limit);
    }
}

/// Adds the figures of single quotas as multiples of an equal part of the limit.
void add_each_quota(const Story& story, const Recorder& recorder, StoryResult& result) {
    const std::size_t quotas = story.plan.load.quotas.size();
    const double span = story.steady_to - story.steady_from;
    const double equal = story.limit / static_cast<double>(quotas);
    for (std::uint32_t i = 0; i < quotas; ++i) {
        const double part = recorder.admitted_between(story.steady_from, story.steady_to, i);
        const auto seconds = recorder.admitted_seconds(story.steady_from, story.steady_to, i);
        result.quota_mean.add(part / span / equal);
        result.quota_second.add(seconds.least / equal);
        result.quota_second.add(seconds.most / equal);
    }
}

void add_messages(World& world, const Story& story, StoryResult& result) {
    double deltas = 0;
    double totals = 0;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        if (!world.sidecar(i).running()) {
            continue;
        }
        const sync::SyncStatistics sync = world.sidecar(i).engine().statistics().sync;
        deltas += static_cast<double>(sync.deltas_sent);
        totals += static_cast<double>(sync.totals_sent);
    }
    const double sidecars = world.size();
    const double owners = std::min(3.0, sidecars);
    result.deltas = deltas / sidecars / owners / story.plan.seconds;
    result.totals = totals / sidecars / owners / story.plan.seconds;
}

/// The number of bytes and datagrams that each sidecar has sent and received so far.
struct Traffic {
    std::vector<double> bytes;
    std::vector<double> datagrams;
};

Traffic traffic_of(World& world) {
    Traffic traffic;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        const bool running = world.sidecar(i).running();
        const auto statistics =
            running ? world.sidecar(i).engine().statistics() : engine::EngineStatistics{};
        const auto datagrams =
            static_cast<double>(statistics.datagrams_in + statistics.datagrams_out);
        traffic.datagrams.push_back(datagrams);
        traffic.bytes.push_back(static_cast<double>(statistics.bytes_in + statistics.bytes_out) +
                                kIpAndUdp * datagrams);
    }
    return traffic;
}

/// Finds the sidecar with the most traffic in bytes. For a process that began meanwhile, the
/// traffic counts from its start.
void find_busiest(const Traffic& before, const Traffic& after, double seconds,
                  StoryResult& result) {
    for (std::size_t i = 0; i < after.bytes.size(); ++i) {
        const bool same = after.bytes[i] >= before.bytes[i];
        const double bytes = (after.bytes[i] - (same ? before.bytes[i] : 0)) / seconds;
        if (bytes <= result.busiest_bytes) {
            continue;
        }
        result.busiest_bytes = bytes;
        result.busiest_datagrams =
            (after.datagrams[i] - (same ? before.datagrams[i] : 0)) / seconds;
    }
}

bool judges_owners(const Story& story) { return story.expected.busiest_bytes.has_value(); }

/// The average of the staleness that the sidecars show.
double staleness_of(World& world) {
    double sum = 0;
    double running = 0;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        if (!world.sidecar(i).running()) {
            continue;
        }
        sum += to_seconds(world.sidecar(i).engine().statistics().staleness);
        ++running;
    }
    return sum / std::max(1.0, running);
}

double pace_of(World& world) {
    double most = 1;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        if (!world.sidecar(i).running()) {
            continue;
        }
        most = std::max(most, world.sidecar(i).engine().statistics().pace_asked);
    }
    return most;
}

/// What is measured while the story runs.
struct Meters {
    std::uint64_t bytes_before = 0;
    std::uint64_t datagrams_before = 0;
    Traffic traffic_before;
    std::vector<double> staleness;
    double pace = 1;

    void attach(World& world, const Story& story) {
        world.at(story.traffic_from, [this](World& w) {
            bytes_before = w.bytes();
            datagrams_before = w.datagrams();
            traffic_before = traffic_of(w);
        });
    }
    /// Must be called after the story's own actions were scheduled, so that these come first at the
    /// same instant.
    void attach_staleness(World& world, const Story& story) {
        const double end = story.plan.seconds;
        for (double at = story.traffic_from; judges_owners(story) && at < end; at += 1) {
            world.at(at, [this](World& w) { staleness.push_back(staleness_of(w)); });
        }
        world.at(end, [this](World& w) { pace = pace_of(w); });
    }
};

void add_traffic(World& world, const Story& story, const Meters& meters, StoryResult& result) {
    const double datagrams = static_cast<double>(world.datagrams() - meters.datagrams_before);
    const double bytes = static_cast<double>(world.bytes() - meters.bytes_before);
    // Each datagram counts twice: one sidecar sends it and another one receives it.
    const double seconds = story.plan.seconds - story.traffic_from;
    result.datagrams = 2 * datagrams / world.size() / seconds;
    result.bytes = 2 * (bytes + kIpAndUdp * datagrams) / world.size() / seconds;
    find_busiest(meters.traffic_before, traffic_of(world), seconds, result);
}

}  // namespace

void ValueRange::add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
}

double ValueRange::distance_from_one() const {
    return std::max(std::abs(least - 1), std::abs(most - 1));
}

StoryResult run(const Story& story, std::uint64_t seed) {
    WorldPlan plan = story.plan;
    plan.seed = story.seed.value_or(seed * 7919 + 13);
    World world(plan);
    Watch watch(plan);
    world.watch(&watch);
    watch.figures().measure(story.steady_from, story.steady_to);
    Meters meters;
    meters.attach(world, story);
    arrange(world, story.faults, [&](const limiter::QuotaDefinition& definition, double at) {
        watch.edited(definition, at);
    });
    meters.attach_staleness(world, story);
    StoryResult result;
    result.seed = seed;
    result.met = world.run(kLongestMeeting);
    result.pace = meters.pace;
    add_admitted(story, world.recorder(), result);
    add_shares(story, world.recorder(), plan.load.quotas.size(), result);
    add_each_quota(story, world.recorder(), result);
    add_messages(world, story, result);
    add_traffic(world, story, meters, result);
    for (const double one : meters.staleness) {
        result.staleness += one / static_cast<double>(meters.staleness.size());
    }
    result.fingerprint = world.fingerprint();
    result.counted = watch.figures().figures();
    // Messages after the end of the story do not count in its figures.
    watch.settle(world, kSettling, kLongestSettling);
    result.findings = watch.findings().texts();
    return result;
}

Summary summarise(const std::vector<StoryResult>& results) {
    Summary summary;
    summary.mean_least = summary.second_least = 1e9;
    const double count = static_cast<double>(results.size());
    for (const StoryResult& result : results) {
        summary.mean_least = std::min(summary.mean_least, result.mean);
        summary.mean_most = std::max(summary.mean_most, result.mean);
        summary.second_least = std::min(summary.second_least, result.second_least);
        summary.second_most = std::max(summary.second_most, result.second_most);
        summary.met = summary.met && result.met;
        summary.refused += result.refused;
        summary.deltas += result.deltas / count;
        summary.totals += result.totals / count;
        summary.bytes += result.bytes / count;
        summary.datagrams += result.datagrams / count;
        summary.busiest_bytes = std::max(summary.busiest_bytes, result.busiest_bytes);
        summary.busiest_datagrams = std::max(summary.busiest_datagrams, result.busiest_datagrams);
        summary.staleness = std::max(summary.staleness, result.staleness);
        summary.pace =
            &result == &results.front() ? result.pace : std::min(summary.pace, result.pace);
        summary.refused_share += result.refused / std::max(1.0, result.offered) / count;
        const bool first = &result == &results.front();
        for (const auto& [one, all] : {std::pair(&result.quota_mean, &summary.quota_mean),
                                       std::pair(&result.quota_second, &summary.quota_second)}) {
            all->add(one->least);
            all->add(one->most);
        }
        add_counted(result.counted, summary);
        add_ranges(summary.single_seconds, result.single_seconds, first);
        add_ranges(summary.shares, result.quota_share, first);
        for (const std::string& finding : result.findings) {
            summary.findings.push_back("seed " + std::to_string(result.seed) + ": " + finding);
        }
    }
    return summary;
}

namespace {

void judge_each_quota(const SteadyRange& each, const Summary& summary,
                      std::vector<std::string>& faults) {
    judge_range("mean of a quota", summary.quota_mean, each.mean, 0, faults);
    if (each.seconds) {
        judge_range("second of a quota", summary.quota_second, *each.seconds, 0, faults);
    }
}

}  // namespace

std::vector<std::string> judge(const Story& story, const Summary& summary) {
    std::vector<std::string> faults = summary.findings;
    const Expectation& expected = story.expected;
    if (!summary.met) {
        faults.emplace_back("not everybody met everybody");
    }
    if (expected.steady) {
        judge_figures("", *expected.steady, summary, faults);
    }
    const auto judge_bound = [&](const char* what, double value, std::optional<double> bound) {
        if (bound && value > *bound) {
            faults.push_back(comparison(what, value, ">", *bound));
        }
    };
    judge_bound("share refused", summary.refused_share, expected.refused_share);
    judge_bound("bytes a second", summary.bytes, expected.bytes);
    judge_bound("bytes a second of the busiest", summary.busiest_bytes, expected.busiest_bytes);
    judge_bound("staleness", summary.staleness, expected.staleness);
    if (expected.paced && summary.pace <= 1) {
        faults.emplace_back("no owner asked for slowness");
    }
    if (expected.each_quota) {
        judge_each_quota(*expected.each_quota, summary, faults);
    }
    judge_counted(expected, summary, faults);
    judge_single_seconds(expected, summary, faults);
    judge_shares(expected, summary, faults);
    judge_own(story.own, summary, faults);
    return faults;
}

}  // namespace weir::sim
