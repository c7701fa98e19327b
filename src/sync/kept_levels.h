#pragma once
// The long levels that outlive this process in its snapshot: those of rates whose bucket takes long
// to drain. While it runs, they are written there in pieces: by the owners of a limit what these
// have counted, or without a fleet what this process has admitted itself. After a start they are
// read from there, drained for the time that has gone. A limit that is used here for the first time
// begins with its level, and the owners of each limit take it over, unless they know more
// (docs/decisions/0206-long-levels-are-kept-on-disk.md).
//
// Small levels are left out, and levels that drain within kForgetsWithin. When there are more than
// kMostLevels, the emptiest are left out.
//
// Thread-safety: none, belongs to the control thread. Ownership: borrows the limiter and the owner;
// owns what was read until it is given to them.
// Invariant: at most kMostLevels levels that were read wait.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/kept_level.h"
#include "sync/owner.h"

namespace weir::sync {

class KeptLevels {
  public:
    static constexpr std::size_t kMostLevels = std::size_t{1} << 17;
    /// A level below this share of `low` is left out.
    static constexpr double kLeastShare = 0.05;
    /// So many limits are looked at for one block at most.
    static constexpr std::size_t kLooksEachBlock = 4000;
    /// So many levels that were read are given away in one tick at most.
    static constexpr std::size_t kRestoreAtOnce = 2000;

    KeptLevels(limiter::Limiter& limiter, Owner& owner) : limiter_(limiter), owner_(owner) {}

    /// Says whether there is no fleet.
    void set_alone(bool alone) { alone_ = alone; }
    /// Where a walk through all levels stands.
    struct Cursor {
        std::size_t waiting = 0;  // how many of those that were read are looked at
        std::uint32_t owned = 0;  // a slot of the owner's limits
        std::uint32_t quiet = 0;  // a slot of what the owner was told of quiet limits
        std::uint32_t own = 1;    // a record of the limiter; 0: all were looked at
        std::size_t written = 0;
        std::size_t left_out = 0;  // because there was no room for so many
        bool done = false;
    };
    /// Another number than before when a long level has risen.
    [[nodiscard]] std::uint64_t news() const { return own_news_ + owner_.level_news(); }
    /// This process has admitted something under this limit, which no owner counts.
    void note_used(limiter::LimitRef limit) {
        own_news_ += limiter_.drains_slowly(limit, kForgetsWithin) ? 1U : 0U;
    }
    /// Writes some of the levels from the cursor on, and moves the cursor behind them. Returns how
    /// many were written, which may be none; nothing when none are left. `unix_now`: the time since
    /// 1970 at `now`. The block must have room for one level beside the time (kLargestBlock).
    std::optional<std::size_t> write(ByteWriter& block, Cursor& cursor, Instant now,
                                     Duration unix_now);
    static constexpr std::size_t kLargestBlock = kMaximumKeptLevel + 10;

    /// Reads what write() has written. Levels that cannot be are passed over and counted in
    /// refused(), as are those for which there is no room.
    void read(ByteSpan block, Instant now, Duration unix_now);
    /// To be called when all was read, before the first request: tells the limiter with which
    /// levels limits begin.
    void foretell();
    /// Gives a part of what was read to the owners. To be called in each tick of a member of a
    /// fleet until nothing waits. `settled`: the owners of each limit are known, and have told what
    /// they know.
    void restore(Instant now, const membership::Owners& owners, const gossip::MemberId& self,
                 bool settled, OwnerSink& sink);
    /// How many were read that nobody has taken over yet.
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    struct UnclaimedLevel {
        KeptLevel kept;
        Instant at{};  // when it had this level
    };
    /// A block that is being written.
    struct Block {
        ByteWriter& writer;
        Cursor& cursor;
        Instant now{};
        std::size_t looks = kLooksEachBlock;
        std::size_t written = 0;
        [[nodiscard]] bool has_room() const {
            return looks > 0 && writer.remaining() >= kMaximumKeptLevel;
        }
    };
    void add(Block& block, const KeptLevel& kept) const;
    void write_waiting(Block& block);
    void write_owned(Block& block);
    void write_own(Block& block);
    void end_walk(const Cursor& cursor);
    [[nodiscard]] bool is_in_use(const KeptLevel& kept) const;
    bool settle(const KeptLevel& kept, Instant now, const membership::Owners& owners,
                const gossip::MemberId& self, OwnerSink& sink);

    limiter::Limiter& limiter_;
    Owner& owner_;
    std::vector<UnclaimedLevel> waiting_;
    std::size_t placed_ = 0;  // of `waiting_`, how many the owner here has taken over
    double least_share_ = kLeastShare;
    bool alone_ = false;
    std::uint64_t own_news_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace weir::sync
