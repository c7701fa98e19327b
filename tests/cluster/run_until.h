#pragma once
// Waits for what comes by a socket or a timer, with the event loop running.

#include <boost/asio/io_context.hpp>
#include <chrono>

namespace weir::cluster::test {

/// Runs handlers until the condition holds, which is looked at every 20 ms or sooner; false when
/// that takes longer than `patience`.
template <class Condition>
bool run_until(boost::asio::io_context& io, std::chrono::seconds patience, Condition condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        io.run_one_for(std::chrono::milliseconds(20));
        io.restart();
    }
    return true;
}

}  // namespace weir::cluster::test
