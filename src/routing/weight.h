#pragma once
// A request's weight from its route's settings. Immutable, thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "http/request_head.h"
#include "routing/literal_map.h"
#include "routing/route_settings.h"

namespace weir::routing {

/// A decimal number, finite and not negative, nothing around it.
[[nodiscard]] bool parse_weight(std::string_view text, double& weight);

class WeightRule {
  public:
    WeightRule() = default;
    WeightRule(const WeightSettings& settings, double max_weight);

    [[nodiscard]] double weigh(const http::RequestHead& head, std::string_view operation,
                               bool client_trusted) const;
    [[nodiscard]] bool is_request_bytes() const {
        return settings_.source == WeightSource::request_bytes;
    }

  private:
    WeightSettings settings_;
    LiteralMap operations_;
    std::vector<double> weights_;  // of the operations
    double max_weight_ = 0;
};

}  // namespace weir::routing
