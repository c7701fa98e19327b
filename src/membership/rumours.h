#pragma once
// News about members on its way through the fleet: each is told a limited number of times, the
// least told first. One rumour per member (the newest replaces the former), at most kCapacity of
// them; past it the most told one is dropped. Not thread-safe.

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
    /// Appends member_updates messages with rumours that fit into `room` bytes; each counts as
    /// told once and is dropped after `limit` tellings. Returns how many were written.
    std::size_t write(ByteWriter& writer, std::size_t room, std::uint32_t limit);
    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    void clear() { entries_.clear(); }

  private:
    struct Entry {
        MemberUpdate update;
        std::uint32_t told = 0;
        std::uint64_t order = 0;
    };
    std::vector<Entry> entries_;
    std::uint64_t next_order_ = 0;
};

}  // namespace weir::membership
