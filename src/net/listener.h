#pragma once
// A listening socket in an event loop. Of a TCP port each loop has a socket of its own, with
// SO_REUSEPORT, and the kernel distributes the connections. Of a unix socket the loops share one
// descriptor. A listener accepts in batches; when the process has no descriptor left, it says so
// and pauses for kPause.
//
// Thread-safety: none; once started it belongs to its loop's thread. Ownership: owns its descriptor
// and borrows the loop.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/endpoint.h"
#include "base/result.h"
#include "net/event_loop.h"
#include "net/file_descriptor.h"
#include "net/socket_address.h"

namespace weir::net {

/// A bound, listening, non-blocking socket. The path of a unix socket is removed first if no
/// process listens on it any more; if one does, that is an error.
[[nodiscard]] Result<FileDescriptor> listen_on(const SocketAddress& address);

/// Whether a socket listens on this TCP port already. This has to be asked because with
/// SO_REUSEPORT the kernel would let any process of the same user share the port. Port 0 never is
/// in use.
[[nodiscard]] bool in_use(const SocketAddress& address);

class Listener final : private EventSink, private TimerEntry {
  public:
    static constexpr int kAcceptsPerTurn = 1024;
    static constexpr Duration kPause = std::chrono::milliseconds(100);
    /// The pause when MayAccept says no, which may change with every connection that ends.
    static constexpr Duration kShortPause = std::chrono::milliseconds(10);

    struct Counters {
        std::uint64_t accepted = 0;
        std::uint64_t errors = 0;  ///< connections that ended before they were accepted
        /// Pauses because of EMFILE, ENFILE, ENOBUFS or ENOMEM.
        std::uint64_t paused_descriptors = 0;
    };
    /// Is given each connection and the client's address, which is all zero on a unix socket.
    using Accepted = std::function<void(FileDescriptor, const Endpoint&)>;
    /// Is asked before each connection is accepted, if one waits. False pauses accepting.
    using MayAccept = std::function<bool()>;
    /// Is called when the process has no descriptor left for a connection that waits.
    using Exhausted = std::function<void()>;

    Listener(EventLoop& loop, FileDescriptor descriptor, MayAccept may_accept, Exhausted exhausted,
             Accepted accepted);
    ~Listener() override;

    [[nodiscard]] Result<void> start();
    /// Bounds the kernel's buffers of connections that are accepted later (socket_buffers.h).
    void bound_buffers(std::size_t bytes);
    /// Accepts all connections that wait in the kernel's backlog. To be called before stop().
    void accept_rest();
    /// Closes the socket. The kernel resets the connections in the backlog, unless others share the
    /// socket.
    void stop();
    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    [[nodiscard]] const Counters& counters() const { return counters_; }

  private:
    void on_events(std::uint32_t epoll_events) override;
    void expired() override;
    void accept_waiting();
    [[nodiscard]] bool somebody_waits() const;
    /// False when no further connection is to be accepted now.
    bool accept_one();

    EventLoop& loop_;
    FileDescriptor descriptor_;
    MayAccept may_accept_;
    Exhausted exhausted_;
    Accepted accepted_;
    Counters counters_;
    int family_ = 0;
    std::size_t buffer_bytes_ = 0;
};

}  // namespace weir::net
