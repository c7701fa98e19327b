#pragma once
// The connections of one worker to the upstream that are kept for later requests. A connection
// belongs to the caller that takes it; idle ones belong to the pool. It keeps at most `keep` idle
// connections, each for at most the idle timeout, and gives out the one that was used last. The
// pools of all workers share a count of all connections, which has a bound.
// Thread-safety: none; each worker has a pool. All connections must have been given back or
// discarded before the pool is destroyed.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/instant.h"
#include "net/stream.h"
#include "proxy/counters.h"

namespace weir::proxy {

struct UpstreamConnection {
    net::Stream stream;
    /// The version of the upstream's addresses for which the connection was made. After a reload
    /// that changes the addresses, connections of older versions are not used any more.
    std::uint64_t upstream_version = 0;
    Instant idle_since{};
    bool reused = false;
};

class UpstreamPool {
  public:
    /// `open` counts the connections of all workers, in use or idle.
    UpstreamPool(ProxyCounters& counters, std::atomic<std::size_t>& open)
        : counters_(counters), open_(open) {}
    UpstreamPool(const UpstreamPool&) = delete;
    UpstreamPool& operator=(const UpstreamPool&) = delete;

    /// An idle connection that is not known to be closed, or nullptr. With `surely` the kernel is
    /// asked too, for requests that must not be sent twice.
    [[nodiscard]] std::unique_ptr<UpstreamConnection> take(bool surely);
    /// A new object for a connection to that version of the upstream; nullptr if `most` connections
    /// exist.
    [[nodiscard]] std::unique_ptr<UpstreamConnection> make(std::uint64_t version, std::size_t most);
    /// Keeps the connection if fewer than `keep` are idle and it can be used again; else closes it.
    void give_back(std::unique_ptr<UpstreamConnection> connection, std::size_t keep, Instant now);
    void discard(std::unique_ptr<UpstreamConnection> connection);
    /// Closes connections that have been idle for too long, were closed by the upstream or are of
    /// an older version.
    void sweep(Instant now, Duration idle_timeout);
    /// The upstream's addresses have changed: closes the idle connections of other versions, and
    /// keeps none of them later.
    void retire_all(std::uint64_t version);
    [[nodiscard]] std::size_t open_everywhere() const {
        return open_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t idle() const { return idle_.size(); }

  private:
    static bool usable(const UpstreamConnection& connection, bool surely);

    ProxyCounters& counters_;
    std::atomic<std::size_t>& open_;
    std::uint64_t version_ = 0;
    std::vector<std::unique_ptr<UpstreamConnection>> idle_;
};

}  // namespace weir::proxy
