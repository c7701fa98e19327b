#include "sim/value_reader.h"

#include <algorithm>
#include <string_view>

#include "config/reader.h"
#include "config/values.h"

namespace weir::sim {
namespace {

/// A longer story, or more requests per second, is more than a machine can simulate.
constexpr Duration kLongestStory = std::chrono::hours(7 * 24);
constexpr double kLargestRate = 1e7;

}  // namespace

double read_seconds(config::NodeRef node, config::Diagnostics& diagnostics) {
    const auto time = config::read_duration(node, Duration::zero(), kLongestStory, diagnostics);
    return time ? static_cast<double>(time->count()) / 1e9 : 0;
}

double read_rate(config::NodeRef node, config::Diagnostics& diagnostics) {
    const auto rate = config::read_parsed(node, &config::parse_rate, diagnostics);
    if (!rate) {
        return 0;
    }
    if (rate->measure != config::Measure::none && rate->measure != config::Measure::requests) {
        diagnostics.error(node, "must be in requests, like 100r/s");
        return 0;
    }
    const double per_second = rate->amount * 1e9 / static_cast<double>(rate->period.count());
    if (per_second > kLargestRate) {
        diagnostics.error(node, "must be at most 10,000,000 requests a second");
        return 0;
    }
    return per_second;
}

double read_share(config::NodeRef node, config::Diagnostics& diagnostics) {
    return config::read_parsed(node, &config::parse_percentage, diagnostics).value_or(0);
}

std::uint32_t read_sidecar(config::NodeRef node, std::uint32_t sidecars,
                           config::Diagnostics& diagnostics) {
    const auto number = config::read_unsigned(node, 0, std::max(1U, sidecars) - 1, diagnostics);
    return static_cast<std::uint32_t>(number.value_or(0));
}

ValueRange read_range(config::NodeRef node, config::Diagnostics& diagnostics) {
    constexpr std::string_view kBetween = "..";
    const std::string_view text = config::read_text(node, diagnostics).value_or("");
    const std::size_t between = text.find(kBetween);
    if (between == std::string_view::npos) {
        diagnostics.error(node, "must be the least and the most, like 0.96..1.04");
        return {};
    }
    const auto least = config::parse_number(text.substr(0, between));
    const auto most = config::parse_number(text.substr(between + kBetween.size()));
    if (!least || !most) {
        diagnostics.error(node, (least ? most : least).error().message);
        return {};
    }
    if (*least > *most) {
        diagnostics.error(node, "the first number is the least, and may not be above the second");
    }
    return {*least, *most};
}

}  // namespace weir::sim
