#include "routing/weight.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "http/fields.h"

namespace weir::routing {

bool parse_weight(std::string_view text, double& weight) {
    double value = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    if (failure != std::errc() || stop != end || !std::isfinite(value) || value < 0) {
        return false;
    }
    weight = value;
    return true;
}

WeightRule::WeightRule(const WeightSettings& settings, double max_weight)
    : settings_(settings), max_weight_(max_weight) {
    for (const auto& [operation, weight] : settings.table) {
        const auto next = static_cast<LiteralMap::Number>(weights_.size());
        if (operations_.insert(operation, next) == next) {
            weights_.push_back(weight);
        }
    }
}

Weighed WeightRule::stated(const http::RequestHead& head) const {
    Weighed weighed{.weight = settings_.constant};
    const auto& fields = head.fields();
    const auto index = fields.find(settings_.header);
    if (index == http::Fields::kNone) {
        return weighed;
    }
    const bool twice = fields.find(settings_.header, index + 1) != http::Fields::kNone;
    double value = 0;
    if (twice || !parse_weight(fields.value(index), value)) {
        weighed.invalid = true;
    } else {
        weighed.weight = value;
        weighed.clamped = value > max_weight_;
    }
    return weighed;
}

Weighed WeightRule::weigh(const http::RequestHead& head, std::string_view operation,
                          bool client_trusted) const {
    Weighed weighed{.weight = settings_.constant};
    if (settings_.source == WeightSource::table) {
        if (const auto found = operations_.find(operation)) {
            weighed.weight = weights_[*found];
        }
    } else if (settings_.source == WeightSource::header && client_trusted) {
        weighed = stated(head);
    }
    weighed.weight = std::min(weighed.weight, max_weight_);
    return weighed;
}

}  // namespace weir::routing
