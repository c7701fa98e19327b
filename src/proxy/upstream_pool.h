#pragma once
// The kept-alive connections of one worker to the upstream. Connections that are in use belong to
// their user; idle ones lie here, the last used on top, at most `keep` of them, each for at most
// the idle timeout.
// Thread-safety: none; one per worker. All connections must be back or gone before it is destroyed.

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
    explicit UpstreamPool(Counters& counters) : counters_(counters) {}
    UpstreamPool(const UpstreamPool&) = delete;
    UpstreamPool& operator=(const UpstreamPool&) = delete;

    /// An idle connection that was not seen to be closed, or nullptr. `surely`: asks the kernel too
    /// (for requests that may not be sent twice).
    [[nodiscard]] std::unique_ptr<UpstreamConnection> take(bool surely);
    /// For a new connection.
    [[nodiscard]] std::unique_ptr<UpstreamConnection> make();
    /// Keeps it if there is room and nothing speaks against it.
    void give_back(std::unique_ptr<UpstreamConnection> connection, std::size_t keep, Instant now);
    void discard(std::unique_ptr<UpstreamConnection> connection);
    /// Closes what idles for too long, was closed by the upstream or leads elsewhere.
    void sweep(Instant now, Duration idle_timeout);
    /// The upstream's address has changed.
    void retire_all();
    [[nodiscard]] std::size_t idle() const { return idle_.size(); }

  private:
    static bool usable(const UpstreamConnection& connection, bool surely);

    Counters& counters_;
    std::uint64_t version_ = 0;
    std::vector<std::unique_ptr<UpstreamConnection>> idle_;
};

}  // namespace weir::proxy
