#pragma once
// Drives one engine over a real UDP socket, a tick timer, name look-ups, and TCP for definitions in
// bulk (bulk.h): the thin shell around the pure core. It decides nothing but when to read, when to
// tick and when to look names up.
//
// Thread-safety: none; everything runs on the thread of the io_context given (the control
// thread). Name look-ups block a helper thread of their own, never the control thread.
// Ownership: owns socket, timers and engine; io_context and limiter must outlive it.
// Invariants: at most kDatagramsPerTurn datagrams are read before other handlers run, and reading
// takes at most Options::receive_share of the time between two ticks, whatever arrives; a tick
// that is due always comes before reading, so that a process that was stopped notices before it
// believes what waited in its socket.

#include <cstddef>
#include <cstdint>
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

/// Read in one go before timers and other sockets get their turn.
inline constexpr std::size_t kDatagramsPerTurn = 64;

struct Options {
    /// Name, addresses, seeds and key file; nothing: alone, without a socket (the engine still
    /// ticks).
    std::optional<config::ClusterSettings> settings;
    /// The value of POD_IP, if the environment has one: advertised unless the settings say what.
    std::string pod_ip;

    Duration tick_interval = std::chrono::milliseconds(10);
    /// How much of the time between two ticks may go into reading datagrams.
    double receive_share = 0.4;
    std::size_t receive_buffer_bytes = 4U << 20;
    std::size_t send_buffer_bytes = 1U << 20;
    /// Between look-ups of the seeds' names while peers are known / while alone; each ±25 %.
    Duration lookup_interval = std::chrono::seconds(15);
    Duration lookup_interval_alone = std::chrono::seconds(1);
    /// Replaces getaddrinfo in tests.
    Lookup lookup;
    BulkLimits bulk;
};

/// What the shell itself counts; the engine has its own figures.
struct Statistics {
    std::uint64_t received_datagrams = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_datagrams = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t send_errors = 0;
    std::uint64_t send_would_block = 0;
    std::uint64_t receive_errors = 0;
    /// Longer than any datagram of ours; dropped.
    std::uint64_t oversized_datagrams = 0;
    /// Reading paused until the next tick since it had used up its share of time.
    std::uint64_t receive_pauses = 0;
    /// Thrown away unread after this process found that it had been stopped.
    std::uint64_t discarded_datagrams = 0;
    std::uint64_t detected_stops = 0;
    std::uint64_t ticks = 0;
    std::uint64_t lookups = 0;
    std::uint64_t lookup_failures = 0;
    /// Distinct seed addresses known now.
    std::uint64_t seeds = 0;
    BulkStatistics bulk;
};

class Cluster {
  public:
    /// Reads the keys, binds the socket, works out the address to advertise and makes the engine.
    /// The seed feeds every random choice of the engine and of this class.
    static Result<std::unique_ptr<Cluster>> open(boost::asio::io_context& control,
                                                 limiter::Limiter& limiter, Options options,
                                                 std::uint64_t seed);

    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;
    ~Cluster();

    /// Starts ticking, reading and looking seeds up.
    void start();
    /// Tells the peers goodbye and hands over what this sidecar owns; ticks no more. Call it when
    /// serving has ended: limits are only local from here on.
    void leave();
    /// Reads the key file again (a rotation); what was in force stays if it is bad. True when the
    /// keys are other ones than before.
    [[nodiscard]] Result<bool> reload_keys();
    /// Ends timers, look-ups and reading; nothing is sent after it.
    void stop();

    [[nodiscard]] engine::Engine& engine();
    [[nodiscard]] const Statistics& statistics() const;
    /// Worth a line in the log at start: permissions of the key file, a small socket buffer.
    [[nodiscard]] const std::vector<std::string>& warnings() const;
    /// Seeds where no live peer is known: they do not answer, or cannot be read.
    [[nodiscard]] std::vector<Endpoint> silent_seeds() const;
    /// What peers send to; all zero when alone.
    [[nodiscard]] const Endpoint& advertised() const;
    /// Where the socket is bound (the port is known even if 0 was asked for).
    [[nodiscard]] const Endpoint& bound() const;

  private:
    class Driver;
    explicit Cluster(std::unique_ptr<Driver> driver);

    std::unique_ptr<Driver> driver_;
};

}  // namespace weir::cluster
