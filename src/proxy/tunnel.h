#pragma once
// What an exchange becomes when client and upstream switch to another protocol (a 101, such as for
// WebSocket): bytes pass both ways, unread, until both sides have shut down their sending halves. A
// half that is shut down is shut down on the other side, too; the other direction goes on. The
// buffers are those of the exchange: one for each direction, and only while bytes are in it.
// Not thread-safe; part of one Exchange. Borrows everything that it is given.

#include <cstdint>

#include "net/task.h"
#include "proxy/download.h"
#include "proxy/upload.h"

namespace weir::proxy {

enum class TunnelEnd : std::uint8_t {
    both_ended,       ///< the only orderly end; after all others both connections are to be reset
    client_failed,    ///< the client's connection failed
    upstream_failed,  ///< the upstream's connection failed
    idle,             ///< no byte came either way, or one side took none, for timeouts.tunnel_idle
    aborted,          ///< the worker is aborting
};

class Tunnel {
  public:
    Tunnel(ClientSide& client, const ActiveSnapshot& snapshot, Upload& upload, Download& download,
           Settlement& settlement, net::Stream& upstream)
        : client_(client),
          snapshot_(snapshot),
          upload_(upload),
          download_(download),
          settlement_(settlement),
          upstream_(upstream) {}

    /// Relays until the tunnel is over, and counts how it ended.
    [[nodiscard]] net::Task<TunnelEnd> run();

  private:
    [[nodiscard]] net::Task<TunnelEnd> relay();
    /// Shuts down the sending half towards the side whose other side has ended.
    void pass_ends_on();
    [[nodiscard]] bool over() const;
    [[nodiscard]] TunnelEnd end() const;
    [[nodiscard]] bool client_gone() const;
    [[nodiscard]] bool upstream_gone() const;
    [[nodiscard]] net::Wait::Item client_item() const;
    [[nodiscard]] net::Wait::Item upstream_item() const;
    [[nodiscard]] Instant deadline() const;

    ClientSide& client_;
    const ActiveSnapshot& snapshot_;
    Upload& upload_;
    Download& download_;
    Settlement& settlement_;
    net::Stream& upstream_;
    Instant upload_progress_{};
    Instant download_progress_{};
    bool client_end_passed_ = false;
    bool upstream_end_passed_ = false;
};

}  // namespace weir::proxy
