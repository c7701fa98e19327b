#include "net/udp_socket.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <string>

using weir::Endpoint;
using weir::net::SendResult;
using weir::net::UdpSocket;

namespace {

Endpoint loopback(std::uint16_t port) { return Endpoint::v4(0x7f000001, port); }

UdpSocket open(const Endpoint& local, const UdpSocket::Options& options) {
    auto socket = UdpSocket::open(local, options);
    REQUIRE(socket.has_value());
    return std::move(*socket);
}

bool wait_readable(const UdpSocket& socket) {
    pollfd descriptor{.fd = socket.native_handle(), .events = POLLIN, .revents = 0};
    return ::poll(&descriptor, 1, 30'000) == 1;
}

bool wait_for_error(const UdpSocket& socket) {
    pollfd descriptor{.fd = socket.native_handle(), .events = 0, .revents = 0};
    return ::poll(&descriptor, 1, 30'000) == 1;
}

}  // namespace

TEST_CASE("datagrams arrive in batches with their sender") {
    auto receiver = open(loopback(0), {.batch = 2});
    auto sender = open(loopback(0), {});
    for (const char* text : {"one", "two", "three"}) {
        REQUIRE(sender.send(receiver.local(), weir::as_bytes(text)) == SendResult::sent);
    }
    REQUIRE(wait_readable(receiver));
    const auto first = receiver.receive();
    REQUIRE(first.size() == 2);
    CHECK(weir::as_text(first[0].bytes) == "one");
    CHECK(weir::as_text(first[1].bytes) == "two");
    CHECK(first[0].from == sender.local());
    CHECK(!first[0].truncated);
    const auto second = receiver.receive();
    REQUIRE(second.size() == 1);
    CHECK(weir::as_text(second[0].bytes) == "three");
    CHECK(receiver.receive().empty());
}

TEST_CASE("a datagram longer than the buffer is marked as truncated") {
    auto receiver = open(loopback(0), {.max_datagram = 4});
    auto sender = open(loopback(0), {});
    REQUIRE(sender.send(receiver.local(), weir::as_bytes("12345")) == SendResult::sent);
    REQUIRE(wait_readable(receiver));
    const auto got = receiver.receive();
    REQUIRE(got.size() == 1);
    CHECK(got[0].truncated);
    CHECK(weir::as_text(got[0].bytes) == "1234");
}

TEST_CASE("an unreachable peer breaks neither receiving nor sending") {
    auto sender = open(loopback(0), {});
    Endpoint nobody;
    {
        const auto gone = open(loopback(0), {});
        nobody = gone.local();
    }
    for (int i = 0; i < 3; ++i) {
        CHECK(sender.send(nobody, weir::as_bytes("x")) == SendResult::sent);
        CHECK(sender.receive().empty());
    }
}

TEST_CASE("a port where nobody listens is named, once, and only to whom it refused") {
    auto sender = open(loopback(0), {});
    auto listener = open(loopback(0), {});
    Endpoint nobody;
    {
        const auto gone = open(loopback(0), {});
        nobody = gone.local();
    }
    REQUIRE(sender.send(nobody, weir::as_bytes("x")) == SendResult::sent);
    REQUIRE(sender.send(listener.local(), weir::as_bytes("y")) == SendResult::sent);
    REQUIRE(wait_for_error(sender));
    CHECK(sender.receive().empty());
    const auto refused = sender.take_refused();
    REQUIRE(refused.size() == 1);
    CHECK(refused[0] == nobody);
    CHECK(sender.take_refused().empty());
    CHECK(listener.take_refused().empty());
    REQUIRE(wait_readable(listener));
    CHECK(listener.receive().size() == 1);
}

TEST_CASE("a datagram that is too long fails, and an address in use is an error") {
    auto socket = open(loopback(0), {});
    const std::string huge(70'000, 'x');
    CHECK(socket.send(socket.local(), weir::as_bytes(huge)) == SendResult::failed);
    CHECK(!UdpSocket::open(socket.local(), {}));
}

TEST_CASE("a socket on every IPv6 address speaks IPv4 too") {
    auto both = UdpSocket::open(*weir::parse_endpoint("[::]:0"), {});
    if (!both) {
        return;  // a machine without IPv6
    }
    auto v4 = open(loopback(0), {});
    REQUIRE(v4.send(loopback(both->local().port), weir::as_bytes("hello")) == SendResult::sent);
    REQUIRE(wait_readable(*both));
    const auto got = both->receive();
    REQUIRE(got.size() == 1);
    CHECK(got[0].from == v4.local());
    REQUIRE(both->send(got[0].from, weir::as_bytes("back")) == SendResult::sent);
    REQUIRE(wait_readable(v4));
    CHECK(v4.receive().size() == 1);
}
