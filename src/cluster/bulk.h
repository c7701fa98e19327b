#pragma once
// Definitions in bulk over TCP: accepts the peers' connections on the port of gossip and makes
// those that the engine wishes for. A thin shell around DefinitionStream, which decides
// everything that is said.
//
// Thread-safety: none; the thread of the io_context (the control thread). Ownership: owns its
// sockets; io_context and engine must outlive it, and stop() comes before the engine's end.
// Bounds: connections in and out, one frame each way per connection, time to greet, time without
// progress, time in all.

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
    std::uint64_t turned_away = 0;  // too many at once
    std::uint64_t accept_errors = 0;
    std::uint64_t connects = 0;
    std::uint64_t connect_failures = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t refused = 0;  // what came was not for us
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

class Bulk {
  public:
    Bulk(boost::asio::io_context& control, engine::Engine& engine, BulkLimits limits);
    ~Bulk();
    Bulk(const Bulk&) = delete;
    Bulk& operator=(const Bulk&) = delete;

    /// Listens. Without success bulk is only pulled, not served.
    [[nodiscard]] Result<void> listen(const Endpoint& local);
    /// Begins what the engine wishes for; call it after each of its ticks.
    void poll();
    void stop();
    [[nodiscard]] const BulkStatistics& statistics() const;

  private:
    class Implementation;
    std::shared_ptr<Implementation> implementation_;
};

}  // namespace weir::cluster
