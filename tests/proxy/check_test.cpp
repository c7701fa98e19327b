// Questions of other proxies over real sockets: the answers, what is charged, the connection.

#include <doctest/doctest.h>

#include "config/values.h"
#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

Fixture::Options asked(double amount, weir::Duration period) {
    Fixture::Options options;
    options.server.check = weir::net::Address{.host = "127.0.0.1", .port = 0, .path = {}};
    options.quotas = {quota("q", amount, period)};
    options.routing = route_all_to("q");
    return options;
}

std::string question(std::string_view target, std::string_view fields = {},
                     std::string_view method = "GET") {
    return std::string(method) + ' ' + std::string(target) + " HTTP/1.1\r\nHost: a.test\r\n" +
           std::string(fields) + "\r\n";
}

constexpr const char* kUri = "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /x\r\n";

Message ask(SocketIo& client, std::string_view text) {
    client.send(text);
    return read_response(client, text.starts_with("HEAD ")).value_or(Message{});
}

std::uint64_t checks(const Fixture& proxy, Ending ending) {
    return proxy.statistics().checks[static_cast<std::size_t>(ending)];
}

}  // namespace

TEST_CASE("allowed is a bare 200, refused the usual 429, on one connection") {
    Fixture proxy(asked(3, 600s));
    auto client = proxy.connect_check();
    for (const char* method : {"GET", "HEAD", "POST"}) {
        const auto answer = ask(client, question("/check", kUri, method));
        CHECK(answer.status() == 200);
        CHECK(answer.body.empty());
        CHECK(answer.field("Content-Length") == "0");
        CHECK(!answer.has("RateLimit"));
    }
    for (const char* method : {"GET", "HEAD", "POST"}) {
        const auto answer = ask(client, question("/check", kUri, method));
        CHECK(answer.status() == 429);
        CHECK(std::stoi(answer.field("Retry-After")) >= 1);
        CHECK(answer.field("X-Weir-Quota") == "q");
        CHECK(answer.has("RateLimit"));
        CHECK(answer.has("RateLimit-Policy"));
        CHECK(answer.body.empty() == (std::string_view(method) == "HEAD"));
        CHECK(!answer.has("X-Weir-Status"));
    }
    CHECK(proxy.upstream.connections() == 0);
    CHECK(proxy[Event::client_accepted] == 1);
    CHECK(eventually([&] { return checks(proxy, Ending::refused_limit) == 3; }));
    CHECK(checks(proxy, Ending::admitted) == 3);
    // They are no requests, and charged what requests are charged.
    CHECK(proxy.statistics().requests[static_cast<std::size_t>(Ending::admitted)] == 0);
    CHECK(proxy[Event::request_started] == 0);
    CHECK(proxy.admitted("q") == 3);
    CHECK(proxy.get("/").status() == 429);
}

TEST_CASE("deny=403 shows a 403 with the same fields and tells what it stands for") {
    Fixture proxy(asked(0, 1s));
    auto client = proxy.connect_check();
    const auto refused = ask(client, question("/check?deny=403", kUri));
    CHECK(refused.status() == 403);
    CHECK(refused.start == "HTTP/1.1 403 Forbidden");
    CHECK(refused.field("X-Weir-Status") == "429");
    CHECK(refused.has("Retry-After"));
    CHECK(refused.has("RateLimit"));
    CHECK(refused.field("Content-Length") == "0");
    const auto ambiguous =
        ask(client, question("/check?deny=403", "X-Original-URI: /a%2f..%2fb\r\n"));
    CHECK(ambiguous.status() == 403);
    CHECK(ambiguous.field("X-Weir-Status") == "400");
    CHECK(eventually([&] { return checks(proxy, Ending::rejected_path) == 1; }));
    CHECK(checks(proxy, Ending::refused_zero) == 1);
}

TEST_CASE("a head that is refused unread is shown as a 403 too, if the target asks for that") {
    Fixture proxy(asked(0, 1s));
    std::string fields;
    for (int i = 0; i < 130; ++i) {
        fields += "X-Field-" + std::to_string(i) + ": 1\r\n";
    }
    const auto answer = [&](const std::string& target) {
        auto client = proxy.connect_check();
        return ask(client, question(target, fields));
    };
    for (const char* target :
         {"/check?deny=403", "/check?peek=1&deny=403", "/check?deny=403&peek=1"}) {
        CAPTURE(target);
        const auto refused = answer(target);
        CHECK(refused.status() == 403);
        CHECK(refused.field("X-Weir-Status") == "431");
        CHECK(refused.field("Content-Length") == "0");
    }
    for (const char* target : {"/check", "/check?deny=4031", "/check?deny=429", "/check?xdeny=403",
                               "/check/x?deny=403", "/deny=403"}) {
        CAPTURE(target);
        CHECK(answer(target).status() == 431);
    }
}

TEST_CASE("deny=403 counts whatever is wrong with the question") {
    auto options = asked(1, 600s);
    options.snapshot.timeouts.request_head = 1s;  // a busy machine has sent the questions by then
    Fixture proxy(std::move(options));
    auto client = proxy.connect_check();
    for (const char* target :
         {"/check?foo=1&deny=403", "/check?deny=403&quota=", "/check?deny=403&deny=500",
          "/peek?weight=many&deny=403", "/check?deny=403"}) {
        CAPTURE(target);
        const auto denied = ask(client, question(target));
        CHECK(denied.status() == 403);
        CHECK(denied.field("X-Weir-Status") == "400");
        CHECK(denied.field("Content-Length") == "0");
    }
    auto slow = proxy.connect_check();
    slow.send("GET /check?deny=403 HTTP/1.1\r\nHost: a\r\nX-For");
    const auto late = read_response(slow);
    REQUIRE(late);
    CHECK(late->status() == 403);
    CHECK(late->field("X-Weir-Status") == "408");
}

TEST_CASE("peeking charges nothing and still tells of a refusal") {
    Fixture proxy(asked(1, 600s));
    auto client = proxy.connect_check();
    for (int i = 0; i < 5; ++i) {
        CHECK(ask(client, question("/check?peek=1", kUri)).status() == 200);
        CHECK(ask(client, question("/peek/x")).status() == 200);
    }
    CHECK(proxy.admitted("q") == 0);
    CHECK(ask(client, question("/check/x")).status() == 200);
    CHECK(ask(client, question("/check?peek=1", kUri)).status() == 429);
    CHECK(proxy[Event::check_peeked] == 11);
    CHECK(proxy.admitted("q") == 1);
}

TEST_CASE("several lists of names: one of each is charged, and one without a quota is noted") {
    auto options = asked(2, 600s);
    options.quotas.push_back(quota("space/{w}", 5, 600s));
    Fixture proxy(options);
    auto client = proxy.connect_check();
    CHECK(ask(client, question("/check?quota=none&quota=q&also=space/1")).status() == 200);
    CHECK(ask(client, question("/check?quota=q&also=space/1&quota=q")).status() == 200);
    CHECK(ask(client, question("/check?quota=q&also=space/1")).field("X-Weir-Quota") == "q");
    CHECK(ask(client, question("/check?quota=q&also=none&peek=1")).status() == 429);
    CHECK(proxy.admitted("q") == 2);
    CHECK(proxy.admitted("space/{w}") == 2);
    CHECK(ask(client, question("/check?quota=other&also=space/1")).status() == 200);
    CHECK(proxy[Event::check_unknown_quota] == 2);
    CHECK(proxy.server->take_unknown_names() == std::vector<std::string>{"none", "other"});
}

TEST_CASE("a quota by its name, with a weight; one that does not exist lets pass") {
    Fixture proxy(asked(10, 600s));
    auto client = proxy.connect_check();
    CHECK(ask(client, question("/check?quota=none&quota=q&weight=8")).status() == 200);
    CHECK(proxy.admitted("q") == 8);
    CHECK(ask(client, question("/check?quota=q&weight=8")).status() == 429);
    CHECK(ask(client, question("/check?quota=none")).status() == 200);
    CHECK(eventually([&] { return checks(proxy, Ending::unlimited) == 1; }));
    CHECK(ask(client, question("/check?quota=q&wieght=8")).status() == 400);
    CHECK(eventually([&] { return checks(proxy, Ending::rejected_question) == 1; }));
}

TEST_CASE("what the traffic port answers with 400 gets 400, and nothing is charged") {
    Fixture proxy(asked(10, 600s));
    auto client = proxy.connect_check();
    for (const char* fields : {"X-Forwarded-Uri: /a%2f..%2fb\r\n", "X-Forwarded-Uri: /../a\r\n", "",
                               "X-Forwarded-Uri: /a\r\nX-Original-URI: /b\r\n",
                               "X-Forwarded-Uri: /a\r\nX-Forwarded-Host: a b\r\n"}) {
        CAPTURE(fields);
        CHECK(ask(client, question("/check", fields)).status() == 400);
    }
    CHECK(ask(client, question("/check/%2e%2e/a")).status() == 400);
    CHECK(ask(client, question("/other")).status() == 404);
    CHECK(proxy.admitted("q") == 0);
    // All on one connection: the host in front did nothing wrong with it.
    CHECK(proxy[Event::client_accepted] == 1);
}

TEST_CASE("a malformed check is answered once and never with a 5xx") {
    Fixture proxy(asked(10, 600s));
    for (const char* text :
         {"GET /check/x HTTP/1.1\r\n\r\n", "GET /check/x HTTP/9.9\r\nHost: a\r\n\r\n",
          "GET /check/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
          "GET /check/x HTTP/1.1\r\nHost: a\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n",
          "POST /check/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
          "chunked\r\n\r\n",
          "POST /check/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
        CAPTURE(text);
        auto client = proxy.connect_check();
        client.send(std::string(text) + question("/check/y"));
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->status() >= 400);
        CHECK(answer->status() < 500);
        CHECK(client.closed_within(kPatience));
        CHECK(client.buffered().empty());
    }
    CHECK(proxy.admitted("q") == 0);
}

TEST_CASE("bodies are read away up to the bound, else the connection closes behind the answer") {
    auto options = asked(10, 600s);
    options.snapshot.limits.refused_body = 1000;
    Fixture proxy(std::move(options));
    auto client = proxy.connect_check();
    const std::string body(1000, 'b');
    for (int i = 0; i < 2; ++i) {
        client.send(question("/check/x", "Content-Length: 1000\r\n", "POST") + body);
        CHECK(read_response(client)->status() == 200);
    }
    client.send(question("/check/x", "Transfer-Encoding: chunked\r\n", "POST") +
                "5\r\nhello\r\n0\r\n\r\n");
    CHECK(read_response(client)->status() == 200);
    client.send(question("/check/x", "Content-Length: 1001\r\n", "POST"));
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 200);
    CHECK(answer->field("Connection") == "close");
    CHECK(client.closed_within(kPatience));
    CHECK(proxy[Event::client_accepted] == 1);
}

TEST_CASE("pipelined and HTTP/1.0 questions") {
    Fixture proxy(asked(2, 600s));
    auto client = proxy.connect_check();
    client.send(question("/check/a") + question("/check/b") + question("/check/c"));
    CHECK(read_response(client)->status() == 200);
    CHECK(read_response(client)->status() == 200);
    CHECK(read_response(client)->status() == 429);
    auto old = proxy.connect_check();
    old.send("GET /check/a HTTP/1.0\r\nHost: a\r\n\r\n");
    CHECK(read_response(old)->status() == 429);
    CHECK(old.closed_within(kPatience));
}

TEST_CASE("who is not among check.clients gets 403, also after a reload") {
    auto options = asked(10, 600s);
    options.snapshot.check_clients = {*weir::config::parse_address_block("192.0.2.0/24")};
    Fixture proxy(std::move(options));
    auto client = proxy.connect_check();
    CHECK(ask(client, question("/check/x")).status() == 403);
    CHECK(eventually([&] { return checks(proxy, Ending::rejected_client) == 1; }));
    auto changed = std::make_shared<Snapshot>(*proxy.snapshot());
    changed->check_clients.push_back(*weir::config::parse_address_block("127.0.0.0/8"));
    proxy.server->replace(changed);
    REQUIRE(eventually([&] { return proxy[Event::reloads] == 1; }));
    CHECK(ask(client, question("/check/x")).status() == 200);
    CHECK(proxy.admitted("q") == 1);
}

TEST_CASE("success fields are on allowed checks if they are switched on") {
    auto options = asked(10, 600s);
    options.snapshot.headers.on_success = true;
    Fixture proxy(std::move(options));
    auto client = proxy.connect_check();
    const auto answer = ask(client, question("/check/x"));
    CHECK(answer.status() == 200);
    CHECK(answer.field("RateLimit").starts_with("\"q\";r=9"));
}

TEST_CASE("weights from headers are believed from trusted proxies only") {
    for (const bool trusted : {false, true}) {
        auto options = asked(10, 600s);
        options.routing.routes[0].weight = {.source = weir::routing::WeightSource::header,
                                            .constant = 1,
                                            .table = {},
                                            .header = "x-cost"};
        if (trusted) {
            options.snapshot.trusted_proxies.emplace(
                {*weir::config::parse_address_block("127.0.0.1")});
        }
        Fixture proxy(std::move(options));
        auto client = proxy.connect_check();
        CHECK(ask(client, question("/check/x", "X-Cost: 4\r\n")).status() == 200);
        CHECK(proxy.admitted("q") == (trusted ? 4 : 1));
    }
}

TEST_CASE("several workers answer on one port, and on a unix socket") {
    auto options = asked(1000, 600s);
    options.server.workers = 2;
    Fixture proxy(std::move(options));
    for (int i = 0; i < 20; ++i) {
        auto client = proxy.connect_check();
        CHECK(ask(client, question("/check/x")).status() == 200);
    }
    auto local = asked(1000, 600s);
    local.server.workers = 2;
    local.server.check->host.clear();
    local.server.check->path = "@weir-check-test";
    Fixture other(std::move(local));
    for (int i = 0; i < 20; ++i) {
        auto client = other.connect_check();
        CHECK(ask(client, question("/check/x")).status() == 200);
    }
}

TEST_CASE("a taken address of the check listener is an error that names it") {
    Fixture proxy(asked(10, 600s));
    weir::limiter::Limiter limiter{weir::limiter::LimiterOptions{.max_instances = 100}};
    ServerSettings settings;
    settings.listen = {.host = "127.0.0.1", .port = 0, .path = {}};
    settings.check = proxy.server->checking();
    Server second(settings, limiter, proxy.snapshot());
    const auto started = second.start();
    REQUIRE(started.has_error());
    CHECK(started.error().message.find("check.listen") != std::string::npos);
}

TEST_CASE("draining answers checks with Connection: close; stopping ends idle ones") {
    auto options = asked(10, 600s);
    options.server.drain = {.grace = 10s, .keep_accepting = 100ms};
    Fixture proxy(std::move(options));
    auto first = proxy.connect_check();
    auto idle = proxy.connect_check();
    CHECK(ask(first, question("/check/x")).status() == 200);
    CHECK(ask(idle, question("/check/x")).status() == 200);
    proxy.server->drain();
    CHECK(ask(first, question("/check/x")).field("Connection") == "close");
    proxy.server->stop([] {});
    CHECK(idle.closed_within(kPatience));
    proxy.server->join();
    CHECK_THROWS((void)proxy.connect_check());
}

TEST_CASE("/v1/obtain grants what is free, at least the minimum or nothing") {
    Fixture proxy(asked(10, 600s));
    auto client = proxy.connect_check();
    const auto obtain = [&](std::string_view query) {
        return ask(client, question("/v1/obtain?" + std::string(query), {}, "POST"));
    };
    const auto first = obtain("quota=q&n=4");
    CHECK(first.status() == 200);
    CHECK(first.field("Content-Type") == "application/json");
    CHECK(first.body == "{\"granted\":4,\"remaining\":6,\"reset_seconds\":0.000}\n");
    CHECK(obtain("quota=q&n=100&peek=1").body.starts_with("{\"granted\":6,"));
    const auto refused = obtain("quota=q&n=100&minimum=7");
    CHECK(refused.status() == 429);
    CHECK(refused.field("X-Weir-Quota") == "q");
    CHECK(refused.has("Retry-After"));
    CHECK(obtain("quota=q&n=100&minimum=11").status() == 400);
    CHECK(proxy.admitted("q") == 4);
    CHECK(obtain("quota=q&n=100&minimum=6").body.starts_with("{\"granted\":6,\"remaining\":0,"));
    CHECK(obtain("quota=q&n=1").status() == 429);
    CHECK(obtain("quota=none&n=5").body == "{\"granted\":5}\n");
    CHECK(obtain("quota=q&n=5&of=request-bytes").body.starts_with("{\"granted\":5,"));
    CHECK(obtain("quota=q").status() == 400);
    CHECK(proxy.admitted("q") == 10);
    CHECK(proxy[Event::client_accepted] == 1);
    CHECK(proxy[Event::check_obtained] == 4);
    CHECK(proxy[Event::check_obtained_part] == 1);
    CHECK(eventually([&] { return checks(proxy, Ending::refused_limit) == 3; }));
}
