#include "base/endpoint.h"

#include <doctest/doctest.h>

#include "base/loopback.h"

namespace weir {
namespace {

TEST_CASE("addresses survive the way to text and back") {
    for (const char* text : {"127.0.0.1:7946", "10.255.0.3:0", "[::1]:65535", "[2001:db8::7]:80"}) {
        const auto endpoint = parse_endpoint(text);
        REQUIRE(endpoint);
        CHECK(to_string(*endpoint) == text);
    }
    CHECK(Endpoint::v4(0x7f000001, 5) == *parse_endpoint("127.0.0.1:5"));
    CHECK(loopback_address(5) == *parse_endpoint("127.0.0.1:5"));
}

TEST_CASE("what leads back to this machine") {
    for (const char* text : {"127.0.0.1:1", "127.255.0.3:1", "[::1]:1"}) {
        CAPTURE(text);
        CHECK(is_loopback(*parse_endpoint(text)));
    }
    for (const char* text : {"126.0.0.1:1", "128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::2]:1",
                             "[::1:1]:1", "[100::1]:1", "[7f00::1]:1"}) {
        CAPTURE(text);
        CHECK_FALSE(is_loopback(*parse_endpoint(text)));
    }
}

TEST_CASE("what is not a literal address with a port is refused") {
    for (const char* text :
         {"", ":", ":80", "localhost:80", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1",
          "1.2.3.4:8x", "::1:80", "[::1]", "[::1:80", "1.2.3:80"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_endpoint(text));
    }
}

}  // namespace
}  // namespace weir
