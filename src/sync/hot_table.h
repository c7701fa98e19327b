#pragma once
// The hottest limits of the fleet that shed, as rumours that travel with membership gossip. So a
// sidecar with one request a minute knows of the shedding before its request comes. Bounded; the
// newest rumour about a limit replaces the older ones. Belongs to the control thread.

#include <cstddef>
#include <span>
#include <vector>

#include "base/instant.h"
#include "sync/messages.h"

namespace weir::sync {

class HotTable {
  public:
    /// Older rumours are not passed on.
    static constexpr Duration kLongestAge = std::chrono::seconds(3);

    explicit HotTable(std::size_t capacity) : capacity_(capacity) {}

    /// Takes a rumour in, from the owner in this process or from gossip. False when it is not newer
    /// than what is known.
    bool note(const HotEntry& entry, Instant now);
    void forget_old(Instant now);
    /// The rumours to pass on, the hottest first, with their ages at `now`.
    [[nodiscard]] std::vector<HotEntry> entries(Instant now) const;
    [[nodiscard]] const HotEntry* find(const LimitKey& key) const;
    [[nodiscard]] std::size_t size() const { return known_.size(); }
    /// The message body, as many entries as fit into `limit` bytes, beginning at `offset`.
    [[nodiscard]] std::vector<std::byte> encode(Instant now, std::size_t limit,
                                                std::size_t offset) const;

  private:
    struct Known {
        HotEntry entry;
        Instant as_of{};
    };
    std::size_t capacity_;
    std::vector<Known> known_;  // hottest first
};

}  // namespace weir::sync
