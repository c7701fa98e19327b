#pragma once
// Counts forks, so that an object can find out whether it was made in this process or in one that
// this process descends from. A handler (pthread_atfork) runs in each child and adds one, so a look
// at the count costs one load. Forks are not noticed if they pass the C library by, or if there was
// no memory to install the handler. Any thread may call every function.

#include <atomic>
#include <cstdint>

namespace weir::embed {

class ForkCount {
  public:
    /// The same count as now(), for an object to keep when it is made. If now() differs later, this
    /// process descends from the one that made the object. The first call installs the handler,
    /// without which nothing is counted.
    [[nodiscard]] static std::uint32_t here();
    /// How many forks, one after the other, lie between the process that installed the handler and
    /// this one.
    [[nodiscard]] static std::uint32_t now() { return count_.load(std::memory_order_relaxed); }

  private:
    static void count_child() { count_.fetch_add(1, std::memory_order_relaxed); }
    static std::atomic<std::uint32_t> count_;
};

}  // namespace weir::embed
