#include "proxy/fake_upstream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "net/listener.h"
#include "net/resolve.h"
#include "net/socket_address.h"

namespace weir::proxy::testing {

namespace {

/// Nobody else gets the port of this socket from the kernel, and connecting to it is refused.
net::FileDescriptor bound_to(const net::SocketAddress& address) {
    net::FileDescriptor descriptor(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (::bind(descriptor.get(), address.get(), address.length) != 0) {
        throw std::runtime_error("cannot hold the port of an upstream");
    }
    return descriptor;
}

}  // namespace

std::optional<Message> FakeUpstream::Session::head() {
    auto message = read_head(io);
    if (message) {
        ++upstream_.requests_;
        const std::lock_guard lock(upstream_.mutex_);
        upstream_.heads_.push_back(*message);
    }
    return message;
}

std::optional<Message> FakeUpstream::Session::request() {
    auto message = head();
    if (message) {
        read_body(io, *message, false);
    }
    return message;
}

bool FakeUpstream::Session::answer(int status, std::string_view body) {
    return send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
}

void FakeUpstream::serve(Session& session) {
    while (const auto request = session.request()) {
        if (!request->complete) {
            return;
        }
        if (request->method() == "HEAD") {
            if (!session.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")) {
                return;
            }
        } else if (!session.answer(200, "ok")) {
            return;
        }
    }
}

FakeUpstream::FakeUpstream(const std::string& path)
    : address_{.host = path.empty() ? "127.0.0.1" : "", .port = 0, .path = path} {
    listen_again();
}

FakeUpstream::~FakeUpstream() {
    stop_accepting();
    {
        const std::lock_guard lock(mutex_);
        for (const int descriptor : open_) {
            ::shutdown(descriptor, SHUT_RDWR);
        }
    }
    for (auto& session : sessions_) {
        session.join();
    }
}

void FakeUpstream::listen(std::chrono::milliseconds silence) {
    auto listener = net::listen_on(net::resolve(address_)->front());
    if (!listener) {
        throw std::runtime_error(listener.error().message);
    }
    listener_ = std::move(*listener);
    if (!address_.is_unix()) {
        address_.port = net::to_endpoint(*net::local_address(listener_.get())).port;
    }
    held_.reset();
    if (silence.count() > 0) {
        ::listen(listener_.get(), 1);
    }
    stopping_ = false;
    acceptor_ = std::thread([this, silence] { accept_loop(silence); });
}

void FakeUpstream::stop_listening() {
    if (!address_.is_unix()) {
        held_ = bound_to(net::resolve(address_)->front());
    }
    stop_accepting();
}

void FakeUpstream::stop_accepting() {
    stopping_ = true;
    if (acceptor_.joinable()) {
        acceptor_.join();
    }
    listener_.reset();
}

void FakeUpstream::listen_again() { listen(std::chrono::milliseconds(0)); }

void FakeUpstream::listen_again_slowly(std::chrono::milliseconds silence) { listen(silence); }

void FakeUpstream::set_script(Script script) {
    const std::lock_guard lock(mutex_);
    script_ = std::move(script);
}

std::vector<Message> FakeUpstream::heads() const {
    const std::lock_guard lock(mutex_);
    return heads_;
}

void FakeUpstream::accept_loop(std::chrono::milliseconds silence) {
    std::this_thread::sleep_for(silence);
    while (!stopping_) {
        pollfd item{.fd = listener_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&item, 1, 10) <= 0) {
            continue;
        }
        net::FileDescriptor accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!accepted.is_open()) {
            continue;
        }
        ++connections_;
        const std::lock_guard lock(mutex_);
        open_.push_back(accepted.get());
        sessions_.emplace_back([this, descriptor = accepted.release()] {
            run_session(net::FileDescriptor(descriptor));
        });
    }
}

void FakeUpstream::run_session(net::FileDescriptor descriptor) {
    const int number = descriptor.get();
    Script script;
    {
        const std::lock_guard lock(mutex_);
        script = script_;
    }
    SocketIo io(std::move(descriptor));
    Session session(*this, io);
    script(session);
    {
        // One only: if the script has closed it, the number may be somebody else's by now.
        const std::lock_guard lock(mutex_);
        open_.erase(std::ranges::find(open_, number));
    }
    io.close();
    ++ended_;
}

}  // namespace weir::proxy::testing
