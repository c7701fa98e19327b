#include "sync/hot_table.h"

#include <algorithm>

#include "base/assert.h"
#include "base/records.h"

namespace weir::sync {

bool HotTable::note(const HotEntry& entry, Instant now) {
    WEIR_ASSERT(entry.age >= Duration::zero());
    if (entry.age > kLongestAge) {
        return false;
    }
    const Instant as_of = now - entry.age;
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const Known& each) { return each.entry.key == entry.key; });
    if (known != known_.end()) {
        if (as_of <= known->as_of) {
            return false;
        }
        *known = {entry, as_of};
    } else if (known_.size() < capacity_) {
        known_.push_back({entry, as_of});
    } else if (!known_.empty() && entry.rate > known_.back().entry.rate) {
        known_.back() = {entry, as_of};
    } else {
        return false;
    }
    WEIR_ASSERT(known_.size() <= capacity_);
    std::stable_sort(known_.begin(), known_.end(), [](const Known& one, const Known& other) {
        return one.entry.rate > other.entry.rate;
    });
    return true;
}

void HotTable::forget_old(Instant now) {
    std::erase_if(known_, [now](const Known& each) { return now - each.as_of > kLongestAge; });
}

std::vector<HotEntry> HotTable::entries(Instant now) const {
    std::vector<HotEntry> entries;
    for (const Known& each : known_) {
        entries.push_back(each.entry);
        entries.back().age = now - each.as_of;
        WEIR_ASSERT(entries.size() <= capacity_);
    }
    return entries;
}

const HotEntry* HotTable::find(const LimitKey& key) const {
    for (const Known& each : known_) {
        if (each.entry.key == key) {
            return &each.entry;
        }
    }
    return nullptr;
}

std::vector<std::byte> HotTable::encode(Instant now, std::size_t limit, std::size_t offset) const {
    const std::vector<HotEntry> all = entries(now);
    std::vector<std::byte> body(limit);
    ByteWriter head(body);
    write_empty_head(head);
    std::size_t size = head.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
        ByteWriter writer(std::span<std::byte>(body).subspan(size));
        sync::encode(writer, all[(offset + i) % all.size()]);
        if (!writer.ok()) {
            break;
        }
        size += writer.size();
    }
    WEIR_ASSERT(size <= limit);
    body.resize(size > head.size() ? size : 0);
    return body;
}

}  // namespace weir::sync
