#pragma once
// What a simulated process has decided about one request. Plain values, as thread-safe as any. The
// charge belongs to whoever keeps the value.

#include <cstdint>
#include <optional>

#include "limiter/decision.h"
#include "sync/synced_limit.h"

namespace weir::sim {

struct DecidedRequest {
    std::uint32_t quota = 0;  // the number of its leaf in the load
    bool admitted = false;
    limiter::Charge charge;  // of an admitted request
    /// The limit of windows, or of requests in flight, that refused it.
    std::optional<sync::LimitKey> refused_by;
};

[[nodiscard]] inline DecidedRequest decided(std::uint32_t quota,
                                            const limiter::Decision& decision) {
    DecidedRequest request{quota, decision.admitted, {}, {}};
    if (decision.admitted) {
        request.charge = decision.charge;
    } else if (decision.kind != limiter::LimitKind::rate) {
        request.refused_by = sync::key_of(decision.quota, decision.unit, decision.period);
        request.refused_by->kind = static_cast<std::uint8_t>(decision.kind);
    }
    return request;
}

}  // namespace weir::sim
