#pragma once
// A coarse timer wheel. Arming and cancelling cost a few pointer writes, so that every wait of
// every connection can have a deadline of its own. An entry expires up to one tick late, never
// early.
// Not thread-safe; each event loop has one. Ownership: the wheel owns no entry. An entry is linked
// into it and takes itself out when it is destroyed.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace weir::net {

class TimerWheel;

class TimerEntry {
  public:
    TimerEntry() = default;
    TimerEntry(const TimerEntry&) = delete;
    TimerEntry& operator=(const TimerEntry&) = delete;
    [[nodiscard]] bool armed() const { return next_ != nullptr; }

  protected:
    virtual ~TimerEntry();

  private:
    friend class TimerWheel;
    /// Called when the deadline has passed. The entry is not armed any more; it may arm itself
    /// again or destroy itself.
    virtual void expired() = 0;

    TimerEntry* next_ = nullptr;
    TimerEntry* previous_ = nullptr;
    TimerWheel* wheel_ = nullptr;
    std::int64_t due_tick_ = 0;
};

class TimerWheel {
  public:
    static constexpr Duration kTick = std::chrono::milliseconds(16);
    static constexpr std::size_t kSlots = 512;

    explicit TimerWheel(Instant now);
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;
    /// No entry may be armed when the wheel is destroyed.
    ~TimerWheel();

    /// Has the entry expire at `deadline`. If it is armed already, only the new deadline counts.
    void arm(TimerEntry& entry, Instant deadline);
    void cancel(TimerEntry& entry);
    /// Calls expired() of all entries that are due. Entries that are armed meanwhile wait for a
    /// later call.
    void advance(Instant now);
    /// For how long from `now` on nothing can expire; at most `longest`.
    [[nodiscard]] Duration idle_time(Instant now, Duration longest) const;
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    /// The head of a circular list of entries.
    struct Slot final : TimerEntry {
        Slot();
        ~Slot() override;
        void expired() override {}
        [[nodiscard]] bool empty() const;
        friend class TimerWheel;
    };
    static std::size_t slot_of(std::int64_t tick) {
        return static_cast<std::size_t>(tick) % kSlots;
    }
    static void link(Slot& slot, TimerEntry& entry);
    static void unlink(TimerEntry& entry);
    void expire_slot(Slot& slot);

    std::array<Slot, kSlots> slots_;
    std::size_t size_ = 0;
    std::int64_t tick_;  ///< all ticks up to this one have been visited
};

}  // namespace weir::net
