#include "engine/exchange_schedule.h"

#include "definitions/exchange.h"
#include "definitions/store.h"
#include "membership/transport.h"

namespace weir::engine {
namespace {

/// In a larger fleet going through all peers is expensive, so it is done less often; only edits are
/// pushed at once.
constexpr std::size_t kLargeFleet = 64;

}  // namespace

void ExchangeSchedule::tick(Instant now, bool large_too) {
    const std::uint64_t edits = store_.counters().edits;
    const bool large = transport_.membership().live_count() > kLargeFleet;
    if (large && edits == edits_seen_ && exchange_.settled() && !large_too) {
        return;
    }
    edits_seen_ = edits;
    if (peers_changed_) {
        peers_.clear();
        for (const membership::Member& member : transport_.membership().live()) {
            peers_.push_back(member.id);
        }
        peers_changed_ = false;
    }
    exchange_.set_self(transport_.self());
    exchange_.tick(now, peers_, transport_);
}

}  // namespace weir::engine
