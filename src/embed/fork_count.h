#pragma once
// Counts forks, so that an object can find out whether it was made in this process or in one that
// this process descends from. A handler (pthread_atfork) runs in each child and adds one, so a look
// at the count costs one load. A fork is not noticed if it was made by a system call without the C
// library, or if there was no memory to install the handler. Any thread may call every function.
// The process has one count, which lives as long as the program.

#include <atomic>
#include <cstdint>

namespace weir::embed {

class ForkCount {
  public:
    /// The same count as now(), for an object to keep when it is made. If now() differs later, this
    /// process descends from the one that made the object. The first call installs the handler,
    /// without which nothing is counted.
    [[nodiscard]] static std::uint32_t here();
    /// How many forks lie between the process that installed the handler and this one: 1 in its
    /// child, 2 in the child's child.
    [[nodiscard]] static std::uint32_t now() { return count_.load(std::memory_order_relaxed); }

  private:
    static void count_child() { count_.fetch_add(1, std::memory_order_relaxed); }
    static std::atomic<std::uint32_t> count_;
};

}  // namespace weir::embed
