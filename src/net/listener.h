#pragma once
// A listening socket in an event loop: TCP, one per loop with SO_REUSEPORT so that the kernel
// spreads connections, or a unix socket whose descriptor the loops share. Accepts in batches; when
// descriptors run out it pauses for a while instead of spinning.
//
// Thread-safety: none; belongs to its loop's thread once started. Ownership: owns its descriptor.

#include <cstdint>
#include <functional>

#include "base/endpoint.h"
#include "base/result.h"
#include "net/event_loop.h"
#include "net/file_descriptor.h"
#include "net/socket_address.h"

namespace weir::net {

/// A bound, listening, non-blocking socket. A unix socket's path that nobody listens on any more
/// is removed first; one that somebody does listen on is an error.
[[nodiscard]] Result<FileDescriptor> listen_on(const SocketAddress& address);

/// SO_REUSEPORT would share a TCP port with any process of the same user: true if one listens there
/// already. Port 0 never is in use.
[[nodiscard]] bool in_use(const SocketAddress& address);

class Listener final : private EventSink, private TimerEntry {
  public:
    static constexpr int kAcceptsPerTurn = 1024;
    static constexpr Duration kPause = std::chrono::milliseconds(100);

    struct Counters {
        std::uint64_t accepted = 0;
        std::uint64_t errors = 0;              ///< connections that ended before we took them
        std::uint64_t paused_descriptors = 0;  ///< EMFILE, ENFILE, ENOBUFS, ENOMEM
    };
    /// Gets each connection, and the client's address (all zero on a unix socket).
    using Accepted = std::function<void(FileDescriptor, const Endpoint&)>;
    /// Asked before each accept, when somebody waits: false pauses accepting.
    using MayAccept = std::function<bool()>;

    Listener(EventLoop& loop, FileDescriptor descriptor, MayAccept may_accept, Accepted accepted);
    ~Listener() override;

    [[nodiscard]] Result<void> start();
    /// Accepts what waits in the backlog, before stop().
    void accept_rest();
    /// Closes the socket; waiting connections are reset by the kernel unless others share it.
    void stop();
    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    [[nodiscard]] const Counters& counters() const { return counters_; }

  private:
    void on_events(std::uint32_t epoll_events) override;
    void expired() override;
    void accept_waiting();
    [[nodiscard]] bool somebody_waits() const;
    /// False when accepting should end for now.
    bool accept_one();

    EventLoop& loop_;
    FileDescriptor descriptor_;
    MayAccept may_accept_;
    Accepted accepted_;
    Counters counters_;
};

}  // namespace weir::net
