#include "engine/definition_feed.h"

#include <vector>

#include "definitions/store.h"
#include "limiter/limiter.h"
#include "sync/counter_exchange.h"

namespace weir::engine {
namespace {

/// The most changed definitions that the limiter is given in one tick: a few milliseconds of work.
constexpr std::size_t kChangesPerTick = 4096;

}  // namespace

bool DefinitionFeed::tick(Instant now, bool refresh_anyway) {
    const bool more = take_changes(now);
    if (!refresh_due_) {
        return false;
    }
    if (!more || refresh_anyway) {
        refresh_due_ = false;
        counters_.definitions_changed(now);
    }
    return true;
}

bool DefinitionFeed::take_changes(Instant now) {
    const std::vector<limiter::DefinitionChange> changes = store_.take_changes(kChangesPerTick);
    if (changes.empty()) {
        return false;
    }
    // The store has validated the changes. What the limiter refuses nevertheless is counted.
    std::vector<limiter::RefusedChange> refused;
    limiter_.change(changes, now, &refused);
    counters_.counters().refused_definitions += refused.size();
    store_.note_refused(refused);
    if (limiter_.counters().cleared != cleared_seen_) {
        cleared_seen_ = limiter_.counters().cleared;
        counters_.records_changed(now);
    }
    refresh_due_ = true;
    return changes.size() == kChangesPerTick;
}

}  // namespace weir::engine
