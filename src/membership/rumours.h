#pragma once
// The news about members that this process passes on. Each rumour is told a limited number of
// times; the one that was told least often comes first. There is one rumour for each member, the
// newest, and at most kCapacity in all: when there is no room, the one that was told most often is
// dropped. Not thread-safe. It owns copies of what it passes on.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "membership/messages.h"

namespace weir::membership {

class Rumours {
  public:
    static constexpr std::size_t kCapacity = 512;

    /// True when another rumour had to make room.
    bool add(const MemberUpdate& update);
    /// Appends a member_updates message with as many rumours as fit into `room` bytes. Each of them
    /// counts as told once more, and is dropped when it has been told `limit` times. Returns how
    /// many were written.
    std::size_t write(ByteWriter& writer, std::size_t room, std::uint32_t limit);
    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    void clear() { entries_.clear(); }

  private:
    struct Entry {
        MemberUpdate update;
        std::uint32_t told = 0;  // how often
        std::uint64_t order =
            0;  // among those that were told equally often, the oldest comes first
    };
    std::vector<Entry> entries_;
    std::uint64_t next_order_ = 0;
};

}  // namespace weir::membership
