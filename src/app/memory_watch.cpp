#include "app/memory_watch.h"

#include <malloc.h>

#include <boost/asio/io_context.hpp>

namespace weir::app {
namespace {

/// Readings between two times at which free memory is given back to the system, which takes the
/// allocator's locks.
constexpr unsigned kLooksPerTrim = 20;

}  // namespace

MemoryWatch::MemoryWatch(boost::asio::io_context& control, Changed changed)
    : timer_(control), changed_(std::move(changed)) {}

void MemoryWatch::set_limit(std::uint64_t configured) {
    gauge_.set_limit(configured);
    look();
}

void MemoryWatch::stop() { timer_.cancel(); }

void MemoryWatch::look() {
    last_ = gauge_.read();
    const bool before = pressure_.is_high();
    const bool now = pressure_.update(last_);
    if (now && looks_++ % kLooksPerTrim == 0) {
        ::malloc_trim(0);
    }
    if (now != before) {
        looks_ = 0;
        changed_(now, last_);
    }
    timer_.expires_after(MemoryPressure::is_near(last_) ? kShortInterval : kInterval);
    timer_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure) {
            look();
        }
    });
}

}  // namespace weir::app
