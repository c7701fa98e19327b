#include "net/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "net/socket_buffers.h"

namespace weir::net {
namespace {

constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP;

std::size_t total(std::span<const iovec> pieces) {
    std::size_t sum = 0;
    for (const auto& piece : pieces) {
        sum += piece.iov_len;
    }
    return sum;
}

}  // namespace

bool Stream::adopt(EventLoop& loop, FileDescriptor descriptor) {
    WEIR_ASSERT(!is_open());
    loop_ = &loop;
    descriptor_ = std::move(descriptor);
    ready_ = kWrite;  // if bytes wait already, the first event says so
    if (loop.add(descriptor_.get(), kEvents, *this)) {
        return true;
    }
    descriptor_.reset();
    return false;
}

IoStatus Stream::connect(EventLoop& loop, const SocketAddress& address, std::size_t buffer_bytes) {
    FileDescriptor descriptor(
        ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!descriptor.is_open()) {
        return IoStatus::failed;
    }
    if (!address.is_unix()) {
        const int on = 1;
        ::setsockopt(descriptor.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (buffer_bytes > 0) {
        bound_socket_buffers(descriptor.get(), address.family(), buffer_bytes);
    }
    const bool done = ::connect(descriptor.get(), address.get(), address.length) == 0;
    // EAGAIN means a unix socket whose backlog is full. It counts as a failure, as in nginx and
    // HAProxy.
    if (!done && errno != EINPROGRESS) {
        return IoStatus::failed;
    }
    if (!adopt(loop, std::move(descriptor))) {
        return IoStatus::failed;
    }
    if (!done) {
        ready_ = kNothing;
    }
    return done ? IoStatus::ok : IoStatus::would_block;
}

bool Stream::finish_connect() {
    int problem = 0;
    socklen_t size = sizeof(problem);
    return ::getsockopt(descriptor_.get(), SOL_SOCKET, SO_ERROR, &problem, &size) == 0 &&
           problem == 0;
}

IoResult Stream::read(std::span<char> buffer) {
    if ((ready_ & kRead) == 0) {
        return {};
    }
    for (;;) {
        const auto count = ::recv(descriptor_.get(), buffer.data(), buffer.size(), 0);
        if (count > 0) {
            const auto bytes = static_cast<std::size_t>(count);
            // A read that did not fill the buffer has emptied the socket, and epoll will report
            // later bytes. An end behind these bytes is different: its event has come already.
            const bool emptied = bytes < buffer.size() && !other_side_ended();
            if (emptied) {
                ready_ &= static_cast<std::uint8_t>(~kRead);
            }
            return {IoStatus::ok, bytes};
        }
        if (count == 0) {
            return {IoStatus::end, 0};
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            return {IoStatus::failed, 0};
        }
        ready_ &= static_cast<std::uint8_t>(~kRead);
        return {};
    }
}

IoResult Stream::write(std::span<iovec> pieces) {
    if ((ready_ & kWrite) == 0) {
        return {};
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    for (;;) {
        const auto count = ::sendmsg(descriptor_.get(), &message, MSG_NOSIGNAL);
        if (count >= 0) {
            const auto bytes = static_cast<std::size_t>(count);
            if (bytes < total(pieces)) {
                ready_ &= static_cast<std::uint8_t>(~kWrite);
            }
            return {IoStatus::ok, bytes};
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            return {IoStatus::failed, 0};
        }
        ready_ &= static_cast<std::uint8_t>(~kWrite);
        return {};
    }
}

bool Stream::has_input() const {
    char byte = 0;
    const auto count = ::recv(descriptor_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void Stream::shut_down_sending() { ::shutdown(descriptor_.get(), SHUT_WR); }

void Stream::probe_often() {
    const auto set = [this](int option, int value) {
        ::setsockopt(descriptor_.get(), IPPROTO_TCP, option, &value, sizeof(value));
    };
    set(TCP_KEEPINTVL, 5);
    set(TCP_KEEPCNT, 6);
    const int on = 1;
    ::setsockopt(descriptor_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    set(TCP_KEEPIDLE, 2);
}

void Stream::reset() {
    if (!is_open()) {
        return;
    }
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close();
}

void Stream::close() {
    if (!is_open()) {
        return;
    }
    WEIR_ASSERT(wait_ == nullptr);
    loop_->remove(descriptor_.get(), *this);
    descriptor_.reset();
    ready_ = 0;
}

void Stream::on_events(std::uint32_t epoll_events) {
    if ((epoll_events & EPOLLIN) != 0) {
        ready_ |= kRead;
    }
    if ((epoll_events & EPOLLOUT) != 0) {
        ready_ |= kWrite;
    }
    if ((epoll_events & EPOLLRDHUP) != 0) {
        ready_ |= kRead | kEnd;
    }
    // HUP says that both halves are shut down, which may be an orderly end. ERR says that the
    // connection failed. A reset causes both.
    if ((epoll_events & EPOLLHUP) != 0) {
        ready_ |= kRead | kWrite | kEnd;
    }
    if ((epoll_events & EPOLLERR) != 0) {
        ready_ |= kRead | kWrite | kFailure;
    }
    if (wait_ != nullptr && (ready_ & interest_) != 0) {
        wait_->finish(WaitResult::ready);
    }
}

bool Wait::await_ready() const {
    for (const auto& item : items_) {
        if (item.stream != nullptr && (item.stream->ready_ & item.interest) != 0) {
            return true;
        }
    }
    return false;
}

void Wait::await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    for (const auto& item : items_) {
        if (item.stream == nullptr) {
            continue;
        }
        WEIR_ASSERT(item.stream->wait_ == nullptr);
        item.stream->wait_ = this;
        item.stream->interest_ = item.interest;
    }
    loop_.timers().arm(*this, deadline_);
}

void Wait::finish(WaitResult result) {
    for (const auto& item : items_) {
        if (item.stream != nullptr) {
            item.stream->wait_ = nullptr;
        }
    }
    loop_.timers().cancel(*this);
    result_ = result;
    handle_.resume();  // this may destroy the Wait
}

}  // namespace weir::net
