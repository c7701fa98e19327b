#pragma once
// The counts of windows that outlive this process in its snapshot. While it runs, they are written
// there in pieces: what each run of a member has admitted in the present window of each limit, as
// far as this member knows. After a start they are read from there, and when the fleet's wall clock
// is known, they are given to the owner's side, which tells the owners of each limit. Each count
// belongs to one run, and the newest holds, so that what others know as well is not counted twice
// (docs/decisions/0169-windows-are-counted-by-run.md).
//
// Thread-safety: none, belongs to the control thread. Ownership: borrows the two sides of windows;
// owns what was read until it is given to them.
// Invariant: at most kMostWaiting counts that were read wait.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "sync/window_origin.h"
#include "sync/window_owner.h"

namespace weir::sync {

class KeptCounts {
  public:
    KeptCounts(WindowOrigin& origin, WindowOwner& owner) : origin_(origin), owner_(owner) {}

    /// Says whether there is no fleet.
    void set_alone(bool alone) { alone_ = alone; }
    /// Says that somebody keeps the counts. Without a fleet nothing is counted for it else.
    void want() {
        wanted_ = true;
        origin_.listen();
    }
    [[nodiscard]] bool wanted() const { return wanted_; }
    /// Where a walk through all counts stands.
    struct Cursor {
        std::size_t waiting = 0;  // how many of those that were read are written
        std::uint32_t owned = 0;  // a slot of the owner's side
        std::size_t within = 0;   // how many of its counts are written
        std::uint32_t own = 0;    // a slot of the origin's side
    };
    /// Another number than before when there is something new to be kept.
    [[nodiscard]] std::uint64_t news() const { return origin_.news() + owner_.news(); }
    /// Writes as many of the counts from the cursor on as fit, and moves the cursor behind them.
    /// Returns how many were written: none when none are left. The block must have room for one
    /// (kLargestCount).
    std::size_t write(ByteWriter& block, Cursor& cursor);
    static constexpr std::size_t kLargestCount = 128;

    /// As many as the owner's side can have.
    static constexpr std::size_t kMostWaiting = WindowOwner::kMostRows + WindowOwner::kMostGone;
    /// Reads what write() has written. Counts that cannot be are passed over and counted in
    /// refused(), as are those for which there is no room.
    void read(ByteSpan block);
    /// To be called when all was read, before the first request. Until owners are heard, a limit
    /// begins with what these counts leave of it: without a fleet of the whole window, else of the
    /// little that new members may use.
    void foretell();
    /// Gives a part of what was read to the owner's side, kRestoreAtOnce counts at most. To be
    /// called in each tick since the fleet's wall clock is known, until nothing waits.
    void restore(Instant now);
    static constexpr std::size_t kRestoreAtOnce = 2000;
    /// How many were read that the owner's side does not have yet.
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    void drop_older();
    void write_owned(ByteWriter& block, Cursor& cursor, std::size_t& written);

    WindowOrigin& origin_;
    WindowOwner& owner_;
    std::vector<WindowReport> waiting_;
    bool wanted_ = false;
    bool alone_ = false;
    std::uint64_t taken_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace weir::sync
