#pragma once
// Reads the memory in use several times a second, and reports when it becomes short and when it is
// no longer short. While it is short, freed memory is given back to the system, because memory that
// the allocator keeps counts as used.
//
// Thread-safety: none; all calls come on the thread of the io_context. Ownership: it borrows the
// io_context, which must outlive it, and owns its timer.

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
    /// The time between two readings while the memory in use is near the limit.
    static constexpr std::chrono::milliseconds kShortInterval{10};

    /// Called when memory has become short, and when it is no longer short.
    using Changed = std::function<void(bool is_short, const MemoryGauge::MemoryReading&)>;

    MemoryWatch(boost::asio::io_context& control, Changed changed);

    /// The limit, in bytes, without beginning to watch.
    void configure(std::uint64_t configured) { gauge_.set_limit(configured); }
    /// How many bytes may still be taken now for things that are kept, such as definitions
    /// (memory_gauge.h says which part of the limit that is).
    [[nodiscard]] std::optional<std::uint64_t> room_left() const {
        return app::room_left(gauge_.read());
    }
    /// Begins to watch. With 0 the limit of the control group counts, if it has one.
    void set_limit(std::uint64_t configured);
    void stop();

    [[nodiscard]] const MemoryGauge::MemoryReading& last() const { return last_; }
    [[nodiscard]] bool is_short() const { return pressure_.is_high(); }

  private:
    void look();

    MemoryGauge gauge_;
    MemoryPressure pressure_;
    MemoryGauge::MemoryReading last_;
    boost::asio::steady_timer timer_;
    Changed changed_;
    unsigned looks_ = 0;
};

}  // namespace weir::app
