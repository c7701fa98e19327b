#pragma once
// Drives one engine over a real UDP socket, a timer for ticks, look-ups of names, and TCP for
// definitions in bulk (bulk.h). It is a thin layer around the engine and decides only when to read,
// when to tick and when to look names up.
//
// Thread-safety: none; everything runs on the thread of the io_context given (the control
// thread). Name look-ups block a helper thread of their own, never the control thread.
// Ownership: owns socket, timers and engine; io_context and limiter must outlive it.
// Invariants: at most kDatagramsPerTurn datagrams are read before other handlers run, and reading
// takes at most Options::receive_share of tick_interval between two ticks, whatever arrives; a tick
// that is due always comes before reading, so that a process that was stopped notices that before
// it believes datagrams that waited in its socket.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "base/result.h"
#include "cluster/bulk.h"
#include "cluster/seed_resolver.h"
#include "config/settings.h"

namespace boost::asio {
class io_context;
}
namespace weir::engine {
class Engine;
}
namespace weir::limiter {
class Limiter;
}

namespace weir::cluster {

/// The largest number of datagrams that are read before it is the turn of timers and other sockets.
inline constexpr std::size_t kDatagramsPerTurn = 64;

struct ClusterOptions {
    /// Name, addresses, seeds and key file. Without them the member is alone and has no socket, but
    /// the engine ticks as well.
    std::optional<config::ClusterSettings> settings;
    /// This member owns limits for the others and serves no requests.
    bool anchor = false;
    /// The value of the variable POD_IP. It is advertised unless the settings name an address.
    std::string pod_ip;

    /// The usual time between two ticks. It is the engine that says when the next one is due.
    Duration tick_interval = std::chrono::milliseconds(10);
    /// The share of tick_interval that may be spent on reading datagrams between two ticks.
    double receive_share = 0.4;
    std::size_t receive_buffer_bytes = 4U << 20;
    std::size_t send_buffer_bytes = 1U << 20;
    /// The time between two look-ups of the seeds' names while peers are known, and while the
    /// member is alone. Each wait varies at random by 25 %.
    Duration lookup_interval = std::chrono::seconds(15);
    Duration lookup_interval_alone = std::chrono::seconds(1);
    /// Replaces getaddrinfo in tests.
    Lookup lookup;
    BulkLimits bulk;
};

/// The counts of this class; the engine has statistics of its own.
struct ClusterStatistics {
    std::uint64_t received_datagrams = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_datagrams = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t send_errors = 0;
    std::uint64_t send_would_block = 0;
    std::uint64_t receive_errors = 0;
    /// Datagrams that were dropped because they were longer than any datagram of the protocol.
    std::uint64_t oversized_datagrams = 0;
    /// How often reading paused until the next tick, because it had used up its share of time.
    std::uint64_t receive_pauses = 0;
    /// Datagrams that were discarded unread after this process found that it had been stopped.
    std::uint64_t discarded_datagrams = 0;
    std::uint64_t detected_stops = 0;
    std::uint64_t ticks = 0;
    std::uint64_t lookups = 0;
    std::uint64_t lookup_failures = 0;
    /// How many different addresses of seeds are known now.
    std::uint64_t seeds = 0;
    BulkStatistics bulk;
};

/// What is known of the seeds that the settings name.
struct SeedReport {
    std::size_t live_peers = 0;    ///< not only those at seeds
    std::size_t known = 0;         ///< different addresses, without this member's own one
    std::vector<Endpoint> silent;  ///< those of them at which no live peer is known
    std::map<std::string, std::string> never_found;  ///< names that were never found, and why
};

class Cluster {
  public:
    /// Reads the keys, binds the socket, works out the address to advertise and makes the engine.
    /// The seed determines every random choice of the engine and of this class.
    static Result<std::unique_ptr<Cluster>> open(boost::asio::io_context& control,
                                                 limiter::Limiter& limiter, ClusterOptions options,
                                                 std::uint64_t seed);

    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;
    ~Cluster();

    /// Starts ticking, reading and looking seeds up.
    void start();
    /// Tells the peers goodbye, hands over what this sidecar owns, and ticks no more. Call it when
    /// serving has ended: limits are only local from then on.
    void leave();
    /// Reads the key file again, for a rotation of keys. If the file is wrong, the keys in use
    /// stay. True when the keys have changed.
    [[nodiscard]] Result<bool> reload_keys();
    /// Ends timers, look-ups and reading. Nothing is sent after it.
    void stop();

    [[nodiscard]] engine::Engine& engine();
    [[nodiscard]] const ClusterStatistics& statistics() const;
    /// Warnings about things that should be corrected, one in each line: permissions of the key
    /// file, a small socket buffer.
    [[nodiscard]] const std::vector<std::string>& warnings() const;
    [[nodiscard]] SeedReport seed_report() const;
    /// The address that peers send to; all zero when the member is alone.
    [[nodiscard]] const Endpoint& advertised() const;
    /// The address to which the socket is bound. Its port is known even if 0 was asked for.
    [[nodiscard]] const Endpoint& bound() const;

  private:
    class Driver;
    explicit Cluster(std::unique_ptr<Driver> driver);

    std::unique_ptr<Driver> driver_;
};

}  // namespace weir::cluster
