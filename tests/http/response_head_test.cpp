#include "http/response_head.h"

#include <doctest/doctest.h>

#include "http/heads.h"

namespace weir::http {
namespace {

using namespace std::string_literals;

std::string response(std::string_view lines, std::string_view status = "200 OK") {
    return "HTTP/1.1 " + std::string(status) + "\r\n" + std::string(lines) + "\r\n";
}

Rejection reject(std::string_view text) {
    ResponseHead head;
    const Ending ending = parse_response_all_ways(head, text);
    return ending.state == ParseState::rejected ? ending.rejection : Rejection::none;
}

BodyFraming body_of(std::string_view text, Method method = Method::get) {
    ResponseHead head;
    const Ending ending = parse_response_all_ways(head, text, method);
    REQUIRE(ending.state == ParseState::complete);
    return ending.body;
}

TEST_CASE("framing follows fields, status and method") {
    CHECK(body_of(response("Content-Length: 5\r\n")) == BodyFraming{BodyKind::length, 5});
    CHECK(body_of(response("Content-Length: 0\r\n")).kind == BodyKind::none);
    CHECK(body_of(response("Transfer-Encoding: chunked\r\n")).kind == BodyKind::chunked);
    CHECK(body_of(response("")).kind == BodyKind::until_close);
    CHECK(body_of(response("Content-Length: 5\r\n"), Method::head).kind == BodyKind::none);
    CHECK(body_of(response("Content-Length: 5\r\n", "204 No Content")).kind == BodyKind::none);
    CHECK(body_of(response("Content-Length: 5\r\n", "304 Not Modified")).kind == BodyKind::none);
    CHECK(body_of(response("", "103 Early Hints")).kind == BodyKind::none);
}

TEST_CASE("27, 30: what is refused of an upstream") {
    CHECK(reject("garbage\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("HTTP/2.0 200 OK\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("HTTP/1.1 20 OK\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("HTTP/1.1 099 X\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("HTTP/1.1 1000 X\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("HTTP/1.1 200OK\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("HTTP/1.1 200\tOK\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("HTTP/1.1 20\r\n\r\n") == Rejection::bad_status_line);
    CHECK(reject("\r\n" + response("")) == Rejection::bad_status_line);
    CHECK(reject(response("Content-Length: 5\r\nContent-Length: 6\r\n")) ==
          Rejection::length_repeated);
    CHECK(reject(response("Content-Length: 5\r\nContent-Length: 05\r\n")) ==
          Rejection::length_repeated);
    CHECK(reject(response("Content-Length: 5\r\nA: b\r\nContent-Length: 5\r\n"
                          "Content-Length: 4\r\n")) == Rejection::length_repeated);
    CHECK(reject(response("Content-Length: x\r\nContent-Length: x\r\n")) ==
          Rejection::length_invalid);
    CHECK(reject(response("Content-Length: 5, 5\r\n")) == Rejection::length_invalid);
    CHECK(reject(response("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")) ==
          Rejection::length_and_encoding);
    CHECK(reject(response("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")) ==
          Rejection::length_and_encoding);
    CHECK(reject(response("Transfer-Encoding: gzip\r\n")) == Rejection::encoding_invalid);
    CHECK(reject(response("Transfer-Encoding: gzip, chunked\r\n")) ==
          Rejection::encoding_unsupported);
    CHECK(reject(response("Content-Length: -5\r\n")) == Rejection::length_invalid);
    CHECK(reject(response("X: a\rb\r\n")) == Rejection::bare_line_ending);
    CHECK(reject(response("X: a\nb\r\n")) == Rejection::bare_line_ending);
    CHECK(reject(response("X: a\r\n b\r\n")) == Rejection::folded_field);
    CHECK(reject(response("X : a\r\n")) == Rejection::bad_field);
    CHECK(reject(response("Connection: Content-Length\r\n")) == Rejection::bad_connection_option);
    CHECK(reject("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") ==
          Rejection::encoding_in_http_1_0);
    CHECK(reject(response("Upgrade: x\r\n", "101 Switching Protocols")) ==
          Rejection::unexpected_upgrade);
}

TEST_CASE("a 101 is taken if it switches to the protocol that was asked for") {
    const Asked asked(Method::get, "websocket");
    const auto parsed = [&](std::string_view lines, const char* version = "HTTP/1.1") {
        ResponseHead head;
        const auto text = std::string(version) + " 101 X\r\n" + std::string(lines) + "\r\n";
        return parse_response_all_ways(head, text, asked).rejection;
    };
    const std::string names = "Connection: upgrade\r\n";
    CHECK(parsed(names + "Upgrade: WebSocket\r\n") == Rejection::none);
    for (const char* lines : {"", "Upgrade: other\r\n", "Upgrade: websocket, other\r\n",
                              "Upgrade: websocket\r\nUpgrade: websocket\r\n", "Upgrade:\r\n"}) {
        CAPTURE(lines);
        CHECK(parsed(names + lines) == Rejection::unexpected_upgrade);
    }
    CHECK(parsed("Upgrade: websocket\r\n") == Rejection::unexpected_upgrade);
    CHECK(parsed(names + "Upgrade: websocket\r\n", "HTTP/1.0") == Rejection::unexpected_upgrade);
    CHECK(parsed(names + "Upgrade: websocket\r\nContent-Length: 1\r\n"
                         "Transfer-Encoding: chunked\r\n") == Rejection::length_and_encoding);

    ResponseHead head;
    const auto text =
        "HTTP/1.1 101 X\r\nContent-Length: 5\r\n" + names + "Upgrade: websocket\r\n\r\nbytes";
    REQUIRE(head.parse(text, asked, {}) == ParseState::complete);
    CHECK(head.is_upgrade());
    CHECK(!head.is_interim());
    CHECK(head.size() == text.size() - 5);
    CHECK(head.body().kind == BodyKind::until_close);
    CHECK(!head.keep_alive());
    // Other answers to such a request are ordinary ones.
    CHECK(parse_response_all_ways(head, response("Content-Length: 5\r\n"), asked).state ==
          ParseState::complete);
    CHECK(head.body().length == 5);
}

TEST_CASE("what other proxies take of an upstream is taken") {
    CHECK(body_of("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n").length == 5);
    CHECK(body_of("HTTP/1.0 200\r\n\r\n").kind == BodyKind::until_close);
    CHECK(body_of("HTTP/1.1 204\r\n\r\n").kind == BodyKind::none);
    CHECK(body_of(response("Content-Length: 5\r\nA: b\r\ncontent-length:5 \r\n")).length == 5);
    ResponseHead head;
    for (const auto* status : {"600", "777", "999"}) {
        const auto text = response("Content-Length: 5\r\n", status + " X"s);
        CHECK(parse_response_all_ways(head, text).state == ParseState::complete);
        CHECK(std::to_string(head.status()) == status);
        CHECK(head.body().length == 5);
    }
}

TEST_CASE("fields are bounded") {
    std::string lines;
    for (int i = 0; i < 1000; ++i) {
        lines += "A: b\r\n";
    }
    ResponseHead head;
    CHECK(head.parse(response(lines), Method::get, {}) == ParseState::complete);
    head.reset();
    CHECK(head.parse(response(lines + "A: b\r\n"), Method::get, {}) == ParseState::rejected);
    CHECK(head.rejection() == Rejection::too_many_fields);
}

TEST_CASE("27: huge heads are bounded") {
    ResponseHead head;
    CHECK(head.parse(response("X: " + std::string(200'000, 'a') + "\r\n"), Method::get, {}) ==
          ParseState::rejected);
    CHECK(head.rejection() == Rejection::head_too_large);
}

TEST_CASE("the upstream's connection is kept as it says") {
    const auto keeps = [](std::string_view text) {
        ResponseHead head;
        REQUIRE(parse_response_all_ways(head, text).state == ParseState::complete);
        return head.keep_alive();
    };
    CHECK(keeps(response("Content-Length: 5\r\n")));
    CHECK_FALSE(keeps(response("Content-Length: 5\r\nConnection: close\r\n")));
    CHECK_FALSE(keeps(response("")));
    CHECK_FALSE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"));
    CHECK(keeps("HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n"));
}

}  // namespace
}  // namespace weir::http
