#include "limiter/instance_records.h"

#include <limits>

#include "base/assert.h"
#include "base/relaxed.h"
#include "limiter/bucket.h"
#include "limiter/in_flight.h"

namespace weir::limiter {
namespace {

constexpr std::uint32_t kLargestCount = std::numeric_limits<std::uint32_t>::max();

/// The link of a record that keeps its successor and gets this identity.
std::uint32_t link_of(std::uint32_t next, std::uint8_t identity) { return (next << 8) | identity; }

}  // namespace

bool InstanceRecords::add_missing(std::uint32_t head, const CompiledDefinition& definition,
                                  Instant now) {
    WEIR_ASSERT(store_.live_head(head));
    for (const CompiledLimit& limit : definition.limits) {
        if (!add_one(head, limit.identity, now)) {
            return false;
        }
        if (limit.parameters.in_flight) [[unlikely]] {
            begin_to_count(head, limit);
        } else if (limit.parameters.window && !limit.fleet) [[unlikely]] {
            lift_allowances(head, limit.identity);
        } else if (!told_levels_.holds_none() && limit.fleet && !limit.parameters.only_counts())
            [[unlikely]] {
            begin_with_told_level(head, limit, now);
        }
    }
    return true;
}

/// The limit is used for the first time since the process began: it begins with the level that it
/// had before, if one was told.
void InstanceRecords::begin_with_told_level(std::uint32_t head, const CompiledLimit& limit,
                                            Instant now) {
    const double level = told_levels_.take(store_.name(head), limit, now);
    for (std::uint32_t id = head; id != 0 && level > 0; id = store_.record(id).next()) {
        LimitRecord& record = store_.record(id);
        if (record.identity() == limit.identity) {
            WEIR_ASSERT(!limit.parameters.only_counts());
            lock_waiting(record);
            limiter::add(record.level, level);
            unlock(record);
            told_levels_.begun(id, store_.long_generation(head),
                               {.level = level, .rate = limit.parameters.rate, .at = now});
        }
    }
}

/// A limit of windows that this process has for itself may be used as a whole, also if it was one
/// of the fleet until now.
void InstanceRecords::lift_allowances(std::uint32_t head, std::uint8_t identity) {
    for (std::uint32_t id = head; id != 0; id = store_.record(id).next()) {
        LimitRecord& record = store_.record(id);
        if (record.identity() == identity) {
            lock_waiting(record);
            lift_window_allowance(record);
            unlock(record);
        }
    }
}

void InstanceRecords::set_equal_part(LimitRecord& record, const CompiledLimit& limit) const {
    const std::uint32_t members = limit.fleet ? members_.load(kRelaxed) : 1;
    if (members <= 1) {
        lift_allowance(record);
    } else {
        limiter::set_equal_part(record, equal_part(limit.parameters.low, members));
    }
}

/// The limit's record counts from now on, unless it does so already. An equal part follows an edit.
void InstanceRecords::begin_to_count(std::uint32_t head, const CompiledLimit& limit) {
    for (std::uint32_t id = head; id != 0; id = store_.record(id).next()) {
        LimitRecord& record = store_.record(id);
        if (record.identity() != limit.identity) {
            continue;
        }
        if (count_of(record) == 0) {
            counts_ = counts_ == kLargestCount ? 1 : counts_ + 1;
            begin_count(record, counts_);
        }
        if (limit.fleet && has_told_allowance(record)) {
            continue;
        }
        const bool may_know = limit.fleet && !foretold_.empty();
        const auto known = may_know ? foretold_.find(hash_(store_.name(head))) : foretold_.end();
        if (known != foretold_.end()) {
            set_allowance(record, known->second);
        } else {
            set_equal_part(record, limit);
        }
    }
}

void InstanceRecords::foretell(std::uint64_t quota, std::optional<double> allowance,
                               std::uint64_t (*hash)(std::string_view name)) {
    WEIR_ASSERT(hash != nullptr && (hash_ == nullptr || hash_ == hash));
    hash_ = hash;
    WEIR_ASSERT(!allowance || (*allowance >= 0 && *allowance <= kMostAllowance));
    if (allowance) {
        foretold_[quota] = *allowance;
    } else {
        foretold_.erase(quota);
    }
}

/// True when the instance has a record of this identity now.
bool InstanceRecords::add_one(std::uint32_t head, std::uint8_t identity, Instant now) {
    WEIR_ASSERT(identity != kNoIdentity);
    std::uint32_t last = head;
    std::uint32_t unused = 0;
    for (std::uint32_t id = head; id != 0; id = store_.record(id).next()) {
        const std::uint8_t other = store_.record(id).identity();
        if (other == identity) {
            return true;
        }
        unused = other == kNoIdentity && unused == 0 ? id : unused;
        last = id;
    }
    if (unused != 0) {
        LimitRecord& record = store_.record(unused);
        record.link.store(link_of(record.next(), identity), std::memory_order_release);
        return true;
    }
    const std::uint32_t added = store_.allocate_record(nanoseconds(now));
    if (added == 0) {
        return false;
    }
    store_.record(added).link.store(identity, kRelaxed);
    store_.record(added).owner.store(head, kRelaxed);
    LimitRecord& before = store_.record(last);
    WEIR_ASSERT(before.next() == 0);
    before.link.store(link_of(added, before.identity()), std::memory_order_release);
    return true;
}

bool InstanceRecords::take_former(std::uint32_t head, const CompiledDefinition& definition,
                                  Instant now) {
    WEIR_ASSERT(store_.live_head(head));
    for (std::uint32_t id = head; id != 0; id = store_.record(id).next()) {
        if (definition.find(store_.record(id).identity(), 0) == nullptr) {
            clear(id, now);
        }
    }
    return add_missing(head, definition, now);
}

void InstanceRecords::bring_to_now(std::uint32_t head, const CompiledDefinition& definition,
                                   Instant now) {
    WEIR_ASSERT(store_.live_head(head));
    for (std::uint32_t id = head; id != 0; id = store_.record(id).next()) {
        LimitRecord& record = store_.record(id);
        if (const CompiledLimit* limit = definition.find(record.identity(), 0)) {
            lock_waiting(record);
            renew({record, store_.view_of(record), *limit}, nanoseconds(now));
            unlock(record);
        }
    }
}

/// Empties the record, which belongs to no limit from now on.
void InstanceRecords::clear(std::uint32_t record_id, Instant now) {
    LimitRecord& record = store_.record(record_id);
    lock_waiting(record);
    record.link.store(link_of(record.next(), kNoIdentity), std::memory_order_release);
    store_.detach_view(record_id);
    store_.clear_record(record_id, nanoseconds(now));
    record.control.fetch_and(~(kShedding | kIsolated), kRelaxed);
    unlock(record);
    ++cleared_;
}

void InstanceRecords::clear_reused(std::uint32_t head, const CompiledDefinition* before,
                                   const CompiledDefinition& definition, Instant now) {
    WEIR_ASSERT(store_.live_head(head));
    for (std::uint32_t id = head; id != 0; id = store_.record(id).next()) {
        const std::uint8_t identity = store_.record(id).identity();
        const CompiledLimit* limit = definition.find(identity, 0);
        const bool unknown =
            limit == nullptr && identity != kNoIdentity && !definition.was_former(identity);
        // The number is new, or meant another limit until now.
        const bool fresh =
            limit != nullptr &&
            (before == nullptr || !before->terms->knows(limit->kind, limit->unit, limit->period));
        if (unknown || fresh) {
            clear(id, now);
        }
    }
}

void InstanceRecords::renumber(std::uint32_t head, const CompiledDefinition* from,
                               const CompiledDefinition& to, Instant now) {
    WEIR_ASSERT(store_.live_head(head));
    WEIR_ASSERT(from != &to);
    for (std::uint32_t id = head; id != 0; id = store_.record(id).next()) {
        LimitRecord& record = store_.record(id);
        const CompiledLimit* before = from == nullptr ? nullptr : from->find(record.identity(), 0);
        const CompiledLimit* after =
            before == nullptr ? nullptr : to.find(before->kind, before->unit, before->period);
        if (after == nullptr) {
            clear(id, now);
        } else if (after->identity != record.identity()) {
            record.link.store(link_of(record.next(), after->identity), std::memory_order_release);
        }
    }
}

}  // namespace weir::limiter
