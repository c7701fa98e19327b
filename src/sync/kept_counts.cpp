#include "sync/kept_counts.h"

#include <algorithm>
#include <map>
#include <utility>

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
        if (count && !owner_.has_count(*count)) {
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
        if (!good || waiting_.size() >= WindowOwner::kMostRows) {
            ++refused_;
            continue;
        }
        waiting_.push_back(count);
        ++taken_;
    }
    WEIR_ASSERT(waiting_.size() <= WindowOwner::kMostRows);
}

void KeptCounts::foretell(bool alone) {
    struct Sum {
        double most = 0;
        double admitted = 0;
    };
    std::map<std::pair<LimitKey, std::uint32_t>, Sum> sums;  // by limit and end of the window
    for (const WindowReport& count : waiting_) {
        Sum& sum = sums[{count.key, count.end}];
        sum.most = std::max(sum.most, static_cast<double>(count.most));
        sum.admitted += static_cast<double>(count.admitted);
    }
    for (const auto& [which, sum] : sums) {
        const auto& [key, end] = which;
        const double part = alone ? sum.most : std::max(1.0, sum.most * limiter::kPartOfNewMembers);
        const double left = std::max(0.0, sum.most - sum.admitted);
        WEIR_ASSERT(end != 0 && part >= 0);
        origin_.foretell(key, {.end = end, .allowance = std::min(part, left), .admitted = 0});
    }
}

void KeptCounts::restore(Instant now) {
    for (const WindowReport& count : waiting_) {
        WEIR_ASSERT(count.gone);
        owner_.restore(count, now);
    }
    waiting_.clear();
    waiting_.shrink_to_fit();
}

}  // namespace weir::sync
