#pragma once
// Windows: keeps the windows of an InstanceStore's limits open (window.h). It knows the time of the
// fleet's wall clock and how many members share limits, and begins the next window of a limit when
// the last one has ended. Whoever reads the record of a limit of windows calls open() before.
//
// Thread-safety: any number of threads may call open() and second(); what is set comes from the
// control thread. open() takes the record's lock bit without waiting for more than some
// microseconds. Ownership: it borrows the store, whose names it reads.
// Invariant: a window of one limit is the same second to second for every member that has the same
// wall clock, because it follows from the schedule and the quota's name alone.

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/instant.h"
#include "limiter/compiled_definition.h"
#include "limiter/instance_store.h"
#include "limiter/told_windows.h"
#include "limiter/window.h"

namespace weir::limiter {

class Windows {
  public:
    explicit Windows(InstanceStore& store) : store_(store) {}

    // --- control thread
    /// Sets the wall clock: how much later the time since 1970 is than the monotonic time.
    void set_clock(Duration ahead) { ahead_.store(ahead.count(), std::memory_order_relaxed); }
    /// Says how many members share limits, and since which second this member has been one of them.
    /// Of a window that began later it uses an equal part, of others a little (kPartOfNewMembers),
    /// until it is told how much it may use.
    void set_members(std::uint32_t members, std::int64_t since) {
        since_.store(since, std::memory_order_relaxed);
        members_.store(members, std::memory_order_relaxed);
    }

    /// Says how limits are called in tell(): a function of the quota's name, always the same one,
    /// and never 0. Without it nothing that is told is found.
    void set_naming(LimitNaming naming) { naming_.store(naming, std::memory_order_release); }
    /// Notes what this process was told of the present window of a limit that it may not have used
    /// yet.
    void tell(std::uint64_t limit, const WindowAllowance& told) { told_.tell(limit, told); }

    // --- any thread
    /// The second since 1970 at this monotonic time.
    [[nodiscard]] std::int64_t second(std::int64_t now) const;
    /// The time until the record's window ends.
    [[nodiscard]] Duration left(const LimitRecord& record, std::int64_t now) const;
    /// Makes the window of this limit, of the instance `head`, the present one. False if another
    /// thread is about to do so and was stopped in the middle.
    bool open(std::uint32_t head, LimitRecord& record, const CompiledLimit& limit,
              std::int64_t now) {
        WEIR_ASSERT(limit.windows != nullptr);
        return window_is_open(record, second(now), limit.windows->longest()) ||
               open_next(head, record, limit, now);
    }
    /// Whether the record's window is the present one; nothing is begun.
    [[nodiscard]] bool is_open(const LimitRecord& record, const CompiledLimit& limit,
                               std::int64_t now) const {
        WEIR_ASSERT(limit.windows != nullptr);
        return window_is_open(record, second(now), limit.windows->longest());
    }
    /// Whether the record's window, which is open, contains this monotonic time of the past.
    [[nodiscard]] bool began_before(const LimitRecord& record, const CompiledLimit& limit,
                                    std::int64_t then) const;
    /// The window of a quota of this name.
    [[nodiscard]] static WindowSpan span_of(std::string_view name, const CompiledLimit& limit,
                                            std::int64_t second);

  private:
    void begin(std::uint32_t head, LimitRecord& record, const CompiledLimit& limit,
               std::int64_t second, double before) const;
    bool open_next(std::uint32_t head, LimitRecord& record, const CompiledLimit& limit,
                   std::int64_t now);

    InstanceStore& store_;
    ToldWindows told_;
    std::atomic<LimitNaming> naming_{nullptr};
    std::atomic<std::int64_t> ahead_{0};
    std::atomic<std::int64_t> since_{0};
    std::atomic<std::uint32_t> members_{1};
};

}  // namespace weir::limiter
