#include "sim/story.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace weir::sim {
namespace {

constexpr double kMeanMargin = 0.01;
constexpr double kSecondMargin = 0.03;
constexpr double kLongestMeeting = 60;
constexpr double kIpAndUdp = 28;  // header bytes of a datagram over IPv4

std::string describe(const char* what, double value, const char* relation, double bound) {
    char text[160];
    std::snprintf(text, sizeof text, "%s %.4f %s %.4f", what, value, relation, bound);
    return text;
}

void judge_steady(const Reference& reference, const Summary& summary,
                  std::vector<std::string>& faults) {
    const Figures& figures = *reference.steady;
    if (summary.mean_least < figures.mean_least - kMeanMargin) {
        faults.push_back(
            describe("mean", summary.mean_least, "<", figures.mean_least - kMeanMargin));
    }
    if (summary.mean_most > figures.mean_most + kMeanMargin) {
        faults.push_back(describe("mean", summary.mean_most, ">", figures.mean_most + kMeanMargin));
    }
    if (!reference.seconds_known) return;
    if (summary.second_least < figures.second_least - kSecondMargin) {
        faults.push_back(
            describe("second", summary.second_least, "<", figures.second_least - kSecondMargin));
    }
    if (summary.second_most > figures.second_most + kSecondMargin) {
        faults.push_back(
            describe("second", summary.second_most, ">", figures.second_most + kSecondMargin));
    }
}

void add_traffic(World& world, const Story& story, StoryResult& result) {
    double deltas = 0;
    double totals = 0;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        if (!world.sidecar(i).running()) continue;
        const engine::SyncStatistics sync = world.sidecar(i).engine().statistics().sync;
        deltas += static_cast<double>(sync.deltas_sent);
        totals += static_cast<double>(sync.totals_sent);
    }
    const double sidecars = world.size();
    const double owners = std::min(3.0, sidecars);
    result.deltas = deltas / sidecars / owners / story.plan.seconds;
    result.totals = totals / sidecars / owners / story.plan.seconds;
}

}  // namespace

StoryResult run(const Story& story, std::uint64_t seed) {
    WorldPlan plan = story.plan;
    plan.seed = seed * 7919 + 13;
    World world(plan);
    std::uint64_t bytes_before = 0;
    std::uint64_t datagrams_before = 0;
    world.at(0, [&](World& w) {
        bytes_before = w.bytes();
        datagrams_before = w.datagrams();
    });
    if (story.arrange) story.arrange(world);
    StoryResult result;
    result.seed = seed;
    result.met = world.run(kLongestMeeting);
    const Recorder& recorder = world.recorder();
    const std::uint32_t quota = story.quota.value_or(Recorder::kAnyQuota);
    const double span = story.steady_to - story.steady_from;
    result.mean =
        recorder.admitted_between(story.steady_from, story.steady_to, quota) / (story.limit * span);
    const auto range = recorder.admitted_seconds(story.steady_from, story.steady_to, quota);
    result.second_least = range.least / story.limit;
    result.second_most = range.most / story.limit;
    result.offered = recorder.offered_between(0, plan.seconds, quota);
    result.refused = result.offered - recorder.admitted_between(0, plan.seconds, quota);
    for (std::size_t i = 0; i < story.reference.single_seconds.size(); ++i) {
        const double at = story.seconds_from + static_cast<double>(i);
        result.single_seconds.push_back(recorder.admitted_between(at, at + 1, quota) / story.limit);
    }
    const double all = recorder.admitted_between(story.steady_from, story.steady_to, quota);
    for (std::uint32_t i = 0; i < plan.load.quotas.size(); ++i) {
        const double part = recorder.admitted_between(story.steady_from, story.steady_to, i);
        result.quota_share.push_back(all > 0 ? part / all : 0);
    }
    add_traffic(world, story, result);
    const double datagrams = static_cast<double>(world.datagrams() - datagrams_before);
    const double bytes = static_cast<double>(world.bytes() - bytes_before);
    // Each is sent by one sidecar and received by another.
    result.datagrams = 2 * datagrams / world.size() / plan.seconds;
    result.bytes = 2 * (bytes + kIpAndUdp * datagrams) / world.size() / plan.seconds;
    result.fingerprint = world.fingerprint();
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
        summary.refused += result.refused;
        summary.deltas += result.deltas / count;
        summary.totals += result.totals / count;
        summary.bytes += result.bytes / count;
        summary.datagrams += result.datagrams / count;
        summary.single_seconds.resize(result.single_seconds.size());
        for (std::size_t i = 0; i < result.single_seconds.size(); ++i) {
            summary.single_seconds[i] += result.single_seconds[i] / count;
        }
    }
    return summary;
}

std::vector<std::string> judge(const Story& story, const Summary& summary) {
    std::vector<std::string> faults;
    const Reference& reference = story.reference;
    if (reference.steady) judge_steady(reference, summary, faults);
    if (reference.nothing_refused && summary.refused > 0) {
        faults.push_back(describe("refused", summary.refused, ">", 0));
    }
    // A second may be further off than the reference's if what went wrong so far is less in all.
    double ours_in_all = 0;
    double theirs_in_all = 0;
    for (std::size_t i = 0; i < reference.single_seconds.size(); ++i) {
        const double ours = std::abs(summary.single_seconds[i] - 1);
        const double theirs = std::abs(reference.single_seconds[i] - 1);
        ours_in_all += ours;
        theirs_in_all += theirs;
        if (ours <= theirs + kSecondMargin || ours_in_all <= theirs_in_all) continue;
        const std::string what = "second " + std::to_string(i + 1) + " off by";
        faults.push_back(describe(what.c_str(), ours, ">", theirs + kSecondMargin));
    }
    return faults;
}

}  // namespace weir::sim
