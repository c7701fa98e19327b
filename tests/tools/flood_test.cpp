#include "tools/flood.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace weir::tools {
namespace {

/// A bound UDP port with room for some hundred small datagrams.
struct Port {
    Port() : descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0);
        REQUIRE(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        name = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    ~Port() { ::close(descriptor); }
    std::uint64_t received() const {
        std::uint64_t count = 0;
        std::array<char, 64> bytes{};
        while (::recv(descriptor, bytes.data(), bytes.size(), 0) >= 0) {
            ++count;
        }
        return count;
    }

    int descriptor;
    std::string name;
};

}  // namespace

TEST_CASE("a flood sends as many as told and counts what the kernel took") {
    const Port port;
    const FloodResult result = flood({port.name, 150, 1e6, 32, 7});
    CHECK(result.sent == 150);
    CHECK(result.answers == 0);
    CHECK(result.took.count() > 0);
    CHECK(port.received() == 150);
}

TEST_CASE("noise has every length up to the longest, and repeats with its seed") {
    const auto texts = noise(500, 3, 9);
    for (const std::size_t length : {0U, 1U, 2U, 3U}) {
        CHECK(std::any_of(texts.begin(), texts.end(),
                          [&](const std::string& text) { return text.size() == length; }));
    }
    CHECK(texts == noise(500, 3, 9));
    CHECK(texts != noise(500, 3, 10));
}

TEST_CASE("a flood needs an address") {
    CHECK_THROWS_AS(static_cast<void>(flood({"nowhere", 1, 1, 1, 1})), std::runtime_error);
}

}  // namespace weir::tools
