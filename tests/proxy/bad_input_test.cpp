// robustness of the client's side: what must be refused, with nothing sent to the upstream and
// nothing charged. Numbers are those of the list of faults in docs/proxy.md.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

const std::string kHost = "Host: a.test\r\n";

std::string get(std::string_view fields) {
    return "GET / HTTP/1.1\r\n" + std::string(fields) + "\r\n";
}

std::string post(std::string_view fields, std::string_view body = "hello") {
    return "POST / HTTP/1.1\r\n" + kHost + std::string(fields) + "\r\n" + std::string(body);
}

Fixture::Options limited() {
    Fixture::Options options;
    options.quotas = {quota("q", 100, 1s)};
    options.routing = route_all_to("q");
    return options;
}

struct Case {
    const char* what;
    std::string bytes;
    std::vector<int> statuses;
};

/// One error answer, the connection closed, a request behind it never served, nothing charged.
void check_refused(Fixture& proxy, const Case& fault) {
    INFO(std::string(fault.what));
    auto client = proxy.connect();
    client.send(fault.bytes);
    client.send("GET /behind HTTP/1.1\r\nHost: a.test\r\n\r\n");
    const auto answer = read_response(client);
    REQUIRE(answer);
    const int status = answer->status();
    CHECK_MESSAGE(std::count(fault.statuses.begin(), fault.statuses.end(), status) == 1, status);
    CHECK(answer->field("Connection") == "close");
    CHECK(answer->complete);
    CHECK(client.closed_within(kPatience));
    CHECK(client.buffered().empty());
    CHECK(proxy.upstream.connections() == 0);
    CHECK(proxy.admitted("q") == 0);
}

void check_all_refused(const std::vector<Case>& cases) {
    Fixture proxy(limited());
    for (const auto& fault : cases) check_refused(proxy, fault);
    REQUIRE(proxy.finished(cases.size()));
    const auto statistics = proxy.statistics();
    std::uint64_t rejected = 0;
    for (std::size_t i = 0; i < kEndings; ++i) {
        if (outcome(static_cast<Ending>(i)) == "rejected") rejected += statistics.requests[i];
    }
    CHECK(rejected == cases.size());
    CHECK(statistics.inflight_requests() == 0);
}

}  // namespace

TEST_CASE("1-5: ambiguous framing") {
    check_all_refused({
        {"CL and TE",
         post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
         {400}},
        {"TE and CL",
         post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
         {400}},
        {"gzip", post("Transfer-Encoding: gzip\r\n"), {400, 501}},
        {"gzip, CL", post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), {400, 501}},
        {"identity", post("Transfer-Encoding: identity\r\n"), {400, 501}},
        {"xchunked", post("Transfer-Encoding: xchunked\r\n"), {400, 501}},
        {"empty", post("Transfer-Encoding:\r\n"), {400, 501}},
        {"chunked twice in one", post("Transfer-Encoding: chunked, chunked\r\n"), {400, 501}},
        {"chunked;x", post("Transfer-Encoding: chunked;x\r\n"), {400, 501}},
        {"vertical tab",
         post("Transfer-Encoding: \x0b"
              "chunked\r\n"),
         {400, 501}},
        {"0xa0", post("Transfer-Encoding: chunked\xa0\r\n"), {400, 501}},
        {"TE twice",
         post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
         {400}},
        {"TE in HTTP/1.0",
         "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         {400}},
        {"two CL", post("Content-Length: 5\r\nContent-Length: 6\r\n"), {400}},
        {"CL twice", post("Content-Length: 5\r\nContent-Length: 5\r\n"), {400}},
        {"CL list", post("Content-Length: 5, 5\r\n"), {400}},
    });
}

TEST_CASE("6: malformed Content-Length") {
    std::vector<Case> cases;
    for (const char* value : {"+5", "-1", "0x5", "5 5", "1_0", "9223372036854775808",
                              "99999999999999999999", "", "5;"}) {
        cases.push_back({value, post("Content-Length: " + std::string(value) + "\r\n"), {400}});
    }
    check_all_refused(cases);
}

TEST_CASE("7, 8: malformed chunks in what came with the head") {
    std::vector<Case> cases;
    const std::vector<std::string> bodies = {
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\nhello\n0\n\n",
        "5\rhello\r\n0\r\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "\r\nhello",
        "00000000000000005\r\nhello\r\n0\r\n\r\n",
        "5;a=\x01\r\nhello\r\n0\r\n\r\n",
        "5;a=" + std::string(5000, 'b') + "\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nContent-Length: 7\r\nbad trailer\r\n\r\n"};
    for (const auto& body : bodies) {
        cases.push_back({body.c_str(), post("Transfer-Encoding: chunked\r\n", body), {400}});
    }
    check_all_refused(cases);
}

TEST_CASE(
    "7: a malformed chunk later ends both connections; the upstream sees no end of the body") {
    std::atomic<bool> complete = true;
    std::atomic<bool> ended = false;
    Fixture proxy(limited());
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        const auto got = session.request();
        complete = got && got->complete;
        ended = session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send(post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"));
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    client.send("0x3\r\nabc\r\n0\r\n\r\n");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 400);
    CHECK(client.closed_within(kPatience));
    CHECK(eventually([&] { return ended.load(); }));
    CHECK(!complete);
    CHECK(proxy[Ending::rejected_body] == 1);
}

TEST_CASE("8: millions of one-byte chunks are refused, or cost no more than the same bytes") {
    Fixture proxy(limited());
    proxy.upstream.set_script([](FakeUpstream::Session& session) {
        session.head();
        session.io.take_all();
    });
    auto client = proxy.connect();
    client.send(post("Transfer-Encoding: chunked\r\n", {}));
    std::string chunks;
    for (int i = 0; i < 10'000; ++i) chunks += "1\r\nx\r\n";
    for (int i = 0; i < 30; ++i) {
        if (!client.send(chunks)) break;
    }
    client.shut_down_sending();
    CHECK(client.closed_within(kPatience));
    CHECK(proxy.finished(1));
}

TEST_CASE("9, 10: Host") {
    check_all_refused({
        {"missing", get(""), {400}},
        {"two", get("Host: a\r\nHost: a\r\n"), {400}},
        {"empty", get("Host:\r\n"), {400}},
        {"comma", get("Host: a,b\r\n"), {400}},
        {"user info", get("Host: u@a\r\n"), {400}},
        {"path", get("Host: a/b\r\n"), {400}},
        {"absolute form with another host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", {400}},
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
        {"folded", get("Host: a\r\nX: a\r\n b\r\n"), {400}},
        {"blank before colon", get("Host: a\r\nX : b\r\n"), {400}},
        {"leading blank", get(" Host: a\r\n"), {400}},
        {"no colon", get("Host: a\r\nnonsense\r\n"), {400}},
        {"empty name", get("Host: a\r\n: b\r\n"), {400}},
        {"zero byte", get(zero), {400}},
        {"CR in value", get("Host: a\r\nX: a\rb\r\n"), {400}},
        {"bare LF", "GET / HTTP/1.1\nHost: a\n\n", {400}},
        {"control in name", get("Host: a\r\nX\x01: b\r\n"), {400}},
        {"control in target", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", {400}},
        {"delete in value", get("Host: a\r\nX: \x7f\r\n"), {400}},
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
    check_refused(proxy, {"underscore", text, {400}});
}

TEST_CASE("14: heads beyond the bounds") {
    std::string many;
    for (int i = 0; i < 10'000; ++i) many += "X: 1\r\n";
    check_all_refused({
        {"long target",
         "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n",
         {414}},
        {"long header", get("Host: a\r\nX: " + std::string(100'000, 'a') + "\r\n"), {431}},
        {"many headers", get("Host: a\r\n" + many), {431}},
    });
}

TEST_CASE("15, 22: versions, other protocols, methods without a meaning here") {
    check_all_refused({
        {"HTTP/9.9", "GET / HTTP/9.9\r\nHost: a\r\n\r\n", {400, 505}},
        {"HTTP/1.32", "GET / HTTP/1.32\r\nHost: a\r\n\r\n", {400, 505}},
        {"lower case", "GET / http/1.1\r\nHost: a\r\n\r\n", {400, 505}},
        {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 405, 505}},
        {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), {400}},
        {"CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", {400, 405}},
        {"TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", {405}},
        {"asterisk", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", {400}},
        {"expectation", post("Content-Length: 5\r\nExpect: miracles\r\n"), {417}},
        {"upgrade", get("Host: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"), {501}},
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

TEST_CASE("16: every prefix of a request waits, then is answered with 408") {
    auto options = limited();
    options.snapshot.timeouts.request_head = 300ms;
    Fixture proxy(std::move(options));
    const std::string whole = "GET /x HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\n";
    std::vector<SocketIo> clients;
    for (std::size_t size = 1; size < whole.size(); ++size) {
        clients.push_back(proxy.connect());
        clients.back().send(whole.substr(0, size));
    }
    for (auto& client : clients) {
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() == 408);
        CHECK(client.closed_within(kPatience));
    }
    CHECK(proxy.upstream.connections() == 0);
    CHECK(proxy[Ending::rejected_head_timeout] == whole.size() - 1);
}

TEST_CASE("16: the time for a head is counted in total, not per byte") {
    auto options = limited();
    options.snapshot.timeouts.request_head = 400ms;
    Fixture proxy(std::move(options));
    auto client = proxy.connect();
    const auto begin = std::chrono::steady_clock::now();
    while (client.closing() == Closing::open && std::chrono::steady_clock::now() - begin < 5s) {
        client.send_some("G", 10ms);
        client.receive_more(50ms);
    }
    CHECK(std::chrono::steady_clock::now() - begin < 4s);
    CHECK(client.buffered().find(" 408 ") != std::string::npos);
}

TEST_CASE("an idle connection is closed without a word") {
    auto options = limited();
    options.snapshot.timeouts.request_head = 200ms;
    options.snapshot.timeouts.keep_alive_idle = 300ms;
    Fixture proxy(std::move(options));
    auto silent = proxy.connect();
    auto served = proxy.connect();
    served.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(read_response(served)->status() == 200);
    CHECK(silent.closed_within(kPatience));
    CHECK(served.closed_within(kPatience));
    CHECK(silent.buffered().empty());
    CHECK(served.buffered().empty());
    CHECK(proxy[Event::client_idle_timeout] == 2);
}

TEST_CASE("17: a body that stands still is answered with 408, and the upstream is let go") {
    auto options = limited();
    options.snapshot.timeouts.body_idle = 300ms;
    Fixture proxy(std::move(options));
    auto client = proxy.connect();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 408);
    CHECK(client.closed_within(kPatience));
    CHECK(proxy[Ending::rejected_body_timeout] == 1);
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}

TEST_CASE("17: 300 slow clients at once, others see no error") {
    auto options = limited();
    options.quotas = {quota("q", 1e6, 1s)};
    options.snapshot.timeouts.request_head = 2s;
    Fixture proxy(std::move(options));
    std::vector<SocketIo> slow;
    for (int i = 0; i < 300; ++i) {
        slow.push_back(proxy.connect());
        slow.back().send(i % 2 == 0 ? "GET / HT" : "PUT / HTTP/1.1\r\nHost: a\r\nContent-Le");
    }
    auto good = proxy.connect();
    for (int i = 0; i < 200; ++i) {
        good.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        REQUIRE(read_response(good)->status() == 200);
    }
    for (auto& client : slow) CHECK(client.closed_within(kPatience));
    CHECK(proxy[Ending::rejected_head_timeout] == 300);
}

TEST_CASE("24: a client that leaves within its body or the answer takes the upstream with it") {
    std::atomic<int> released = 0;
    std::atomic<int> partial = 0;
    Fixture proxy(limited());
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        const auto got = session.request();
        if (got && !got->complete) ++partial;
        if (got && got->complete) {
            session.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\npart of it");
        }
        if (session.io.closed_within(kPatience)) ++released;
    });
    auto in_body = proxy.connect();
    in_body.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
    auto in_answer = proxy.connect();
    in_answer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    auto waiting = proxy.connect();
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 2; }));
    REQUIRE(in_answer.take_until("part of it"));
    const auto begin = std::chrono::steady_clock::now();
    in_body.close();
    in_answer.reset();
    CHECK(eventually([&] { return released == 2; }));
    CHECK(std::chrono::steady_clock::now() - begin < 1s);
    CHECK(partial == 1);
    CHECK(eventually([&] { return proxy[Ending::client_closed] == 2; }));
    CHECK(eventually([&] { return proxy.statistics().upstream_connections() == 0; }));
}
