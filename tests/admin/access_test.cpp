#include "admin/access.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace weir;
using namespace weir::admin;

namespace {

AdminRequest from(std::string host, std::string origin = "") {
    AdminRequest request;
    request.method = "GET";
    request.target = "/v1/peers";
    request.host = std::move(host);
    request.origin = std::move(origin);
    return request;
}

unsigned refused_with(const AccessRules& rules, const AdminRequest& request) {
    const auto answer = refuse_access(rules, request);
    return answer ? answer->status : 0;
}

config::ListenAddress tcp(std::string_view text) {
    return {.endpoint = parse_endpoint(text).value(), .path = ""};
}

std::string file_of(std::string_view text) {
    std::string path = "/tmp/weir-token-XXXXXX";
    const int descriptor = ::mkstemp(path.data());
    REQUIRE(descriptor >= 0);
    REQUIRE(::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(descriptor);
    return path;
}

}  // namespace

TEST_CASE("addresses and localhost are trusted hosts, names that can be rebound are not") {
    const AccessRules rules;
    for (const auto* host : {"127.0.0.1:9901", "127.0.0.1", "localhost", "LocalHost:9901",
                             "weir.localhost:1", "[::1]:9901", "[::1]", "10.1.2.3:9901"}) {
        CAPTURE(host);
        CHECK(refused_with(rules, from(host)) == 0);
    }
    for (const auto* host :
         {"evil.example", "evil.example:9901", "localhost.evil.example", "notlocalhost", "",
          "127.0.0.1.evil.example:9901", ":9901", "localhost@evil.example"}) {
        CAPTURE(host);
        CHECK(refused_with(rules, from(host)) == 421);
    }
    const AccessRules named{.token = "", .allowed_hosts = {"weir.example"}};
    CHECK(refused_with(named, from("Weir.Example:9901")) == 0);
    CHECK(refused_with(named, from("other.example")) == 421);
}

TEST_CASE("behind a unix socket any Host will do, but exactly one") {
    AdminRequest request = from("whatever");
    request.local_socket = true;
    CHECK(refused_with({}, request) == 0);
    request.hosts = 2;
    CHECK(refused_with({}, request) == 400);
    request.hosts = 0;
    CHECK(refused_with({}, request) == 400);
}

TEST_CASE("other origins are refused, the own one passes") {
    CHECK(refused_with({}, from("127.0.0.1:9901", "http://127.0.0.1:9901")) == 0);
    for (const auto* origin : {"http://evil.example", "null", "http://127.0.0.1:9902",
                               "https://127.0.0.1:9901", "http://127.0.0.1:9901.evil.example"}) {
        CAPTURE(origin);
        CHECK(refused_with({}, from("127.0.0.1:9901", origin)) == 403);
    }
}

TEST_CASE("with a token only its bearer passes") {
    const AccessRules rules{.token = "0123456789abcdef", .allowed_hosts = {}};
    AdminRequest request = from("127.0.0.1:9901");
    const auto answer = refuse_access(rules, request);
    REQUIRE(answer.has_value());
    CHECK(answer->status == 401);
    CHECK(answer->fields.front().first == "WWW-Authenticate");
    for (const auto* bad :
         {"Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "Bearer ",
          "Bearer 0123456789abcdef ", "Basic 0123456789abcdef", "0123456789abcdef"}) {
        CAPTURE(bad);
        request.authorization = bad;
        CHECK(refused_with(rules, request) == 401);
    }
    for (const auto* good : {"Bearer 0123456789abcdef", "bearer 0123456789abcdef"}) {
        request.authorization = good;
        CHECK(refused_with(rules, request) == 0);
    }
}

TEST_CASE("local is loopback or a unix socket") {
    CHECK(is_local(tcp("127.0.0.1:9901")));
    CHECK(is_local(tcp("127.9.9.9:1")));
    CHECK(is_local(tcp("[::1]:9901")));
    CHECK(is_local({.endpoint = {}, .path = "/run/weir.sock"}));
    CHECK_FALSE(is_local(tcp("0.0.0.0:9901")));
    CHECK_FALSE(is_local(tcp("[::]:9901")));
    CHECK_FALSE(is_local(tcp("10.1.2.3:9901")));
}

TEST_CASE("a token is the first line of its file, long enough and printable") {
    const std::string good = file_of("0123456789abcdef\nmore\n");
    CHECK(read_token(good).value() == "0123456789abcdef");
    for (const std::string& text : {std::string(), std::string("short\n"), std::string(1025, 'x'),
                                    std::string("0123456789 abcdef"),
                                    std::string("0123456789\x01"
                                                "abcdef")}) {
        CAPTURE(text);
        const std::string path = file_of(text);
        CHECK(read_token(path).has_error());
        ::unlink(path.c_str());
    }
    ::unlink(good.c_str());
    CHECK(read_token(good).error().message.find(good) != std::string::npos);
}
