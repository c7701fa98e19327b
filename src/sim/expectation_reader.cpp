#include "sim/expectation_reader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"
#include "sim/value_reader.h"

namespace weir::sim {
namespace {

using config::Diagnostics;
using config::MapReader;
using config::NodeRef;

constexpr std::uint64_t kMostBytes = 1'000'000'000;

/// Reads `mean`, and `seconds` if they are given.
std::optional<SteadyRange> read_figures(MapReader& reader, NodeRef node, Diagnostics& diagnostics) {
    const auto mean = reader.take("mean");
    const auto seconds = reader.take("seconds");
    if (!mean) {
        if (seconds) {
            diagnostics.error(node, "has 'seconds' without 'mean'");
        }
        return std::nullopt;
    }
    SteadyRange figures;
    figures.mean = read_range(*mean, diagnostics);
    if (seconds) {
        figures.seconds = read_range(*seconds, diagnostics);
    }
    return figures;
}

std::vector<ValueRange> read_single_seconds(std::optional<NodeRef> node, const Story& story,
                                            Diagnostics& diagnostics) {
    std::vector<ValueRange> ranges;
    if (!node) {
        return ranges;
    }
    for (const NodeRef each : config::read_list(*node, diagnostics)) {
        ranges.push_back(read_range(each, diagnostics));
    }
    if (story.seconds_from + static_cast<double>(ranges.size()) > story.plan.seconds) {
        diagnostics.error(*node, "has seconds after the end of the story");
    }
    return ranges;
}

void read_shares(NodeRef node, Story& story, Diagnostics& diagnostics) {
    for (const NodeRef each : config::read_list(node, diagnostics)) {
        story.expected.shares.push_back(read_share(each, diagnostics));
    }
    if (story.expected.shares.size() != story.plan.load.quotas.size()) {
        diagnostics.error(node, "must have a share for each of the " +
                                    std::to_string(story.plan.load.quotas.size()) +
                                    " quotas of the load");
    }
}

void read_traffic(MapReader& reader, Expectation& expected, Diagnostics& diagnostics) {
    const auto bytes = [&](std::optional<NodeRef> node, std::optional<double>& bound) {
        if (node) {
            bound = static_cast<double>(
                config::read_size(*node, 0, kMostBytes, diagnostics).value_or(0));
        }
    };
    bytes(reader.take("bytes"), expected.bytes);
    bytes(reader.take("busiest_bytes"), expected.busiest_bytes);
    if (const auto staleness = reader.take("staleness")) {
        expected.staleness = read_seconds(*staleness, diagnostics);
    }
    if (const auto paced = reader.take("paced")) {
        expected.paced = config::read_boolean(*paced, diagnostics).value_or(false);
    }
}

bool has_limit(const WorldPlan& plan, limiter::LimitKind kind) {
    return std::any_of(plan.definitions.begin(), plan.definitions.end(), [&](const auto& each) {
        return std::any_of(each.limits.begin(), each.limits.end(),
                           [&](const auto& limit) { return limit.kind == kind; });
    });
}

void read_counted(MapReader& reader, Story& story, Diagnostics& diagnostics) {
    if (const auto windows = reader.take("windows")) {
        story.expected.windows = read_range(*windows, diagnostics);
        if (!has_limit(story.plan, limiter::LimitKind::window)) {
            diagnostics.error(*windows, "no quota has a limit of windows");
        }
    }
    if (const auto in_flight = reader.take("in_flight")) {
        story.expected.in_flight = read_range(*in_flight, diagnostics);
        if (!has_limit(story.plan, limiter::LimitKind::concurrency)) {
            diagnostics.error(*in_flight, "no quota has a limit of requests in flight");
        }
    }
}

/// The text of the expectation in tables, for files that do not give one.
std::string usual_text(const Expectation& expected) {
    std::array<char, 80> text{};
    if (expected.refused_share) {
        std::snprintf(text.data(), text.size(), "at most %g %% refused",
                      100 * *expected.refused_share);
        return *expected.refused_share > 0 ? text.data() : "not one refused";
    }
    if (const auto& counted = expected.windows ? expected.windows : expected.in_flight) {
        std::snprintf(text.data(), text.size(), "%g–%g %s", counted->least, counted->most,
                      expected.windows ? "in each window" : "in flight");
        return text.data();
    }
    if (!expected.steady) {
        return {};
    }
    const ValueRange& mean = expected.steady->mean;
    std::snprintf(text.data(), text.size(), "%.3f–%.3f", mean.least, mean.most);
    std::string all = text.data();
    if (mean.least == mean.most) {
        all.resize(all.find("–"));
    }
    if (const auto& seconds = expected.steady->seconds) {
        std::snprintf(text.data(), text.size(), "; %.2f … %.2f", seconds->least, seconds->most);
        all += text.data();
    }
    return all;
}

}  // namespace

void read_expectation(NodeRef node, Story& story, Diagnostics& diagnostics) {
    Expectation& expected = story.expected;
    MapReader reader(node, diagnostics);
    if (const auto text = reader.take("text")) {
        expected.text = std::string(config::read_text(*text, diagnostics).value_or(""));
    }
    expected.steady = read_figures(reader, node, diagnostics);
    if (const auto refused = reader.take("refused")) {
        expected.refused_share = read_share(*refused, diagnostics);
    }
    expected.single_seconds =
        read_single_seconds(reader.take("single_seconds"), story, diagnostics);
    if (const auto shares = reader.take("shares")) {
        read_shares(*shares, story, diagnostics);
    }
    if (const auto each = reader.take("each_quota")) {
        MapReader inner(*each, diagnostics);
        expected.each_quota = read_figures(inner, *each, diagnostics);
        inner.finish();
    }
    read_traffic(reader, expected, diagnostics);
    read_counted(reader, story, diagnostics);
    reader.finish();
    if (expected.text.empty()) {
        expected.text = usual_text(expected);
    }
}

void read_own_figures(NodeRef node, Story& story, Diagnostics& diagnostics) {
    MapReader reader(node, diagnostics);
    story.own.steady = read_figures(reader, node, diagnostics);
    const auto seconds = reader.take("single_seconds");
    story.own.single_seconds = read_single_seconds(seconds, story, diagnostics);
    if (story.own.single_seconds.size() > story.expected.single_seconds.size()) {
        diagnostics.error(*seconds, "has more seconds than 'expect' has");
    }
    reader.finish();
}

}  // namespace weir::sim
