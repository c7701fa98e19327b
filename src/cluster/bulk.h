#pragma once
// Carries definitions in bulk over TCP. It accepts the peers' connections on the port of gossip,
// and opens the connections that the engine wants. It is a thin layer around DefinitionStream,
// which decides what is sent.
//
// Thread-safety: none; all calls come on the thread of the io_context (the control thread).
// Ownership: it owns its sockets. io_context and engine must outlive it, and stop() must be called
// before the engine ends.
// Bounds: connections in and out, one frame each way per connection, time to greet, time without
// progress, and time in all.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/endpoint.h"
#include "base/instant.h"
#include "base/result.h"

namespace boost::asio {
class io_context;
}
namespace weir::engine {
class Engine;
}

namespace weir::cluster {

struct BulkLimits {
    std::size_t incoming = 8;
    std::size_t outgoing = 2;
    Duration connect = std::chrono::seconds(2);
    Duration greeting = std::chrono::seconds(2);
    Duration idle = std::chrono::seconds(5);
    Duration total = std::chrono::seconds(300);
};

struct BulkStatistics {
    std::uint64_t accepted = 0;
    std::uint64_t turned_away = 0;  // closed at once, because too many were open
    std::uint64_t accept_errors = 0;
    std::uint64_t connects = 0;
    std::uint64_t connect_failures = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t refused = 0;  // closed, because the other side broke the protocol or is no member
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

class Bulk {
  public:
    Bulk(boost::asio::io_context& control, engine::Engine& engine, BulkLimits limits);
    ~Bulk();
    Bulk(const Bulk&) = delete;
    Bulk& operator=(const Bulk&) = delete;

    /// Begins to listen. If that fails, definitions are only fetched from peers, not served to
    /// them.
    [[nodiscard]] Result<void> listen(const Endpoint& local);
    /// Opens the connections that the engine wants. To be called after each of its ticks.
    void poll();
    void stop();
    [[nodiscard]] const BulkStatistics& statistics() const;

  private:
    class Implementation;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace weir::cluster
