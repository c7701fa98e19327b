#include "base/endpoint.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "base/address_block.h"
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

TEST_CASE("addresses alone") {
    for (const char* text : {"127.0.0.1", "10.255.0.3", "::1", "2001:db8::7", "::"}) {
        CAPTURE(text);
        const auto address = parse_address(text);
        REQUIRE(address);
        std::string written;
        append_address(written, *address);
        CHECK(written == text);
        CHECK(address->port == 0);
    }
    CHECK(parse_address("::ffff:10.1.2.3") == Endpoint::v4(0x0a010203, 0));
    for (const char* text : {"", "1.2.3", "1.2.3.4.5", "1.2.3.4:80", "[::1]", "fe80::1%lo", "x",
                             "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_address(text));
    }
    CHECK_FALSE(parse_address(std::string_view("1.2.3.4\0x", 9)));
}

TEST_CASE("blocks of addresses") {
    const AddressBlock block{*parse_address("10.1.0.0"), 96 + 16};
    CHECK(block.contains(*parse_address("10.1.255.255")));
    CHECK_FALSE(block.contains(*parse_address("10.2.0.0")));
    CHECK_FALSE(block.contains(*parse_address("::10.1.0.0")));
    CHECK(contains(std::array{block, AddressBlock{*parse_address("2001:db8::"), 32}},
                   *parse_address("2001:db8:ffff::1")));
    CHECK_FALSE(contains({}, *parse_address("10.1.0.0")));
}

}  // namespace
}  // namespace weir
