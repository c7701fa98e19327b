#include "base/endpoint.h"

#include <doctest/doctest.h>

namespace weir {
namespace {

TEST_CASE("addresses survive the way to text and back") {
    for (const char* text : {"127.0.0.1:7946", "10.255.0.3:0", "[::1]:65535", "[2001:db8::7]:80"}) {
        const auto endpoint = parse_endpoint(text);
        REQUIRE(endpoint);
        CHECK(to_string(*endpoint) == text);
    }
    CHECK(Endpoint::v4(0x7f000001, 5) == *parse_endpoint("127.0.0.1:5"));
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
