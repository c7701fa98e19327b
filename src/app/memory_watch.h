#pragma once
// Looks at the memory in use several times a second and tells when it becomes short, or is no
// longer. While it is short, memory that was freed is given back to the system, since what the
// allocator keeps counts as used.
//
// Thread-safety: none, all on the io_context's thread.

#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "app/memory_gauge.h"

namespace boost::asio {
class io_context;
}

namespace weir::app {

class MemoryWatch {
  public:
    static constexpr std::chrono::milliseconds kInterval{100};
    /// When it is near the limit.
    static constexpr std::chrono::milliseconds kShortInterval{10};

    /// `changed`: memory is short, or is no longer.
    using Changed = std::function<void(bool is_short, const MemoryGauge::Reading&)>;

    MemoryWatch(boost::asio::io_context& control, Changed changed);

    /// 0: the control group's, if it has one. Begins to watch.
    void set_limit(std::uint64_t configured);
    void stop();

    [[nodiscard]] const MemoryGauge::Reading& last() const { return last_; }
    [[nodiscard]] bool is_short() const { return pressure_.is_high(); }

  private:
    void look();

    MemoryGauge gauge_;
    MemoryPressure pressure_;
    MemoryGauge::Reading last_;
    boost::asio::steady_timer timer_;
    Changed changed_;
    unsigned looks_ = 0;
};

}  // namespace weir::app
