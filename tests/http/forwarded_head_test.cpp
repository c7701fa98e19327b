#include "http/forwarded_head.h"

#include <doctest/doctest.h>

#include "http/heads.h"

namespace weir::http {
namespace {

using namespace std::string_literals;

std::string joined(const ForwardedHead& forwarded) {
    std::string text;
    for (const auto piece : forwarded.pieces()) {
        text += piece;
    }
    return text;
}

const RequestForwarding kBare{.forwarded = false, .via = false, .request_id = false};

std::string forward(std::string_view text, const RequestForwarding& forwarding,
                    const GatePolicy& policy = {}) {
    RequestHead head;
    REQUIRE(parse_whole(head, text, policy).state == ParseState::complete);
    Random random(1);
    ForwardedHead forwarded;
    forwarded.build(head, forwarding, random);
    return joined(forwarded);
}

std::string answer(std::string_view text, const ResponseForwarding& forwarding,
                   Method method = Method::get) {
    ResponseHead head;
    REQUIRE(head.parse(text, method, {}) == ParseState::complete);
    ForwardedHead forwarded;
    forwarded.build(head, forwarding);
    return joined(forwarded);
}

TEST_CASE("with nothing to add or take away the bytes stay as they are, in one piece") {
    const auto text =
        "GET /a%2Fb//../c?q=%zz HTTP/1.1\r\nhOsT:a\r\nX:  1 \t\r\nTraceparent: 00-x\r\n\r\n"s;
    CHECK(forward(text, kBare) == text);
    RequestHead head;
    REQUIRE(parse_whole(head, text).state == ParseState::complete);
    Random random(1);
    ForwardedHead forwarded;
    forwarded.build(head, kBare, random);
    CHECK(forwarded.pieces().size() == 2);  // the fields, and the empty line
}

TEST_CASE("hop-by-hop fields and what Connection names stay here") {
    CHECK(forward(with("Connection: keep-alive, X-Own\r\nKeep-Alive: 5\r\nX-Own: 1\r\n"
                       "Proxy-Connection: x\r\nProxy-Authorization: x\r\nUpgrade: h2c\r\nA: b\r\n"),
                  kBare) == with("A: b\r\n"));
    CHECK(forward(with("TE: gzip, trailers\r\nConnection: TE\r\n"), kBare) ==
          with("TE: trailers\r\nConnection: TE\r\n"));
    CHECK(forward(with("Transfer-Encoding: chunked\r\nTrailer: x\r\n"), kBare) ==
          with("Transfer-Encoding: chunked\r\nTrailer: x\r\n"));
    CHECK(forward(with("A_B: 1\r\n"), kBare) == with("A_B: 1\r\n"));
    CHECK(forward(with("A_B: 1\r\nX_Forwarded_For: 1\r\nC: 2\r\n"), kBare) ==
          with("A_B: 1\r\nC: 2\r\n"));
}

TEST_CASE("a target in absolute form is forwarded in origin form") {
    CHECK(forward("GET http://a/x?y HTTP/1.1\r\nHost: a\r\n\r\n", kBare) ==
          "GET /x?y HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(forward("GET http://a?y HTTP/1.1\r\nHost: a\r\n\r\n", kBare) ==
          "GET /?y HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(forward("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", kBare) ==
          "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(forward("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", kBare) ==
          "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST_CASE("a request of HTTP/1.0 is forwarded as one of HTTP/1.1, with a Host") {
    CHECK(forward("GET / HTTP/1.0\r\nHost: a\r\n\r\n", kBare) ==
          "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(forward("\r\nGET http://a/x?y HTTP/1.0\r\nA: b\r\n\r\n", kBare) ==
          "GET /x?y HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n");
    CHECK(forward("GET http://a HTTP/1.0\r\nHost: a\r\n\r\n", kBare) ==
          "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    auto named = kBare;
    named.host_line = "Host: app:3000\r\n";
    CHECK(forward("OPTIONS / HTTP/1.0\r\n\r\n", named) ==
          "OPTIONS / HTTP/1.1\r\nHost: app:3000\r\n\r\n");
    // What means nothing in HTTP/1.0 must not begin to mean something.
    CHECK(forward("PUT / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nTE: trailers\r\n"
                  "Content-Length: 1\r\n\r\n",
                  kBare) == "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n");
    named.via = true;
    CHECK(forward("GET / HTTP/1.0\r\nVia: 1.1 x\r\n\r\n", named) ==
          "GET / HTTP/1.1\r\nHost: app:3000\r\nVia: 1.1 x\r\nVia: 1.0 weir\r\n\r\n");
}

TEST_CASE("X-Forwarded fields of clients that are not trusted are replaced") {
    RequestForwarding forwarding{.client_address = "10.0.0.9", .via = false, .request_id = false};
    const auto text = with(
        "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\n"
        "x-forwarded-host: evil\r\nForwarded: for=1.1.1.1\r\n");
    CHECK(forward(text, forwarding) ==
          with("X-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Proto: http\r\n"
               "X-Forwarded-Host: a.example\r\n"));
    forwarding.keep_forwarded = true;
    CHECK(forward(text, forwarding) ==
          with("X-Forwarded-Proto: https\r\nx-forwarded-host: evil\r\nForwarded: for=1.1.1.1\r\n"
               "X-Forwarded-For: 1.1.1.1, 10.0.0.9\r\n"));
    CHECK(forward(with("X-Forwarded-For: a\r\nX-Forwarded-For: b, c\r\nX-Forwarded-For:\r\n"),
                  forwarding) ==
          with("X-Forwarded-For: a, b, c, 10.0.0.9\r\nX-Forwarded-Proto: http\r\n"
               "X-Forwarded-Host: a.example\r\n"));
    forwarding.client_address = {};
    forwarding.keep_forwarded = false;
    CHECK(forward(with(""), forwarding).find("X-Forwarded-For") == std::string::npos);
}

TEST_CASE("what Connection names is replaced by what weir adds to a message without it") {
    const RequestForwarding forwarding{
        .client_address = "10.0.0.9", .keep_forwarded = true, .via = false, .request_id = false};
    CHECK(forward(with("X-Forwarded-Proto: https\r\nX-Forwarded-Host: h\r\n"
                       "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n"
                       "Connection: x-forwarded-proto, x-forwarded-host, x-forwarded-for\r\n"),
                  forwarding) == with("X-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Proto: http\r\n"
                                      "X-Forwarded-Host: a.example\r\n"));
    const ResponseForwarding dated{.via = false, .date = "Sun, 06 Nov 1994 08:49:37 GMT"};
    CHECK(answer("HTTP/1.1 204 No\r\nDate: 0\r\nConnection: date\r\n\r\n", dated) ==
          "HTTP/1.1 204 No\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n");
}

TEST_CASE("a valid X-Request-Id is kept, another one replaced") {
    RequestForwarding forwarding{.forwarded = false, .via = true};
    CHECK(forward(with("X-Request-Id: abc-1\r\n"), forwarding) ==
          with("X-Request-Id: abc-1\r\nVia: 1.1 weir\r\n"));
    for (const auto& lines : {""s, "X-Request-Id: a b\r\n"s, "X-Request-Id:\r\n"s,
                              "X-Request-Id: a\r\nX-Request-Id: b\r\n"s,
                              "X-Request-Id: " + std::string(129, 'a') + "\r\n",
                              "X-Request-Id: a\r\nConnection: x-request-id\r\n"s}) {
        CAPTURE(lines);
        const auto text = forward(with(lines), forwarding);
        const auto at = text.find("X-Request-Id: ");
        REQUIRE(at != std::string::npos);
        CHECK(text.find("X-Request-Id: ", at + 1) == std::string::npos);
        const auto id = text.substr(at + 14, text.find("\r\n", at) - at - 14);
        CHECK(id.size() == 36);
        CHECK(id[14] == '4');
        CHECK("89ab"s.find(id[19]) != std::string::npos);
    }
}

TEST_CASE("made ids differ and come from the seed") {
    RequestHead head;
    const auto text = with("");
    REQUIRE(parse_whole(head, text).state == ParseState::complete);
    Random first(7);
    Random second(7);
    ForwardedHead a;
    ForwardedHead b;
    a.build(head, {}, first);
    b.build(head, {}, second);
    const std::string id(a.request_id());
    CHECK(id == b.request_id());
    a.build(head, {}, first);
    CHECK(id != a.request_id());
}

TEST_CASE("the longest valid heads fit") {
    RequestForwarding forwarding{.client_address = "0123456789012345678901234567890123456789012345",
                                 .scheme = "https"};
    for (const auto& host :
         {std::string(255, 'h'), "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]"s}) {
        const auto text = forward(
            "GET / HTTP/1.1\r\nHost: " + host + ":65535\r\nTE: trailers\r\n\r\n", forwarding);
        CHECK(text.find("X-Forwarded-Host: " + host + ":65535\r\n") != std::string::npos);
    }
}

TEST_CASE("as many X-Forwarded-For lines of a trusted client as the gate lets in become one") {
    constexpr int kLines = 10'000;
    GatePolicy policy;
    policy.max_fields = kLines + 10;
    policy.max_head = std::size_t{1} << 20;
    std::string lines;
    std::string addresses;
    for (int i = 0; i < kLines; ++i) {
        lines += "X-Forwarded-For: a\r\n";
        addresses += "a, ";
    }
    const RequestForwarding forwarding{
        .client_address = "10.0.0.9", .keep_forwarded = true, .via = false, .request_id = false};
    const auto text = forward(with(lines), forwarding, policy);
    CHECK(text.find("X-Forwarded-For: " + addresses + "10.0.0.9\r\n") != std::string::npos);
}

TEST_CASE("responses lose hop-by-hop fields and speak HTTP/1.1") {
    ResponseForwarding plain{.via = false};
    CHECK(answer("HTTP/1.1 200 Fine\r\nConnection: keep-alive, X\r\nX: 1\r\nKeep-Alive: 5\r\n"
                 "Content-Length: 3\r\nSet-Cookie: a\r\n\r\n",
                 plain) == "HTTP/1.1 200 Fine\r\nContent-Length: 3\r\nSet-Cookie: a\r\n\r\n");
    CHECK(answer("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", plain) ==
          "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
    CHECK(answer("HTTP/1.1 200 OK\r\n\r\n", plain) ==
          "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    CHECK(answer("HTTP/1.0 204 No\r\n\r\n", {}) == "HTTP/1.1 204 No\r\nVia: 1.0 weir\r\n\r\n");
    plain.extra = "RateLimit: x\r\n";
    plain.via = true;
    plain.client_minor_version = 0;
    CHECK(answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", plain) ==
          "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nVia: 1.1 weir\r\nRateLimit: x\r\n"
          "Connection: keep-alive\r\n\r\n");
    plain.keep_alive = false;
    CHECK(answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", plain)
              .ends_with("Connection: close\r\n\r\n"));
}

TEST_CASE("a response without Date gets one") {
    const ResponseForwarding dated{.via = false, .date = "Sun, 06 Nov 1994 08:49:37 GMT"};
    const auto date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"s;
    CHECK(answer("HTTP/1.1 204 No\r\n\r\n", dated) == "HTTP/1.1 204 No\r\n" + date + "\r\n");
    const auto own = "HTTP/1.1 204 No\r\ndate: 0\r\n\r\n"s;
    CHECK(answer(own, dated) == own);
    const auto interim = "HTTP/1.1 103 Early Hints\r\n\r\n"s;
    CHECK(answer(interim, dated) == interim);
}

TEST_CASE("what clients may not take of an upstream is put right") {
    const ResponseForwarding plain{.via = false};
    const auto length = "Content-Length: 0\r\n"s;
    CHECK(answer("HTTP/1.1 200\r\n" + length + "\r\n", plain) ==
          "HTTP/1.1 200 \r\n" + length + "\r\n");
    CHECK(answer("HTTP/1.0 777\r\n" + length + "\r\n", plain) ==
          "HTTP/1.1 777 \r\n" + length + "\r\n");
    CHECK(answer("HTTP/1.1 200 \r\n" + length + "A: b\r\n" + length + length + "\r\n", plain) ==
          "HTTP/1.1 200 \r\n" + length + "A: b\r\n\r\n");
}

TEST_CASE("a 426 keeps its Upgrade, and no other answer does") {
    const ResponseForwarding plain{.via = false};
    const auto fields = "Connection: upgrade\r\nUpgrade: TLS/1.2\r\nContent-Length: 0\r\n"s;
    CHECK(answer("HTTP/1.1 426 Upgrade Required\r\n" + fields + "\r\n", plain) ==
          "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nUpgrade: TLS/1.2\r\n"
          "Connection: Upgrade\r\n\r\n");
    CHECK(answer("HTTP/1.1 200 OK\r\n" + fields + "\r\n", plain) ==
          "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

TEST_CASE("a switch of protocols is asked for and answered with two fields of the connection") {
    GatePolicy policy;
    policy.upgrades = {"websocket"};
    const auto asks = "Sec-WebSocket-Key: k\r\nUpgrade: h2c, WebSocket\r\n"s;
    CHECK(forward(with("Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n" + asks),
                  kBare, policy) ==
          with("Sec-WebSocket-Key: k\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"));
    CHECK(forward(with("Connection: Upgrade, TE\r\nTE: trailers\r\n" + asks), kBare, policy) ==
          with("Sec-WebSocket-Key: k\r\nTE: trailers\r\nUpgrade: WebSocket\r\n"
               "Connection: Upgrade, TE\r\n"));
    CHECK(forward(with(asks), kBare, policy) == with("Sec-WebSocket-Key: k\r\n"));

    ResponseHead head;
    REQUIRE(head.parse("HTTP/1.1 101 X\r\nupgrade: WebSocket\r\nContent-Length: 5\r\n"
                       "Connection: Upgrade, A\r\nA: b\r\nSec-WebSocket-Accept: a\r\n\r\nbytes",
                       {Method::get, "websocket"}, {}) == ParseState::complete);
    ForwardedHead forwarded;
    forwarded.build(head, {.keep_alive = false, .via = false, .date = "now", .extra = "B: c\r\n"});
    CHECK(joined(forwarded) ==
          "HTTP/1.1 101 X\r\nSec-WebSocket-Accept: a\r\nupgrade: WebSocket\r\n"
          "Connection: Upgrade\r\nB: c\r\n\r\n");
}

TEST_CASE("31: answers without body announce none where none may be") {
    const ResponseForwarding plain{.via = false};
    CHECK(answer("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", plain) ==
          "HTTP/1.1 204 No Content\r\n\r\n");
    CHECK(answer("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", plain) ==
          "HTTP/1.1 304 Not Modified\r\n\r\n");
    CHECK(answer("HTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: close\r\n\r\n", plain) ==
          "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    CHECK(answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", plain, Method::head) ==
          "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
}

}  // namespace
}  // namespace weir::http
