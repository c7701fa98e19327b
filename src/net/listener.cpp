#include "net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "net/socket_buffers.h"

namespace weir::net {
namespace {

/// Removes the file of a unix socket if a connection to it is refused, so that no process listens
/// on it. A connection to a file of another kind is refused as well, and that file stays.
void remove_if_abandoned(const SocketAddress& address) {
    sockaddr_un local{};
    std::memcpy(&local, &address.storage, sizeof(local));
    if (local.sun_path[0] == '\0') {
        return;  // an abstract socket has no file
    }
    struct stat status {};
    if (::lstat(local.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return;
    }
    const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(probe.get(), address.get(), address.length) == 0) {
        return;
    }
    if (errno == ECONNREFUSED) {
        ::unlink(local.sun_path);
    }
}

void configure_listener(int descriptor, const SocketAddress& address) {
    if (address.is_unix()) {
        return;
    }
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    // Accepted connections inherit both options.
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

bool out_of_resources(int problem) {
    return problem == EMFILE || problem == ENFILE || problem == ENOBUFS || problem == ENOMEM;
}

}  // namespace

Result<FileDescriptor> listen_on(const SocketAddress& address) {
    FileDescriptor descriptor(
        ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!descriptor.is_open()) {
        return system_error("socket", errno);
    }
    configure_listener(descriptor.get(), address);
    if (address.is_unix()) {
        remove_if_abandoned(address);
    }
    if (::bind(descriptor.get(), address.get(), address.length) != 0) {
        return system_error("bind", errno);
    }
    if (::listen(descriptor.get(), SOMAXCONN) != 0) {
        return system_error("listen", errno);
    }
    return descriptor;
}

bool in_use(const SocketAddress& address) {
    if (address.is_unix()) {
        return false;  // listen_on() will report the error
    }
    const FileDescriptor probe(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    return ::bind(probe.get(), address.get(), address.length) != 0 && errno == EADDRINUSE;
}

Listener::Listener(EventLoop& loop, FileDescriptor descriptor, MayAccept may_accept,
                   Exhausted exhausted, Accepted accepted)
    : loop_(loop),
      descriptor_(std::move(descriptor)),
      may_accept_(std::move(may_accept)),
      exhausted_(std::move(exhausted)),
      accepted_(std::move(accepted)) {
    socklen_t size = sizeof(family_);
    ::getsockopt(descriptor_.get(), SOL_SOCKET, SO_DOMAIN, &family_, &size);
}

Listener::~Listener() { stop(); }

Result<void> Listener::start() { return loop_.add(descriptor_.get(), EPOLLIN, *this); }

void Listener::bound_buffers(std::size_t bytes) {
    buffer_bytes_ = bytes;
    if (is_open()) {
        bound_socket_buffers(descriptor_.get(), family_, bytes);
    }
}

void Listener::accept_rest() {
    while (is_open() && somebody_waits() && may_accept_() && accept_one()) {
    }
}

void Listener::stop() {
    if (!is_open()) {
        return;
    }
    loop_.timers().cancel(*this);
    loop_.remove(descriptor_.get(), *this);
    descriptor_.reset();
}

void Listener::on_events(std::uint32_t) {
    if (!armed()) {
        accept_waiting();
    }
}

void Listener::expired() {
    if (somebody_waits()) {
        accept_waiting();
    }
}

bool Listener::somebody_waits() const {
    pollfd item{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&item, 1, 0) != 0;
}

void Listener::accept_waiting() {
    for (int i = 0; i < kAcceptsPerTurn && is_open(); ++i) {
        if (i > 0 && !somebody_waits()) {
            return;
        }
        if (!may_accept_()) {
            loop_.timers().arm(*this, loop_.now() + kShortPause);
            return;
        }
        if (!accept_one()) {
            return;
        }
    }
    // More connections may wait, but epoll reports them only once. So accepting goes on in the next
    // turn, by way of a timer.
    if (is_open()) {
        loop_.timers().arm(*this, loop_.now());
    }
}

bool Listener::accept_one() {
    SocketAddress peer;
    peer.length = sizeof(peer.storage);
    FileDescriptor accepted(
        ::accept4(descriptor_.get(), peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (accepted.is_open()) {
        ++counters_.accepted;
        if (family_ == AF_UNIX) {  // does not have what the listening socket has
            bound_socket_buffers(accepted.get(), family_, buffer_bytes_);
        }
        accepted_(std::move(accepted), to_endpoint(peer));
        return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return false;
    }
    if (out_of_resources(errno)) {
        ++counters_.paused_descriptors;
        exhausted_();
        loop_.timers().arm(*this, loop_.now() + kPause);
        return false;
    }
    ++counters_.errors;
    return true;
}

}  // namespace weir::net
