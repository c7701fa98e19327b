#include "http/request_head.h"

#include <doctest/doctest.h>

#include "http/heads.h"

namespace weir::http {
namespace {

using namespace std::string_literals;

Rejection reject(std::string_view text, const GatePolicy& policy = {}) {
    RequestHead head;
    const Ending ending = parse_all_ways(head, text, policy);
    return ending.state == ParseState::rejected ? ending.rejection : Rejection::none;
}

bool accepts(std::string_view text, const GatePolicy& policy = {}) {
    RequestHead head;
    const Ending ending = parse_all_ways(head, text, policy);
    return ending.state == ParseState::complete && ending.size == text.size();
}

TEST_CASE("an ordinary request is read in place") {
    const auto text =
        "POST /a/b%20c?x=1&y HTTP/1.1\r\nHost: A.example:8080\r\nContent-Length: 12\r\n"
        "X-Empty:\r\nX-Blank: \t v w \t\r\n\r\nhello"s;
    RequestHead head;
    const Ending ending = parse_all_ways(head, text);
    REQUIRE(ending.state == ParseState::complete);
    CHECK(head.size() == text.size() - 5);
    CHECK(head.method() == Method::post);
    CHECK(head.path() == "/a/b%20c");
    CHECK(head.query() == "x=1&y");
    CHECK(head.host() == "A.example:8080");
    CHECK(head.body() == BodyFraming{BodyKind::length, 12});
    CHECK(head.fields().size() == 4);
    CHECK(head.fields().first("x-blank") == "v w");
    CHECK(head.fields().first("x-empty").empty());
    CHECK(head.fields().line(2) == "X-Empty:\r\n");
    CHECK(head.fields().line(3) == "X-Blank: \t v w \t\r\n");
    CHECK(head.keep_alive());
}

TEST_CASE("1, 3, 4: Content-Length beside Transfer-Encoding, Transfer-Encoding twice or in 1.0") {
    CHECK(reject(with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")) ==
          Rejection::length_and_encoding);
    CHECK(reject(with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")) ==
          Rejection::length_and_encoding);
    CHECK(reject(with("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n")) ==
          Rejection::length_and_encoding);
    CHECK(reject(with("Content-Length: 5\r\nTransfer-Encoding: gzip\r\n")) ==
          Rejection::length_and_encoding);
    CHECK(reject(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")) ==
          Rejection::encoding_repeated);
    CHECK(reject(with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n")) ==
          Rejection::encoding_repeated);
    CHECK(reject("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") ==
          Rejection::encoding_in_http_1_0);
}

TEST_CASE("2: every Transfer-Encoding but chunked") {
    for (const auto* value : {"gzip, chunked", "gzip , deflate,\tChunked", "identity, chunked"}) {
        CAPTURE(value);
        CHECK(status_of(reject(with("Transfer-Encoding: "s + value + "\r\n"))) == 501);
    }
    for (const auto& value :
         {""s, "gzip"s, "identity"s, "xchunked"s, "chunked, gzip"s, "gzip, xchunked"s,
          "chunked, chunked"s, "chunked, gzip, chunked"s, "gzip;q=1, chunked"s, "chunked;x"s,
          "\x0b"
          "chunked"s,
          "chunked\x0b"s,
          "\xa0"
          "chunked"s,
          "chunked\xa0"s, "chunked,"s, ",chunked"s, "\"chunked\""s, "chunked chunked"s}) {
        CAPTURE(value);
        CHECK(status_of(reject(with("Transfer-Encoding: " + value + "\r\n"))) == 400);
    }
    for (const auto* value : {"chunked", "Chunked", "CHUNKED"}) {
        CHECK(accepts(with("Transfer-Encoding: "s + value + "\r\n")));
        RequestHead head;
        CHECK(parse_whole(head, with("Transfer-Encoding: "s + value + "\r\n")).body ==
              BodyFraming{BodyKind::chunked, 0});
    }
}

TEST_CASE("5, 6: Content-Length twice or malformed") {
    CHECK(reject(with("Content-Length: 5\r\nContent-Length: 6\r\n")) == Rejection::length_repeated);
    CHECK(reject(with("Content-Length: 5\r\nContent-Length: 5\r\n")) == Rejection::length_repeated);
    for (const auto* value :
         {"+5", "-1", "0x5", "5 5", "1_0", "5, 5", "5,", "", "5;", "5.0", "9223372036854775808",
          "18446744073709551616", "99999999999999999999", "\"5\""}) {
        CAPTURE(value);
        CHECK(status_of(reject(with("Content-Length: "s + value + "\r\n"))) == 400);
    }
    CHECK(accepts(with("Content-Length: 9223372036854775807\r\n")));
    CHECK(accepts(with("Content-Length: 0\r\n")));
}

TEST_CASE("9: Host missing, twice, empty or not a host") {
    CHECK(reject("GET / HTTP/1.1\r\n\r\n") == Rejection::host_missing);
    CHECK(reject(with("Host: a.example\r\n")) == Rejection::host_repeated);
    for (const auto* host :
         {"",      "a,b",       "user@a",    "a/b",    "a b",          "a:b",     "a:",  "a:99999",
          "a..b",  ".a",        "a%41",      "[::1",   "::1",          "a?b",     "a#b", "[::1]x",
          "[::g]", "[1::2::3]", "[1.2.3.4]", "[abcd]", "[::1%25eth0]", "\xc3\xa4"}) {
        CAPTURE(host);
        CHECK(reject("GET / HTTP/1.1\r\nHost: "s + host + "\r\n\r\n") == Rejection::host_invalid);
    }
    for (const auto* host :
         {"a", "a.", "A_b-c.example:80", "10.0.0.1:1", "[::1]", "[fa::1]", "[2001:db8::1]:80",
          "[::]", "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535"}) {
        CAPTURE(host);
        CHECK(accepts("GET / HTTP/1.1\r\nHost: "s + host + "\r\n\r\n"));
    }
    CHECK(accepts("GET / HTTP/1.0\r\n\r\n"));
    CHECK(reject("GET / HTTP/1.0\r\nHost:\r\n\r\n") == Rejection::host_invalid);
    CHECK(reject("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n") == Rejection::host_repeated);
    GatePolicy policy;
    policy.host_optional_in_http_1_0 = false;
    CHECK(reject("GET / HTTP/1.0\r\n\r\n", policy) == Rejection::host_missing);
}

TEST_CASE("10: absolute-form must name the same host") {
    CHECK(reject("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::host_mismatch);
    CHECK(reject("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_target);
    CHECK(reject("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_target);
    CHECK(reject("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_target);
    CHECK(reject("GET a/b HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_target);
    CHECK(accepts("GET http://A:80/x HTTP/1.1\r\nHost: a\r\n\r\n"));
    CHECK(accepts("GET https://a:443/x HTTP/1.1\r\nHost: a\r\n\r\n"));
    CHECK(reject("GET https://a:80/x HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::host_mismatch);
    RequestHead head;
    const auto text = "GET HTTP://a?q HTTP/1.1\r\nHost: a\r\n\r\n"s;
    REQUIRE(parse_whole(head, text).state == ParseState::complete);
    CHECK(head.is_absolute_form());
    CHECK(head.path() == "/");
    CHECK(head.query() == "q");
    const auto old = "GET http://b:8080/x HTTP/1.0\r\n\r\n"s;
    REQUIRE(parse_whole(head, old).state == ParseState::complete);
    CHECK(head.host() == "b:8080");
}

TEST_CASE("11: folded lines, blanks and missing names") {
    CHECK(reject(with("X: a\r\n b\r\n")) == Rejection::folded_field);
    CHECK(reject(with("X: a\r\n\tb\r\n")) == Rejection::folded_field);
    CHECK(reject("GET / HTTP/1.1\r\n Host: a\r\n\r\n") == Rejection::folded_field);
    CHECK(reject(" GET / HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::folded_field);
    for (const auto* line :
         {"X : a", "X\t: a", ": a", "novalue", "X Y: a", "X(: a", "\xc3\xa4: a"}) {
        CAPTURE(line);
        CHECK(reject(with(line + "\r\n"s)) == Rejection::bad_field);
    }
}

TEST_CASE("12: control bytes and bare line endings anywhere in the head") {
    for (int byte = 0; byte < 0x20; ++byte) {
        if (byte == '\t') {
            continue;
        }
        CAPTURE(byte);
        const std::string c(1, static_cast<char>(byte));
        for (const auto& text :
             {with("X: a" + c + "b\r\n"), with("X" + c + "Y: a\r\n"), with("X: a" + c + "\r\n"),
              "GET /a" + c + "b HTTP/1.1\r\nHost: a\r\n\r\n",
              "GET / HTTP/1.1" + c + "\r\nHost: a\r\n\r\n"}) {
            CHECK(status_of(reject(text)) == 400);
        }
    }
    CHECK(reject(with("X: a\x7f\r\n")) == Rejection::control_byte);
    CHECK(reject("GET / HTTP/1.1\nHost: a\n\n") == Rejection::bare_line_ending);
    CHECK(reject(with("X: a\rY: b\r\n")) == Rejection::bare_line_ending);
    CHECK(reject("GET / HTTP/1.1\r\nHost: a\r\n\n") == Rejection::bare_line_ending);
    CHECK(reject("GET / HTTP/1.1\r\nHost: a\r\n\rX") == Rejection::bare_line_ending);
    CHECK(reject("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_method);
    CHECK(accepts(with("X: a\tb \xc3\xa4\r\n")));
}

TEST_CASE("13: underscores as configured, never as dashes") {
    GatePolicy policy;
    const auto text = with("X_Own: 1\r\nContent_Length: 5\r\n");
    for (const auto kind : {Underscores::pass, Underscores::drop, Underscores::reject}) {
        policy.underscores = kind;
        RequestHead head;
        const Ending ending = parse_all_ways(head, text, policy);
        if (kind == Underscores::reject) {
            CHECK(ending.rejection == Rejection::underscore_field);
            continue;
        }
        CHECK(head.body().kind == BodyKind::none);
        CHECK(head.fields()[1].dropped == (kind == Underscores::drop));
        CHECK(head.fields()[2].dropped);
    }
    CHECK(GatePolicy().underscores == Underscores::pass);
    policy.underscores = Underscores::reject;
    RequestHead first;  // in the first field, too
    CHECK(
        parse_all_ways(first, "GET / HTTP/1.1\r\nX_Own: 1\r\nHost: a\r\n\r\n", policy).rejection ==
        Rejection::underscore_field);
    // Longer than any name that it could imitate.
    const auto long_name = with("Long_" + std::string(40, 'a') + ": 1\r\n");
    RequestHead head;
    REQUIRE(parse_all_ways(head, long_name).state == ParseState::complete);
    CHECK_FALSE(head.fields()[1].dropped);
}

TEST_CASE("13: fields that the policy says weir reads are not imitated") {
    GatePolicy policy;
    policy.read_names = {"x-cost", "X-Weir-Judged", "x_own-name"};
    const std::pair<std::string, bool> names[] = {{"X_Cost", true},
                                                  {"x_cost", true},
                                                  {"X-Cost", false},
                                                  {"X_Costs", false},
                                                  {"Y_Cost", false},
                                                  {"X_WEIR_JUDGED", true},
                                                  {"X-Weir_judged", true},
                                                  {"X_Weir-Judged", true},
                                                  {"XX_eir_Judged", false},
                                                  {"X_Own_Name", true},
                                                  {"X_Own-Name", false},  // the field itself
                                                  {"X_" + std::string(60, 'a'), false}};
    for (const auto& each : names) {
        CAPTURE(each.first);
        RequestHead head;
        const auto text = with(each.first + ": 1\r\n");
        REQUIRE(parse_all_ways(head, text, policy).state == ParseState::complete);
        CHECK(head.fields()[1].dropped == each.second);
    }
}

TEST_CASE("14: long targets, heads and many fields") {
    GatePolicy policy;
    RequestHead head;
    CHECK(parse_whole(head, "GET /" + std::string(100'000, 'a')).rejection ==
          Rejection::target_too_long);
    CHECK(parse_whole(head, with("X: " + std::string(100'000, 'a') + "\r\n")).rejection ==
          Rejection::head_too_large);
    std::string many;
    for (int i = 0; i < 10'000; ++i) {
        many += "A:\r\n";
    }
    CHECK(parse_whole(head, with(many)).rejection == Rejection::too_many_fields);

    policy.max_request_line = 64;
    policy.max_head = 128;
    policy.max_fields = 3;
    const auto line = [](std::size_t size) {
        return "GET /" + std::string(size - 16, 'a') + " HTTP/1.1\r\n" + "Host: a\r\n\r\n";
    };
    CHECK(parse_whole(head, with("X: " + std::string(200, 'a')).substr(0, 128), policy).state ==
          ParseState::need_more);
    CHECK(accepts(line(64), policy));
    CHECK(reject(line(65), policy) == Rejection::target_too_long);
    const auto whole = [](std::size_t size) {
        return with("X: " + std::string(size - 40, 'a') + "\r\n");
    };
    CHECK(whole(128).size() == 128);
    CHECK(accepts(whole(128), policy));
    CHECK(reject(whole(129), policy) == Rejection::head_too_large);
    // What is wrong with the last byte that may be there is told of that byte.
    const std::string within = whole(128).substr(0, 120) + "aaaaaaa";
    CHECK(reject(within + '\n', policy) == Rejection::bare_line_ending);
    CHECK(reject(within + '\x01', policy) == Rejection::control_byte);
    CHECK(reject(within + "\rX", policy) == Rejection::bare_line_ending);
    CHECK(accepts(with("A:\r\nB:\r\n"), policy));
    CHECK(reject(with("A:\r\nB:\r\nC:\r\n"), policy) == Rejection::too_many_fields);
    CHECK(status_of(Rejection::target_too_long) == 414);
    CHECK(status_of(Rejection::head_too_large) == 431);
    CHECK(status_of(Rejection::too_many_fields) == 431);
}

TEST_CASE("15: other versions and protocols") {
    for (const auto* version : {"HTTP/9.9", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9"}) {
        CAPTURE(version);
        CHECK(status_of(reject("GET / "s + version + "\r\nHost: a\r\n\r\n")) == 505);
    }
    for (const auto* version :
         {"HTTP/1.32", "http/1.1", "Http/1.1", "HTTP/1,1", "HTTP/11", "", "X"}) {
        CAPTURE(version);
        // By our own gate, before the parser behind it would.
        CHECK(reject("GET / "s + version + "\r\nHost: a\r\n\r\n") == Rejection::bad_version);
    }
    CHECK(status_of(Rejection::bad_version) == 400);
    CHECK(status_of(reject("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) == 505);
    CHECK(status_of(reject("\x16\x03\x01\x02\x00\x01"s)) == 400);
    CHECK(reject("GET  / HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_target);
    CHECK(reject("GET /  HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_request_line);
    CHECK(reject("GET / x HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_request_line);
}

TEST_CASE("16: every prefix of a request waits") {
    const auto text = with("Content-Length: 5\r\nConnection: close\r\n");
    for (std::size_t size = 0; size < text.size(); ++size) {
        RequestHead head;
        CHECK(head.parse(std::string_view(text).substr(0, size), {}) == ParseState::need_more);
    }
}

TEST_CASE("20, 22: Upgrade, CONNECT, TRACE, asterisk") {
    CHECK(reject(with("Connection: Upgrade\r\nUpgrade: websocket\r\n")) ==
          Rejection::upgrade_unsupported);
    CHECK(accepts(with("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n")));
    CHECK(accepts(with("Upgrade: websocket\r\n")));
    CHECK(status_of(reject("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n")) == 405);
    CHECK(status_of(reject("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n")) == 405);
    CHECK(status_of(reject("GET * HTTP/1.1\r\nHost: a\r\n\r\n")) == 400);
    CHECK(accepts("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"));
    {
        RequestHead head;
        const auto text = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"s;
        REQUIRE(parse_whole(head, text).state == ParseState::complete);
        CHECK(head.path() == "*");
        CHECK_FALSE(head.has_query());
    }
    CHECK(reject("get / HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_method);
    GatePolicy policy;
    policy.any_token_as_method = true;
    CHECK(accepts("get / HTTP/1.1\r\nHost: a\r\n\r\n", policy));
}

TEST_CASE("23: Expect") {
    RequestHead head;
    auto text = with("Expect: 100-Continue\r\n");
    REQUIRE(parse_all_ways(head, text).state == ParseState::complete);
    CHECK(head.expects_continue());
    text = "GET / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\n\r\n";
    REQUIRE(parse_all_ways(head, text).state == ParseState::complete);
    CHECK_FALSE(head.expects_continue());
    text = "GET / HTTP/1.0\r\nHost: a\r\nExpect: 200-maybe\r\n\r\n";
    CHECK(parse_all_ways(head, text).state == ParseState::complete);  // RFC 9110, 10.1.1
    CHECK(status_of(reject(with("Expect: 200-maybe\r\n"))) == 417);
    CHECK(status_of(reject(with("Expect: 100-continue, x\r\n"))) == 417);
}

TEST_CASE("targets hold URI characters, and others that clients send") {
    for (const auto* target : {"/\xc3\xa4", "/a#b", "/?\xff", "/?#"}) {
        CAPTURE(target);
        CHECK(reject("GET "s + target + " HTTP/1.1\r\nHost: a\r\n\r\n") == Rejection::bad_target);
    }
    GatePolicy policy;
    policy.browser_characters_in_target = false;
    for (const char c : "[]{}|^`\\\"<>"s) {
        CAPTURE(c);
        for (const auto& target : {"/a"s + c, "/?a"s + c}) {
            const auto text = "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
            CHECK(accepts(text));
            CHECK(reject(text, policy) == Rejection::bad_target);
        }
    }
}

TEST_CASE("Connection decides about keeping alive and may not name what frames") {
    const auto keeps = [](std::string_view text) {
        RequestHead head;
        REQUIRE(parse_whole(head, text).state == ParseState::complete);
        return head.keep_alive();
    };
    CHECK_FALSE(keeps(with("Connection: x, Close\r\n")));
    CHECK_FALSE(keeps("GET / HTTP/1.0\r\nHost: a\r\n\r\n"));
    CHECK(keeps("GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n"));
    CHECK_FALSE(keeps("GET / HTTP/1.0\r\nHost: a\r\nConnection: close, keep-alive\r\n\r\n"));
    for (const auto* option : {"Host", "content-length", "Transfer-Encoding", "a b", "a;b"}) {
        CAPTURE(option);
        CHECK(reject(with("Connection: "s + option + "\r\n")) == Rejection::bad_connection_option);
    }
    std::string many = "a";
    for (int i = 0; i < 40; ++i) {
        many += ",a";
    }
    CHECK(reject(with("Connection: " + many + "\r\n")) == Rejection::bad_connection_option);
}

TEST_CASE("every Upgrade field counts") {
    const auto asks = "Connection: upgrade\r\n"s;
    CHECK(accepts(with(asks + "Upgrade: h2c\r\nUpgrade: h2c\r\n")));
    CHECK(reject(with(asks + "Upgrade: h2c\r\nUpgrade: websocket\r\n")) ==
          Rejection::upgrade_unsupported);
}

TEST_CASE("the first permitted protocol is asked for") {
    GatePolicy policy;
    policy.upgrades = {"websocket", "other/1"};
    const auto chosen = [&](std::string_view lines) {
        RequestHead head;
        const auto text = with(lines);
        const auto ending = parse_all_ways(head, text, policy);
        return ending.state == ParseState::complete ? std::string(head.upgrade())
                                                    : std::string(explanation(ending.rejection));
    };
    const std::string asks = "Connection: keep-alive, Upgrade\r\n";
    CHECK(chosen(asks + "Upgrade: WebSocket\r\n") == "WebSocket");
    CHECK(chosen(asks + "Upgrade: h2c, OTHER/1 , websocket\r\n") == "OTHER/1");
    CHECK(chosen(asks + "Upgrade: h2c\r\nA: b\r\nUpgrade: websocket\r\n") == "websocket");
    CHECK(chosen(asks + "Upgrade: h2c\r\n").empty());
    CHECK(chosen("Upgrade: websocket\r\n").empty());  // Connection does not name it
    CHECK(chosen(asks).empty());
    const std::string refused(explanation(Rejection::upgrade_unsupported));
    for (const char* protocol : {"websocket/13", "websocke", "websockets", "other", "other/2",
                                 "TLS/1.0, h2c", "\"websocket\"", "web socket"}) {
        CAPTURE(protocol);
        CHECK(chosen(asks + "Upgrade: " + protocol + "\r\n") == refused);
    }
    RequestHead old;
    const auto text = "GET / HTTP/1.0\r\n" + asks + "Upgrade: websocket\r\n\r\n";
    CHECK(old.parse(text, policy) == ParseState::complete);
    CHECK(old.upgrade().empty());
}

TEST_CASE("one empty line before a request is skipped, two are not") {
    RequestHead head;
    const auto text = "\r\n" + with("");
    REQUIRE(parse_all_ways(head, text).state == ParseState::complete);
    CHECK(head.size() == text.size());
    CHECK(head.host() == "a.example");
    CHECK(reject("\r\n\r\n" + with("")) == Rejection::bad_request_line);
    GatePolicy policy;
    policy.skip_leading_empty_line = false;
    CHECK(reject(text, policy) == Rejection::bad_request_line);
}

TEST_CASE("every rejection has a status and a text") {
    for (std::size_t i = 1; i < kRejections; ++i) {
        const auto rejection = static_cast<Rejection>(i);
        CHECK(status_of(rejection) >= 400);
        CHECK(explanation(rejection).ends_with("."));
    }
}

}  // namespace
}  // namespace weir::http
