// robustness of the client's side: heads that must be refused, with nothing sent to the upstream
// and nothing charged. Numbers are those of the list of faults in docs/proxy.md.

#include "proxy/bad_input.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;
using enum weir::proxy::Ending;

TEST_CASE("1-5: ambiguous framing") {
    check_all_refused({
        {"CL and TE",
         post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
         {400},
         rejected_framing},
        {"TE and CL",
         post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
         {400},
         rejected_framing},
        {"gzip", post("Transfer-Encoding: gzip\r\n"), {400}, rejected_framing},
        {"gzip, CL",
         post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"),
         {400, 501},
         rejected_framing},
        {"identity", post("Transfer-Encoding: identity\r\n"), {400, 501}, rejected_framing},
        {"xchunked", post("Transfer-Encoding: xchunked\r\n"), {400, 501}, rejected_framing},
        {"empty", post("Transfer-Encoding:\r\n"), {400, 501}, rejected_framing},
        {"chunked twice in one",
         post("Transfer-Encoding: chunked, chunked\r\n"),
         {400, 501},
         rejected_framing},
        {"chunked;x", post("Transfer-Encoding: chunked;x\r\n"), {400, 501}, rejected_framing},
        {"vertical tab",
         post("Transfer-Encoding: \x0b"
              "chunked\r\n"),
         {400, 501},
         rejected_syntax},
        {"0xa0", post("Transfer-Encoding: chunked\xa0\r\n"), {400, 501}, rejected_framing},
        {"TE twice",
         post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
         {400},
         rejected_framing},
        {"TE in HTTP/1.0",
         "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         {400},
         rejected_framing},
        {"two CL", post("Content-Length: 5\r\nContent-Length: 6\r\n"), {400}, rejected_framing},
        {"CL twice", post("Content-Length: 5\r\nContent-Length: 5\r\n"), {400}, rejected_framing},
        {"CL list", post("Content-Length: 5, 5\r\n"), {400}, rejected_framing},
    });
}

TEST_CASE("6: malformed Content-Length") {
    std::vector<Case> cases;
    for (const char* value : {"+5", "-1", "0x5", "5 5", "1_0", "9223372036854775808",
                              "99999999999999999999", "", "5;"}) {
        cases.push_back({value,
                         post("Content-Length: " + std::string(value) + "\r\n"),
                         {400},
                         rejected_framing});
    }
    check_all_refused(cases);
}

TEST_CASE("9, 10: Host") {
    check_all_refused({
        {"missing", get(""), {400}, rejected_host},
        {"two", get("Host: a\r\nHost: a\r\n"), {400}, rejected_host},
        {"empty", get("Host:\r\n"), {400}, rejected_host},
        {"comma", get("Host: a,b\r\n"), {400}, rejected_host},
        {"user info", get("Host: u@a\r\n"), {400}, rejected_host},
        {"path", get("Host: a/b\r\n"), {400}, rejected_host},
        {"absolute form with another host",
         "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
         {400},
         rejected_host},
    });
}

TEST_CASE("10: an absolute form with the same host goes on, with one host") {
    Fixture proxy;
    CHECK(proxy.ask("GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\n\r\n").status() == 200);
    const auto heads = proxy.upstream.heads();
    REQUIRE(heads.size() == 1);
    CHECK(heads[0].start == "GET /x?y HTTP/1.1");
    CHECK(heads[0].count("Host") == 1);
}

TEST_CASE("11, 12: lines and control bytes") {
    const std::string zero("Host: a\r\nX: a\0b\r\n", 17);
    check_all_refused({
        {"folded", get("Host: a\r\nX: a\r\n b\r\n"), {400}, rejected_syntax},
        {"blank before colon", get("Host: a\r\nX : b\r\n"), {400}, rejected_syntax},
        {"leading blank", get(" Host: a\r\n"), {400}, rejected_syntax},
        {"no colon", get("Host: a\r\nnonsense\r\n"), {400}, rejected_syntax},
        {"empty name", get("Host: a\r\n: b\r\n"), {400}, rejected_syntax},
        {"zero byte", get(zero), {400}, rejected_syntax},
        {"CR in value", get("Host: a\r\nX: a\rb\r\n"), {400}, rejected_syntax},
        {"bare LF", "GET / HTTP/1.1\nHost: a\n\n", {400}, rejected_syntax},
        {"control in name", get("Host: a\r\nX\x01: b\r\n"), {400}, rejected_syntax},
        {"control in target", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", {400}, rejected_syntax},
        {"delete in value", get("Host: a\r\nX: \x7f\r\n"), {400}, rejected_syntax},
    });
}

TEST_CASE("13: names with underscores pass unless they imitate, or as configured") {
    const std::string text = "GET / HTTP/1.1\r\nHost: a\r\nX_Odd: 1\r\nX_Forwarded_For: 1\r\n\r\n";
    {
        Fixture proxy;
        CHECK(proxy.ask(text).status() == 200);
        CHECK(proxy.upstream.heads()[0].has("X_Odd"));
        CHECK(!proxy.upstream.heads()[0].has("X_Forwarded_For"));
    }
    Fixture::Options options = limited();
    options.snapshot.headers.underscores = weir::config::Underscores::reject;
    Fixture proxy(std::move(options));
    check_refused(proxy, {"underscore", text, {400}, rejected_syntax});
}

TEST_CASE("14: heads beyond the bounds") {
    std::string many;
    for (int i = 0; i < 10'000; ++i) {
        many += "X: 1\r\n";
    }
    check_all_refused({
        {"long target",
         "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n",
         {414},
         rejected_target_too_long},
        {"long header",
         get("Host: a\r\nX: " + std::string(100'000, 'a') + "\r\n"),
         {431},
         rejected_head_too_large},
        {"many headers", get("Host: a\r\n" + many), {431}, rejected_head_too_large},
    });
}

TEST_CASE("15, 22: versions, other protocols, methods without a meaning here") {
    check_all_refused({
        {"HTTP/9.9", "GET / HTTP/9.9\r\nHost: a\r\n\r\n", {400, 505}, rejected_version},
        {"HTTP/1.32", "GET / HTTP/1.32\r\nHost: a\r\n\r\n", {400, 505}, rejected_version},
        {"lower case", "GET / http/1.1\r\nHost: a\r\n\r\n", {400, 505}, rejected_version},
        {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 405, 505}, rejected_version},
        {"TLS",
         std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
         {400},
         rejected_syntax},
        {"CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", {400, 405}, rejected_method},
        {"TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", {405}, rejected_method},
        {"asterisk", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", {400}, rejected_syntax},
        {"expectation",
         post("Content-Length: 5\r\nExpect: miracles\r\n"),
         {417},
         rejected_expectation},
        {"upgrade",
         get("Host: a\r\nConnection: upgrade\r\nUpgrade: other\r\n"),
         {501},
         rejected_upgrade},
    });
}

TEST_CASE("a path with two readings is answered with 400") {
    Fixture proxy(limited());
    const auto answer = proxy.get("/a/%2e%2e/b");
    CHECK(answer.status() == 400);
    CHECK(proxy.upstream.connections() == 0);
    CHECK(proxy.admitted("q") == 0);
    CHECK(proxy[Ending::rejected_path] == 1);
}
