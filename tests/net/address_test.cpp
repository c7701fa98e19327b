#include "net/address.h"

#include <doctest/doctest.h>

using weir::net::Address;

TEST_CASE("an address is written as it is configured") {
    CHECK(to_string(Address{.host = "0.0.0.0", .port = 8080, .path = {}}) == "0.0.0.0:8080");
    CHECK(to_string(Address{.host = "::1", .port = 8080, .path = {}}) == "[::1]:8080");
    CHECK(to_string(Address{.host = "localhost", .port = 80, .path = {}}) == "localhost:80");
    const Address local{.host = {}, .port = 0, .path = "/run/weir.sock"};
    CHECK(local.is_unix());
    CHECK(to_string(local) == "unix:/run/weir.sock");
}

TEST_CASE("literal addresses become endpoints, names do not") {
    const auto literal = [](const char* host) {
        return Address{.host = host, .port = 80, .path = {}}.literal();
    };
    CHECK(to_string(*literal("10.1.2.3")) == "10.1.2.3:80");
    CHECK(to_string(*literal("fe80::1")) == "[fe80::1]:80");
    CHECK(!literal("name"));
    CHECK(!Address{.host = {}, .port = 0, .path = "/x"}.literal());
    for (const char* text : {"[2001:db8::7]:9", "10.1.2.3:80"}) {
        const auto endpoint = *weir::parse_endpoint(text);
        CHECK(Address::from(endpoint).literal() == endpoint);
    }
}
