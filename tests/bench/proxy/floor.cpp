// The least that a proxy of HTTP/1.1 can do on this machine, as a measure for weir: one thread,
// epoll without a library around it, Beast's parser reading each head once, and the same bytes sent
// on. It routes nothing, checks nothing, has no timeouts, and adds no field. It serves well-formed
// peers on kept connections, whose bodies have a Content-Length; it ends at anything else.
//
//     proxy_floor LISTEN UPSTREAM        both as "127.0.0.1:8080"; prints one line with its address

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/process.h"
#include "tools/sockets.h"

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

[[noreturn]] void give_up(const char* why) {
    std::fprintf(stderr, "proxy_floor: %s\n", why);
    std::exit(1);
}

/// Reads a head in place. It keeps nothing of the fields, because nobody asks for them here.
template <bool kRequest>
class HeadParser final : public http::basic_parser<kRequest> {
  public:
    HeadParser() {
        this->eager(false);
        this->skip(true);
    }

  private:
    void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_field_impl(http::field, string_view, string_view, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code&) override { return 0; }
    void on_finish_impl(error_code&) override {}
};

struct Head {
    std::size_t size = 0;  // 0: more bytes are needed
    std::uint64_t body = 0;
};

template <bool kRequest>
Head read_head(std::string_view bytes) {
    HeadParser<kRequest> parser;
    error_code failure;
    const std::size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), failure);
    if (failure == http::error::need_more) {
        return {};
    }
    if (failure || parser.chunked()) {
        give_up("a head that it does not serve");
    }
    return {taken, parser.content_length().value_or(0)};
}

/// One connection of either side. `peer` is the other end of the exchange under way.
struct Link {
    Link(int socket, bool of_client) : descriptor(socket), client(of_client) {}
    ~Link() { ::close(descriptor); }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    int descriptor;
    bool client;
    bool readable = false;
    bool ended = false;
    Link* peer = nullptr;
    std::uint64_t body_left = 0;  // bytes of the message that are still to come
    bool in_message = false;
    std::size_t filled = 0;
    std::string unsent;  // bytes that the socket did not take
    std::array<char, 32 * 1024> buffer;
};

class Floor {
  public:
    Floor(const std::string& listen, std::string upstream)
        : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
          listener_(weir::tools::listen_on(listen)),
          upstream_(std::move(upstream)) {
        watch(listener_, EPOLLIN, nullptr);
        std::printf("%s\n", weir::tools::bound_address(listener_, listen).c_str());
        std::fflush(stdout);
    }

    void turn() {
        std::array<epoll_event, 128> events{};
        const int count =
            ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 1000);
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            if (event.data.ptr == nullptr) {
                accept_all();
            } else {
                serve(*static_cast<Link*>(event.data.ptr), event.events);
            }
        }
        ended_.clear();
    }

  private:
    void watch(int descriptor, std::uint32_t events, Link* link) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = link;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
            give_up("epoll_ctl");
        }
    }

    Link* add(int descriptor, bool client) {
        auto* link = new Link(descriptor, client);
        watch(descriptor, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, link);
        return link;
    }

    void accept_all() {
        for (int descriptor = weir::tools::accept_from(listener_); descriptor >= 0;
             descriptor = weir::tools::accept_from(listener_)) {
            (void)add(descriptor, true);
        }
    }

    Link* take_upstream() {
        if (!idle_.empty()) {
            Link* link = idle_.back();
            idle_.pop_back();
            return link;
        }
        const int descriptor = weir::tools::connect_to(upstream_);
        return descriptor < 0 ? nullptr : add(descriptor, false);
    }

    void serve(Link& link, std::uint32_t events) {
        if (link.ended) {
            return;
        }
        if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
            return end(link);
        }
        if ((events & EPOLLOUT) != 0 && !link.unsent.empty()) {
            flush(link);
            if (link.peer != nullptr && link.unsent.empty()) {
                read(*link.peer);
            }
        }
        if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) {
            link.readable = true;
            read(link);
        }
    }

    /// Reads what has come and passes it on. It stops while the other side does not take more.
    void read(Link& link) {
        while (link.readable && !link.ended &&
               (link.peer == nullptr || link.peer->unsent.empty())) {
            const std::size_t room = link.buffer.size() - link.filled;
            const ssize_t count =
                ::recv(link.descriptor, link.buffer.data() + link.filled, room, 0);
            if (count < 0 && errno == EAGAIN) {
                link.readable = false;
                return;
            }
            if (count <= 0) {
                return end(link);
            }
            link.readable = static_cast<std::size_t>(count) == room;
            link.filled += static_cast<std::size_t>(count);
            pass_on(link);
        }
    }

    void pass_on(Link& link) {
        std::size_t size = 0;
        if (!link.in_message) {
            const std::string_view bytes(link.buffer.data(), link.filled);
            const Head head = link.client ? read_head<true>(bytes) : read_head<false>(bytes);
            if (head.size == 0) {
                return;
            }
            if (link.client) {
                link.peer = take_upstream();
            }
            link.in_message = true;
            link.body_left = head.body;
            size = head.size;
        }
        if (link.peer == nullptr) {
            return end(link);  // no upstream, or a message that nobody waits for
        }
        link.peer->peer = &link;
        const std::uint64_t body = std::min<std::uint64_t>(link.filled - size, link.body_left);
        size += static_cast<std::size_t>(body);
        link.body_left -= body;
        if (size != link.filled) {
            give_up("bytes behind a message");
        }
        link.filled = 0;
        Link& other = *link.peer;
        if (link.body_left == 0) {
            end_message(link, other);
        }
        send(other, {link.buffer.data(), size});
    }

    void end_message(Link& link, Link& other) {
        link.in_message = false;
        if (!link.client) {  // the response is whole, and so is the exchange
            other.peer = nullptr;
            link.peer = nullptr;
            idle_.push_back(&link);
        }
    }

    void send(Link& link, std::string_view bytes) {
        const ssize_t count =
            link.unsent.empty() ? ::send(link.descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                                : 0;
        // A connection that is still being made takes nothing yet.
        const bool later = count < 0 && (errno == EAGAIN || errno == ENOTCONN);
        if (count < 0 && !later) {
            return end(link);
        }
        link.unsent += bytes.substr(later ? 0 : static_cast<std::size_t>(count));
    }

    void flush(Link& link) {
        std::string rest;
        rest.swap(link.unsent);
        send(link, rest);
    }

    /// Closes a connection and the one at the other end of its exchange.
    void end(Link& link) {
        if (link.ended) {
            return;
        }
        link.ended = true;
        std::erase(idle_, &link);
        ended_.emplace_back(&link);  // events of this turn may still name it
        if (link.peer != nullptr) {
            link.peer->peer = nullptr;
            end(*link.peer);
        }
    }

    int epoll_;
    int listener_;
    std::string upstream_;
    std::vector<Link*> idle_;
    std::vector<std::unique_ptr<Link>> ended_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        give_up("usage: proxy_floor LISTEN UPSTREAM");
    }
    weir::tools::follow_parent_and_signals();
    Floor floor(argv[1], argv[2]);
    while (!weir::tools::stop_requested()) {
        floor.turn();
    }
    return 0;
}
