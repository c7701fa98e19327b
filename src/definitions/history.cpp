#include "definitions/history.h"

#include <algorithm>
#include <utility>
#include "base/assert.h"

namespace weir::definitions {

bool DefinitionHistory::note(DefinitionEntry entry, HistoryFate fate) {
    std::deque<HistoryEntry>& list = entries_[entry.name];
    if (std::any_of(list.begin(), list.end(), [&](const HistoryEntry& known) {
            return known.entry.version == entry.version;
        })) {
        return false;
    }
    order_.emplace_back(entry.name, entry.version);
    list.push_back({std::move(entry), fate});
    ++size_;
    if (list.size() > kOfQuota) {
        list.pop_front();
        --size_;
    }
    WEIR_ASSERT(list.size() <= kOfQuota);
    // Notes of quotas that are changed often may have been removed already.
    while (size_ > kMaximum || order_.size() > 2 * kMaximum) {
        forget_oldest();
    }
    WEIR_ASSERT(size_ <= kMaximum && size_ <= order_.size());
    return true;
}

void DefinitionHistory::forget_oldest() {
    WEIR_ASSERT(!order_.empty());
    const auto [name, version] = std::move(order_.front());
    order_.pop_front();
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
        return;
    }
    const Version oldest = version;
    size_ -= std::erase_if(
        found->second, [&](const HistoryEntry& known) { return known.entry.version == oldest; });
    if (found->second.empty()) {
        entries_.erase(found);
    }
}

std::vector<HistoryEntry> DefinitionHistory::of(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
        return {};
    }
    WEIR_ASSERT(!found->second.empty() && found->second.size() <= kOfQuota);
    std::vector<HistoryEntry> list(found->second.begin(), found->second.end());
    std::stable_sort(list.begin(), list.end(), [](const HistoryEntry& a, const HistoryEntry& b) {
        return a.entry.version > b.entry.version;
    });
    return list;
}

}  // namespace weir::definitions
