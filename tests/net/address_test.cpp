#include "net/address.h"

#include <doctest/doctest.h>

using weir::net::parse_listen_address;
using weir::net::parse_upstream_address;

TEST_CASE("a listen address is host and port, or a unix socket") {
    CHECK(to_string(*parse_listen_address("0.0.0.0:8080")) == "0.0.0.0:8080");
    CHECK(to_string(*parse_listen_address(":8080")) == "0.0.0.0:8080");
    CHECK(to_string(*parse_listen_address("[::1]:8080")) == "[::1]:8080");
    CHECK(to_string(*parse_listen_address("localhost:80")) == "localhost:80");
    const auto local = *parse_listen_address("unix:/run/weir.sock");
    CHECK(local.is_unix());
    CHECK(local.path == "/run/weir.sock");
    CHECK(to_string(local) == "unix:/run/weir.sock");
}

TEST_CASE("what is not a listen address is refused") {
    for (const char* text : {"", "8080", "host", "host:", "host:x", "host:65536", "host:-1",
                             "a b:1", "::1:80", "[::1]80", "[::1", "[host]:80", "[]:80",
                             "unix:", "unix:@", "http://a:1", "a/b:1", "host:80 "}) {
        CAPTURE(text);
        CHECK(!parse_listen_address(text));
    }
    CHECK(!parse_listen_address("unix:/" + std::string(200, 'a')));
    CHECK(!parse_listen_address(std::string(254, 'a') + ":80"));
}

TEST_CASE("an upstream address may be a URL without a path") {
    CHECK(to_string(*parse_upstream_address("http://127.0.0.1:3000")) == "127.0.0.1:3000");
    CHECK(to_string(*parse_upstream_address("http://app:3000/")) == "app:3000");
    CHECK(to_string(*parse_upstream_address("http://app")) == "app:80");
    CHECK(to_string(*parse_upstream_address("http://[::1]")) == "[::1]:80");
    CHECK(to_string(*parse_upstream_address("app:3000")) == "app:3000");
    CHECK(to_string(*parse_upstream_address("unix:/run/app.sock")) == "unix:/run/app.sock");
}

TEST_CASE("an upstream with TLS, a path or no port says what is wrong") {
    CHECK(parse_upstream_address("https://a:1").error().message.find("TLS") != std::string::npos);
    CHECK(parse_upstream_address("http://a:1/x").error().message.find("path") != std::string::npos);
    CHECK(!parse_upstream_address("app"));
    CHECK(!parse_upstream_address(":80"));
    CHECK(!parse_upstream_address("http://"));
}

TEST_CASE("literal addresses become endpoints, names do not") {
    CHECK(to_string(*parse_listen_address("10.1.2.3:80")->literal()) == "10.1.2.3:80");
    CHECK(to_string(*parse_listen_address("[fe80::1]:80")->literal()) == "[fe80::1]:80");
    CHECK(!parse_listen_address("name:80")->literal());
    CHECK(!parse_listen_address("unix:/x")->literal());
    const auto endpoint = *weir::parse_endpoint("[2001:db8::7]:9");
    CHECK(weir::net::Address::from(endpoint).literal() == endpoint);
}
