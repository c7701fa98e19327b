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

struct Weighed {
    double weight = 1;
    bool invalid = false;  ///< the client's field says nothing that counts: the default holds
    bool clamped = false;  ///< it said more than the maximum
};

class WeightRule {
  public:
    WeightRule() = default;
    WeightRule(const WeightSettings& settings, double max_weight);

    [[nodiscard]] Weighed weigh(const http::RequestHead& head, std::string_view operation,
                                bool client_trusted) const;
    /// The request field that states the weight; empty: none does.
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
    std::vector<double> weights_;  // of the operations
    double max_weight_ = 0;

    [[nodiscard]] Weighed stated(const http::RequestHead& head) const;
};

}  // namespace weir::routing
