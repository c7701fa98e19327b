#pragma once
// One admitted request: a connection to the upstream, the request's way there and the response's
// way back, at the same time. A single coroutine takes turns at both, never blocking, and waits for
// whichever socket can go on; so an early answer, a slow reader or an end on either side is seen at
// once. Not thread-safe; lives in its ClientConnection's coroutine.

#include <memory>

#include "net/task.h"
#include "proxy/download.h"
#include "proxy/statistics.h"
#include "proxy/upload.h"

namespace weir::proxy {

/// How it went, for the client's connection.
struct ExchangeResult {
    /// Ending::admitted: answered completely; the caller knows if a quota was involved.
    Ending ending = Ending::admitted;
    /// Of the upstream's response; 0 when nothing was passed on and an answer of ours is due.
    unsigned status = 0;
    /// What that answer says; 0: none, the client is gone.
    unsigned error_status = 0;
    /// Bytes of this request may have reached the upstream.
    bool reached_upstream = false;
    /// The client has sent all of the request and may send another.
    bool client_stays = false;
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
        aborted,
        client_slow,
        client_stalled,
        upstream_slow
    };

    net::Task<Ending> connect();
    net::Task<Ending> connect_to(const net::SocketAddress& address, Instant deadline);
    net::Task<void> transfer();
    /// The client has ended within its body: an answer that has come by now is passed on.
    net::Task<void> hear_upstream_out();
    /// Waits until one of the sockets can go on; false when that took too long or was cut short.
    [[nodiscard]] net::Wait::Item client_item();
    [[nodiscard]] net::Wait::Item upstream_item();
    [[nodiscard]] Instant deadline() const;
    void timed_out();
    [[nodiscard]] bool finished() const;
    [[nodiscard]] bool may_retry() const;
    [[nodiscard]] bool idempotent() const;
    [[nodiscard]] ExchangeResult result() const;
    void part_with_upstream();

    ClientSide& client_;
    SnapshotReference snapshot_;
    Upload& upload_;
    Download download_;
    std::unique_ptr<UpstreamConnection> upstream_;
    Instant last_progress_{};
    Instant last_from_client_{};
    Instant sent_at_{};
    bool retried_ = false;
    bool probing_ = false;
    bool reached_upstream_ = false;
    Interrupted interrupted_ = Interrupted::no;
};

}  // namespace weir::proxy
