#pragma once
// Finds a request's weight by the settings of its route. Immutable, thread-safe. It owns its
// settings.

#include <string>
#include <string_view>
#include <vector>

#include "http/request_head.h"
#include "routing/literal_map.h"
#include "routing/route_settings.h"

namespace weir::routing {

/// Reads a decimal number that is finite and not negative. False if the text is anything else.
[[nodiscard]] bool parse_weight(std::string_view text, double& weight);

struct Weighed {
    double weight = 1;
    bool invalid = false;  ///< the client's field is not a valid weight, so the default counts
    bool clamped = false;  ///< the client stated more than the maximum, which counts
};

class WeightRule {
  public:
    WeightRule() = default;
    WeightRule(const WeightSettings& settings, double max_weight);

    [[nodiscard]] Weighed weigh(const http::RequestHead& head, std::string_view operation,
                                bool client_trusted) const;
    /// The name of the request field that states the weight; empty: none does.
    [[nodiscard]] std::string_view field() const {
        return settings_.source == WeightSource::header ? std::string_view(settings_.header)
                                                        : std::string_view();
    }
    [[nodiscard]] bool is_request_bytes() const {
        return settings_.source == WeightSource::request_bytes;
    }

  private:
    WeightSettings settings_;
    LiteralMap operations_;
    std::vector<double> weights_;  // by the numbers of operations_
    double max_weight_ = 0;

    [[nodiscard]] Weighed stated(const http::RequestHead& head) const;
};

}  // namespace weir::routing
