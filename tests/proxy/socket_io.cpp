#include "proxy/socket_io.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "net/resolve.h"
#include "net/socket_address.h"

namespace weir::proxy::testing {
namespace {

using Clock = std::chrono::steady_clock;

bool wait_for(int descriptor, short events, Clock::time_point deadline) {
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd item{.fd = descriptor, .events = events, .revents = 0};
        const int got = ::poll(&item, 1, static_cast<int>(std::max<long>(0, left.count())));
        if (got > 0) {
            return true;
        }
        if (got == 0) {
            return false;
        }
        if (errno != EINTR) {
            return false;
        }
    }
}

}  // namespace

SocketIo::SocketIo(net::FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

std::size_t SocketIo::send_some(std::string_view bytes, std::chrono::milliseconds patience) {
    const auto deadline = Clock::now() + patience;
    std::size_t sent = 0;
    while (sent < bytes.size() && is_open()) {
        if (!wait_for(descriptor_.get(), POLLOUT, deadline)) {
            break;
        }
        const auto count = ::send(descriptor_.get(), bytes.data() + sent, bytes.size() - sent,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            sent += static_cast<std::size_t>(count);
        } else if (errno != EAGAIN && errno != EINTR) {
            break;
        }
    }
    return sent;
}

bool SocketIo::send(std::string_view bytes) { return send_some(bytes, kPatience) == bytes.size(); }

bool SocketIo::receive_more(std::chrono::milliseconds patience) {
    if (!is_open() || closing_ != Closing::open) {
        return false;
    }
    if (!wait_for(descriptor_.get(), POLLIN, Clock::now() + patience)) {
        return false;
    }
    std::array<char, 65536> chunk;
    const auto count = ::recv(descriptor_.get(), chunk.data(), chunk.size(), 0);
    if (count > 0) {
        buffered_.append(chunk.data(), static_cast<std::size_t>(count));
        return true;
    }
    closing_ = count == 0 ? Closing::orderly : Closing::reset;
    return false;
}

std::optional<std::string> SocketIo::take_until(std::string_view text) {
    const auto deadline = Clock::now() + kPatience;
    for (;;) {
        const auto place = buffered_.find(text);
        if (place != std::string::npos) {
            return take(place + text.size());
        }
        if (Clock::now() > deadline || !receive_more()) {
            return {};
        }
    }
}

std::optional<std::string> SocketIo::take(std::size_t bytes) {
    while (buffered_.size() < bytes) {
        if (!receive_more()) {
            return {};
        }
    }
    auto taken = buffered_.substr(0, bytes);
    buffered_.erase(0, bytes);
    return taken;
}

std::string SocketIo::take_all(std::chrono::milliseconds patience) {
    while (receive_more(patience)) {
    }
    return std::exchange(buffered_, {});
}

bool SocketIo::closed_within(std::chrono::milliseconds patience) {
    const auto deadline = Clock::now() + patience;
    while (closing_ == Closing::open && Clock::now() < deadline) {
        receive_more(
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()) +
            std::chrono::milliseconds(1));
    }
    return closing_ != Closing::open;
}

void SocketIo::shut_down_sending() { ::shutdown(descriptor_.get(), SHUT_WR); }

void SocketIo::close() { descriptor_.reset(); }

void SocketIo::reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close();
}

void SocketIo::set_receive_buffer(int bytes) {
    ::setsockopt(descriptor_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

net::FileDescriptor connect_to(const net::Address& address) {
    const auto resolved = net::resolve(address);
    if (!resolved) {
        throw std::runtime_error(resolved.error().message);
    }
    const auto& target = resolved->front();
    net::FileDescriptor descriptor(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(descriptor.get(), target.get(), target.length) != 0) {
        throw std::runtime_error("cannot connect to " + to_string(address));
    }
    return descriptor;
}

}  // namespace weir::proxy::testing
