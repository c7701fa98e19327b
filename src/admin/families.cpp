#include "admin/families.h"

#include <array>
#include <cstdint>

#include "base/assert.h"
#include "base/hash.h"

namespace weir::admin {
namespace {

/// The length of the valid UTF-8 sequence that the text begins with, 0 if there is none
/// (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const auto continues = [&](std::size_t i, std::uint8_t low, std::uint8_t high) {
        return i < text.size() && at(i) >= low && at(i) <= high;
    };
    const std::uint8_t first = at(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return continues(1, 0x80, 0xbf) ? 2 : 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
        const std::uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
        const std::uint8_t high = first == 0xed ? 0x9f : 0xbf;
        return continues(1, low, high) && continues(2, 0x80, 0xbf) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const std::uint8_t low = first == 0xf0 ? 0x90 : 0x80;
        const std::uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
        return continues(1, low, high) && continues(2, 0x80, 0xbf) && continues(3, 0x80, 0xbf) ? 4
                                                                                               : 0;
    }
    return 0;
}

/// As much of the text as fits into `limit` bytes, with malformed bytes replaced. `changed` says
/// whether the result differs from the text.
std::string repaired(std::string_view text, std::size_t limit, bool& changed) {
    constexpr std::string_view kReplacement = "\xef\xbf\xbd";
    std::string result;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto piece = length == 0 ? kReplacement : text.substr(0, length);
        if (result.size() + piece.size() > limit) {
            changed = true;
            break;
        }
        changed = changed || length == 0;
        result += piece;
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return result;
}

std::string hash_suffix(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::uint64_t hash = keyed_hash(text, HashKey{});
    std::string suffix = "#";
    for (int i = 0; i < 16; ++i, hash >>= 4) {
        suffix += kDigits[hash & 0xf];
    }
    return suffix;
}

}  // namespace

std::string label_value(std::string_view text) {
    bool changed = false;
    std::string value = repaired(text, kMaxLabelBytes, changed);
    if (!changed) {
        return value;
    }
    const std::string suffix = hash_suffix(text);
    return repaired(value, kMaxLabelBytes - suffix.size(), changed) + suffix;
}

prometheus::ClientMetric& Family::sample(const Labels& labels) {
    auto& metric = family_->metric.emplace_back();
    metric.label.reserve(labels.size());
    for (const auto& [name, value] : labels) {
        metric.label.push_back({name, label_value(value)});
    }
    return metric;
}

Family& Family::add(const Labels& labels, double value) {
    auto& metric = sample(labels);
    if (family_->type == prometheus::MetricType::Counter) {
        metric.counter.value = value;
    } else {
        metric.gauge.value = value;
    }
    return *this;
}

Family& Family::add(const Labels& labels, const HistogramFigures& figures) {
    auto& histogram = sample(labels).histogram;
    histogram.sample_sum = figures.sum;
    for (std::size_t i = 0; i < figures.counts.size(); ++i) {
        histogram.sample_count += figures.counts[i];
        // The serializer adds the last bucket (+Inf) itself.
        if (i < figures.upper_bounds.size()) {
            histogram.bucket.push_back({histogram.sample_count, figures.upper_bounds[i]});
        }
    }
    return *this;
}

Family Families::add(std::string_view name, std::string_view help, prometheus::MetricType type) {
    WEIR_ASSERT(families_.size() < kMostFamilies);
    auto& family = families_.emplace_back();
    family.name = name;
    family.help = help;
    family.type = type;
    return Family(family);
}

Family Families::counter(std::string_view name, std::string_view help) {
    return add(name, help, prometheus::MetricType::Counter);
}
Family Families::gauge(std::string_view name, std::string_view help) {
    return add(name, help, prometheus::MetricType::Gauge);
}
Family Families::histogram(std::string_view name, std::string_view help) {
    return add(name, help, prometheus::MetricType::Histogram);
}

}  // namespace weir::admin
