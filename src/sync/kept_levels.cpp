#include "sync/kept_levels.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "sync/synced_limit.h"

namespace weir::sync {
namespace {

/// When there is no room for all levels, the least share grows up to this one.
constexpr double kMostLeastShare = 0.8;

std::uint64_t milliseconds_of(Duration duration) {
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}

/// The number of a rate among what the limiter was told.
std::uint64_t number_of_rate_key(const LimitKey& key) { return hash(key) | 1; }

std::uint64_t number_of_rate(std::string_view quota, limiter::Unit unit, Duration period) {
    return number_of_rate_key(key_of(quota, unit, period));
}

KeptLevel drained(const KeptLevel& kept, Duration age) {
    KeptLevel left = kept;
    left.drain(std::max(0.0, to_seconds(age)));
    return left;
}

NameEntry name_of(const KeptLevel& kept) {
    const limiter::LimitParameters& limit = kept.parameters;
    return {.key = kept.key,
            .name = kept.name,
            .rate = limit.rate,
            .low = limit.low,
            .high = limit.high,
            .debt = limiter::debt(limit, 1),
            .law = static_cast<std::uint8_t>(limit.law)};
}

}  // namespace

// --- writing ------------------------------------------------------------------------------------

std::optional<std::size_t> KeptLevels::write(ByteWriter& writer, Cursor& cursor, Instant now,
                                             Duration unix_now) {
    WEIR_ASSERT(writer.ok() && writer.remaining() >= kLargestBlock);
    if (cursor.done) {
        return std::nullopt;
    }
    writer.varint(milliseconds_of(unix_now));
    Block block{.writer = writer, .cursor = cursor, .now = now};
    write_waiting(block);
    if (alone_) {
        write_own(block);
        cursor.done = cursor.own == 0;
    } else {
        write_owned(block);
        cursor.done = block.has_room();
    }
    WEIR_ASSERT(writer.ok() && block.written <= cursor.written);
    if (cursor.done) {
        end_walk(cursor);
    }
    return cursor.done && block.written == 0 ? std::nullopt : std::optional(block.written);
}

/// Writes a level if it is worth its room.
void KeptLevels::add(Block& block, const KeptLevel& kept) const {
    WEIR_ASSERT(block.looks > 0);
    --block.looks;
    const limiter::LimitParameters& limit = kept.parameters;
    const double level = kept.whole();
    if (!is_long(limit) || level < least_share_ * limit.low ||
        level <= to_seconds(kForgetsWithin) * limit.rate || kept.name.size() > kMaximumNameSize) {
        return;
    }
    if (block.cursor.written >= kMostLevels) {
        ++block.cursor.left_out;
        return;
    }
    encode(block.writer, kept);
    ++block.written;
    ++block.cursor.written;
}

/// Levels that were read and that nobody has taken over yet. Without a fleet they wait until their
/// limits are used.
void KeptLevels::write_waiting(Block& block) {
    std::size_t& at = block.cursor.waiting;
    while (at < waiting_.size() && block.has_room()) {
        const KeptLevel left = drained(waiting_[at].kept, block.now - waiting_[at].at);
        if (alone_ && (left.whole() <= 0 || is_in_use(left))) {
            waiting_[at] = std::move(waiting_.back());
            waiting_.pop_back();
            --block.looks;
            continue;
        }
        add(block, left);
        ++at;
    }
}

bool KeptLevels::is_in_use(const KeptLevel& kept) const {
    WEIR_ASSERT(kept.key.unit < limiter::kUnits);
    return limiter_
        .lookup(kept.name, static_cast<limiter::Unit>(kept.key.unit),
                std::chrono::milliseconds(kept.key.period_ms))
        .has_value();
}

/// What this member knows as an owner: of each limit what it has counted and, as the first owner,
/// what it was told while the limit was quiet.
void KeptLevels::write_owned(Block& block) {
    Cursor& cursor = block.cursor;
    for (; cursor.owned < owner_.level_slots() && block.has_room(); ++cursor.owned) {
        add(block, owner_.kept_level(cursor.owned, block.now));
    }
    for (; cursor.quiet < owner_.quiet_slots() && block.has_room(); ++cursor.quiet) {
        add(block, owner_.kept_quiet_level(cursor.quiet, block.now));
    }
}

/// What this process has admitted itself, without a fleet.
void KeptLevels::write_own(Block& block) {
    WEIR_ASSERT(alone_);
    while (block.cursor.own != 0 && block.has_room()) {
        const std::size_t most =
            std::min(block.looks, block.writer.remaining() / kMaximumKeptLevel);
        const std::size_t looks = block.looks;
        block.cursor.own =
            limiter_.read_levels(block.cursor.own, static_cast<std::uint32_t>(most), block.now,
                                 [&](const limiter::LimitIdentity& limit, double level) {
                                     if (is_long(limit.parameters)) {
                                         add(block, {.key = key_of(limit),
                                                     .name = std::string(limit.quota),
                                                     .parameters = limit.parameters,
                                                     .level = level});
                                     }
                                 });
        block.looks = looks - most;
    }
}

/// When there was no room for all, the next walk leaves out more of the emptiest.
void KeptLevels::end_walk(const Cursor& cursor) {
    if (cursor.left_out > 0) {
        least_share_ = std::min(kMostLeastShare, 2 * least_share_);
    } else if (cursor.written < kMostLevels / 4) {
        least_share_ = std::max(kLeastShare, least_share_ / 2);
    }
    WEIR_ASSERT(least_share_ >= kLeastShare && least_share_ <= kMostLeastShare);
}

// --- reading ------------------------------------------------------------------------------------

void KeptLevels::read(ByteSpan block, Instant now, Duration unix_now) {
    ByteReader reader(block);
    const std::uint64_t written = reader.varint();
    refused_ += reader.ok() ? 0U : 1U;
    // A clock that was set back since counts as if no time had gone.
    const std::uint64_t read = milliseconds_of(unix_now);
    const double gone = read > written ? static_cast<double>(read - written) / 1000 : 0;
    while (reader.ok() && reader.remaining() > 0) {
        KeptLevel kept = decode_kept_level(reader);
        if (!reader.ok() || !plausible(kept) || waiting_.size() >= kMostLevels) {
            ++refused_;
            continue;
        }
        kept.drain(gone);
        const double most = limiter::ceiling(kept.parameters, 1, 0);
        kept.level = std::min(kept.level, most);
        kept.full = std::min(kept.full, most - kept.level);
        kept.sum = std::min(kept.sum, most);
        if (kept.whole() > 0) {
            waiting_.push_back({std::move(kept), now});
            ++taken_;
        }
    }
    WEIR_ASSERT(waiting_.size() <= kMostLevels);
}

void KeptLevels::foretell() {
    for (const UnclaimedLevel& each : waiting_) {
        WEIR_ASSERT(each.kept.whole() > 0);
        limiter_.foretell_level(
            number_of_rate_key(each.kept.key),
            {.level = each.kept.whole(), .rate = each.kept.parameters.rate, .at = each.at},
            &number_of_rate);
    }
}

/// First the owner here takes over what it can, because it owns all limits before it has heard of
/// others. When it is known who owns them, the others are told.
void KeptLevels::restore(Instant now, const membership::Owners& owners,
                         const gossip::MemberId& self, bool settled, OwnerSink& sink) {
    WEIR_ASSERT(placed_ <= waiting_.size());
    std::size_t left = kRestoreAtOnce;
    for (; left > 0 && placed_ < waiting_.size(); --left) {
        const UnclaimedLevel& each = waiting_[placed_++];
        owner_.raise(drained(each.kept, now - each.at), now);
    }
    for (; left > 0 && settled && placed_ == waiting_.size() && !waiting_.empty(); --left) {
        const UnclaimedLevel& each = waiting_.back();
        if (!settle(drained(each.kept, now - each.at), now, owners, self, sink)) {
            return;  // there is no room to send more in this tick
        }
        waiting_.pop_back();
        placed_ = waiting_.size();
    }
    if (waiting_.empty()) {
        waiting_.shrink_to_fit();
    }
}

/// Gives the level to the owners of its limit. Other owners have snapshots of their own; but the
/// first one alone knows of quiet limits, and has to know what of its sums has been counted since.
/// False when there was no room to send.
bool KeptLevels::settle(const KeptLevel& kept, Instant now, const membership::Owners& owners,
                        const gossip::MemberId& self, OwnerSink& sink) {
    if (kept.whole() <= 0) {
        return true;
    }
    const membership::Shard shard = membership::shard_of(kept.key.quota);
    const bool is_owner = owner_.owns(shard);
    if (is_owner) {
        if (!sink.has_room_to_publish(false)) {
            return false;  // if the limit wakes by it, the other owners have to be told
        }
        owner_.restore(kept, HandedBy::own_snapshot, now, sink);
    }
    const membership::OwnerList& list = owners.of(shard);
    for (const gossip::MemberId& owner : list) {
        if (owner == self || (is_owner && owner != list.front())) {
            continue;
        }
        if (!sink.has_room_to_publish(false)) {
            return false;
        }
        sink.send_order(owner, order_of(kept));
        if (!kept.name.empty()) {
            sink.send_name(owner, name_of(kept));
        }
    }
    return true;
}

}  // namespace weir::sync
