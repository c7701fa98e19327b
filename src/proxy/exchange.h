#pragma once
// Forwards one admitted request: finds a connection to the upstream and relays the request and, at
// the same time, the response. One coroutine takes steps in both directions, never blocks, and
// waits until either socket can go on. So it notices an early response, a slow reader or an end on
// either side at once.
// Not thread-safe; lives in the coroutine of its ClientConnection and borrows everything but its
// connection to the upstream.

#include <memory>

#include "net/task.h"
#include "proxy/download.h"
#include "proxy/statistics.h"
#include "proxy/tunnel.h"
#include "proxy/upload.h"

namespace weir::proxy {

/// How the exchange ended.
struct ExchangeResult {
    /// Ending::admitted when the response is complete, also when no quota was involved.
    Ending ending = Ending::admitted;
    /// The status of the upstream's response; 0 when none was passed on.
    unsigned status = 0;
    /// The status with which weir has to answer itself; 0 when it must not.
    unsigned error_status = 0;
    /// Whether bytes of this request may have reached the upstream.
    bool reached_upstream = false;
    /// Whether the client has sent the whole request and may send another.
    bool client_stays = false;
    /// Whether the connection had switched to another protocol and did not end on both sides.
    bool broken_off = false;
};

class Exchange {
  public:
    Exchange(ClientSide& client, const SnapshotReference& snapshot, Upload& upload,
             Settlement& settlement, std::string_view extra_fields);

    [[nodiscard]] net::Task<ExchangeResult> run();
    [[nodiscard]] const Download& download() const { return download_; }

  private:
    enum class Interrupted : std::uint8_t {
        no,
        aborted,      // the worker is aborting, or the client has left and nobody wants the answer
        client_slow,  // the client sent its body more slowly than the settings allow
        client_stalled,  // the client took nothing of the response for too long
        upstream_slow    // the upstream sent nothing for too long
    };

    /// Takes an idle connection to the upstream, unless the request was sent on one before.
    bool take_idle();
    /// Tries each address of the upstream once, none of them beyond `bound`. Refused if one of them
    /// refuses and none accepts.
    net::Task<Ending> connect(Instant bound);
    /// Tries again to connect to an upstream that refused, until there is a connection, the client
    /// leaves, or the time is over. Gives the ending of the last try.
    net::Task<Ending> wait_for_restart();
    /// Waits for this long; false if the client has left.
    net::Task<bool> pause(Duration time);
    net::Task<Ending> connect_to(const net::SocketAddress& address, std::uint64_t version,
                                 Instant deadline);
    net::Task<void> transfer();
    /// The client has closed its sending half within the body. A response that has begun by now is
    /// still passed on.
    net::Task<void> hear_upstream_out();
    /// The client has shut down its sending half: asks whether it is gone, or takes it for gone.
    void client_ended();
    /// What to wait for on each of the two sockets, and until when.
    [[nodiscard]] net::Wait::Item client_item();
    [[nodiscard]] net::Wait::Item upstream_item();
    [[nodiscard]] Instant deadline() const;
    void timed_out();
    [[nodiscard]] bool finished() const;
    [[nodiscard]] bool may_retry() const;
    [[nodiscard]] bool idempotent() const;
    [[nodiscard]] ExchangeResult result() const;
    /// Gives the upstream's connection back to the pool, or closes it.
    void part_with_upstream();

    ClientSide& client_;
    SnapshotReference snapshot_;
    Upload& upload_;
    Settlement& settlement_;
    Download download_;
    std::unique_ptr<UpstreamConnection> upstream_;
    Instant last_progress_{};
    Instant last_from_client_{};
    Instant sent_at_{};
    bool retried_ = false;
    bool probing_ = false;
    bool reached_upstream_ = false;
    Interrupted interrupted_ = Interrupted::no;
    TunnelEnd tunnel_ended_ = TunnelEnd::both_ended;
};

}  // namespace weir::proxy
