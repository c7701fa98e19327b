#include "sync/kept_counts.h"

#include <algorithm>
#include <tuple>

#include "base/assert.h"

namespace weir::sync {

std::size_t KeptCounts::write(ByteWriter& block, Cursor& cursor) {
    WEIR_ASSERT(block.ok() && block.remaining() >= kLargestCount);
    std::size_t written = 0;
    const auto has_room = [&] { return block.remaining() >= kLargestCount; };
    for (; cursor.waiting < waiting_.size() && has_room(); ++cursor.waiting) {
        encode(block, waiting_[cursor.waiting]);
        ++written;
    }
    while (cursor.owned < owner_.slots() && has_room()) {
        write_owned(block, cursor, written);
    }
    for (; cursor.own < origin_.slots() && has_room(); ++cursor.own) {
        const auto count = origin_.own_count(cursor.own);
        if (count && !owner_.has_count_of_self(*count)) {
            encode(block, *count);
            ++written;
        }
    }
    WEIR_ASSERT(block.ok());
    return written;
}

/// Writes counts of one limit. A limit of many members goes on in the next block.
void KeptCounts::write_owned(ByteWriter& block, Cursor& cursor, std::size_t& written) {
    WEIR_ASSERT(cursor.owned < owner_.slots());
    std::size_t index = 0;
    bool all = true;
    owner_.for_each_count(cursor.owned, [&](const WindowReport& count) {
        if (index++ < cursor.within) {
            return;
        }
        all = all && block.remaining() >= kLargestCount;
        if (!all) {
            return;
        }
        ++cursor.within;
        if (count.admitted > 0) {
            encode(block, count);
            ++written;
        }
    });
    if (all) {
        ++cursor.owned;
        cursor.within = 0;
    }
}

void KeptCounts::read(ByteSpan block) {
    ByteReader reader(block);
    while (reader.ok() && reader.remaining() > 0) {
        const WindowReport count = decode_window_report(reader);
        const bool good = reader.ok() && plausible(count) && count.gone;
        if (!good || waiting_.size() >= kMostWaiting) {
            ++refused_;
            continue;
        }
        waiting_.push_back(count);
        ++taken_;
    }
    WEIR_ASSERT(waiting_.size() <= kMostWaiting);
}

/// Of several counts of one run in a window the newest stays: a member writes what it has admitted
/// itself, and as an owner what it has told itself before.
void KeptCounts::drop_older() {
    const auto by_run = [](const WindowReport& count) {
        return std::tuple(count.key, count.end, count.run);
    };
    std::sort(waiting_.begin(), waiting_.end(), [&](const auto& one, const auto& other) {
        return std::tuple(by_run(one), other.number) < std::tuple(by_run(other), one.number);
    });
    const auto last = std::unique(
        waiting_.begin(), waiting_.end(),
        [&](const auto& one, const auto& other) { return by_run(one) == by_run(other); });
    waiting_.erase(last, waiting_.end());
}

void KeptCounts::foretell() {
    drop_older();
    for (auto each = waiting_.begin(); each != waiting_.end();) {
        const WindowReport& first = *each;
        std::uint64_t most = 0;
        double admitted = 0;
        for (; each != waiting_.end() && each->key == first.key && each->end == first.end; ++each) {
            most = std::max(most, each->most);
            admitted += static_cast<double>(each->admitted);
        }
        if (most == 0) {
            continue;  // nobody had told how much there is
        }
        const auto whole = static_cast<double>(most);
        const double part = alone_ ? whole : std::max(1.0, whole * limiter::kPartOfNewMembers);
        const double left = std::max(0.0, whole - admitted);
        WEIR_ASSERT(first.end != 0 && part >= 0);
        origin_.foretell(first.key,
                         {.end = first.end, .allowance = std::min(part, left), .admitted = 0});
    }
}

void KeptCounts::restore(Instant now) {
    for (std::size_t i = 0; i < kRestoreAtOnce && !waiting_.empty(); ++i) {
        WEIR_ASSERT(waiting_.back().gone);
        owner_.restore(waiting_.back(), now);
        waiting_.pop_back();
    }
    if (waiting_.empty()) {
        waiting_.shrink_to_fit();
    }
}

}  // namespace weir::sync
