#pragma once
// Tells whether this process is a child of the one in which something was made, at the cost of one
// load: a handler counts forks, in the child. Thread-safe.

#include <atomic>
#include <cstdint>

namespace weir::embed {

class ForkCount {
  public:
    /// Installs the handler at first; what is made now belongs to this number.
    [[nodiscard]] static std::uint32_t here();
    [[nodiscard]] static std::uint32_t now() { return count_.load(std::memory_order_relaxed); }

  private:
    static void count_child() { count_.fetch_add(1, std::memory_order_relaxed); }
    static std::atomic<std::uint32_t> count_;
};

}  // namespace weir::embed
