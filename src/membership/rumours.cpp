#include "membership/rumours.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/records.h"

namespace weir::membership {

bool Rumours::add(const MemberUpdate& update) {
    const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.update.id == update.id;
    });
    if (same != entries_.end()) {
        *same = {update, 0, next_order_++};
        return false;
    }
    const bool full = entries_.size() >= kCapacity;
    if (full) {
        entries_.erase(
            std::max_element(entries_.begin(), entries_.end(),
                             [](const Entry& a, const Entry& b) { return a.told < b.told; }));
    }
    entries_.push_back({update, 0, next_order_++});
    WEIR_ASSERT(entries_.size() <= kCapacity);
    return full;
}

std::size_t Rumours::write(ByteWriter& writer, std::size_t room, std::uint32_t limit) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.told, a.order) < std::pair(b.told, b.order);
    });
    std::array<std::byte, gossip::kMaximumPayload> buffer{};
    const std::size_t usable = std::min(room, gossip::kMaximumPayload + gossip::kMessageOverhead);
    if (usable <= gossip::kMessageOverhead) {
        return 0;
    }
    ByteWriter payload{std::span(buffer).first(usable - gossip::kMessageOverhead)};
    write_empty_head(payload);
    std::size_t count = 0;
    for (Entry& entry : entries_) {
        if (payload.remaining() < kMaximumUpdate) {
            break;
        }
        encode(payload, entry.update);
        WEIR_ASSERT(payload.ok());  // kMaximumUpdate bytes are enough for each
        ++entry.told;
        ++count;
    }
    if (count > 0) {
        gossip::write_message(writer, gossip::MessageType::member_updates, payload.written());
        std::erase_if(entries_, [limit](const Entry& entry) { return entry.told >= limit; });
    }
    return count;
}

}  // namespace weir::membership
