#pragma once
// The kept-alive connections of one worker to the upstream. Connections that are in use belong to
// their user; idle ones lie here, the last used on top, at most `keep` of them, each for at most
// the idle timeout. The workers' pools share a count of all connections, which has a bound.
// Thread-safety: none; one per worker. All connections must be back or gone before it is destroyed.

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
    /// Which upstream it leads to: a reload that changes the address leaves older ones unused.
    std::uint64_t upstream_version = 0;
    Instant idle_since{};
    bool reused = false;
};

class UpstreamPool {
  public:
    /// `open`: connections of all workers, in use or idle.
    UpstreamPool(Counters& counters, std::atomic<std::size_t>& open)
        : counters_(counters), open_(open) {}
    UpstreamPool(const UpstreamPool&) = delete;
    UpstreamPool& operator=(const UpstreamPool&) = delete;

    /// An idle connection that was not seen to be closed, or nullptr. `surely`: asks the kernel too
    /// (for requests that may not be sent twice).
    [[nodiscard]] std::unique_ptr<UpstreamConnection> take(bool surely);
    /// For a new connection to that version of the upstream; nullptr if there are `most` of them.
    [[nodiscard]] std::unique_ptr<UpstreamConnection> make(std::uint64_t version, std::size_t most);
    /// Keeps it if there is room and nothing speaks against it.
    void give_back(std::unique_ptr<UpstreamConnection> connection, std::size_t keep, Instant now);
    void discard(std::unique_ptr<UpstreamConnection> connection);
    /// Closes what idles for too long, was closed by the upstream or leads elsewhere.
    void sweep(Instant now, Duration idle_timeout);
    /// The upstream's address has changed: only connections to this version of it are kept.
    void retire_all(std::uint64_t version);
    [[nodiscard]] std::size_t open_everywhere() const {
        return open_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t idle() const { return idle_.size(); }

  private:
    static bool usable(const UpstreamConnection& connection, bool surely);

    Counters& counters_;
    std::atomic<std::size_t>& open_;
    std::uint64_t version_ = 0;
    std::vector<std::unique_ptr<UpstreamConnection>> idle_;
};

}  // namespace weir::proxy
