// Tiers that peek, stated weights and costs, free statuses, response bytes, refusals as quotas have
// them, request ids.

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <thread>

#include "net/clock.h"
#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;
using weir::limiter::Unit;

namespace {

std::string get(const std::string& fields = {}) {
    return "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n" + fields + "\r\n";
}

Fixture::Options limited(double amount, weir::Duration period, Unit unit = Unit::requests) {
    Fixture::Options options;
    options.quotas = {quota("q", amount, period)};
    options.quotas[0].limits[0].unit = unit;
    options.routing = route_all_to("q");
    return options;
}

Fixture::Options trusting(Fixture::Options options) {
    options.snapshot.trusted_proxies.emplace(
        {weir::AddressBlock{.base = weir::Endpoint::v4(0x7f000001, 0), .prefix_bits = 128}});
    return options;
}

Fixture::Options believing(Fixture::Options options) {
    options.snapshot.judging_proxies = *trusting({}).snapshot.trusted_proxies;
    return options;
}

/// What the limit counts.
double level(const Fixture& proxy) {
    return proxy.admitted("q") - proxy.counted("q", &weir::limiter::DefinitionStatistics::refunded);
}

}  // namespace

TEST_CASE("a named tier's word that it has judged: charged, not judged, and not passed on") {
    Fixture proxy(believing(limited(2, 60s)));
    for (int i = 0; i < 5; ++i) {
        CHECK(proxy.ask(get("X-Weir-Judged: 1\r\n")).status() == 200);
    }
    CHECK(proxy.ask(get()).status() == 429);  // those five were charged
    CHECK(proxy.ask(get("x-weir-judged: yes\r\n")).status() == 429);
    REQUIRE(proxy.finished(7));
    CHECK(proxy[Event::judged_in_front] == 5);
    for (const auto& head : proxy.upstream.heads()) {
        CHECK(!head.has("X-Weir-Judged"));
    }
}

TEST_CASE("anybody else's is ignored and taken away, a trusted proxy's too") {
    for (const bool trusted : {false, true}) {
        CAPTURE(trusted);
        Fixture proxy(trusted ? trusting(limited(2, 60s)) : limited(2, 60s));
        for (int i = 0; i < 5; ++i) {
            CHECK(proxy.ask(get("X-Weir-Judged: 1\r\n")).status() == (i < 2 ? 200 : 429));
        }
        REQUIRE(proxy.finished(5));
        CHECK(proxy[Event::judged_in_front] == 0);
        CHECK(proxy[Event::judged_ignored] == 5);
        for (const auto& head : proxy.upstream.heads()) {
            CHECK(!head.has("X-Weir-Judged"));
        }
    }
}

TEST_CASE("13: no name with underscores imitates a field that the configuration names") {
    auto options = trusting(limited(1000, 60s));
    options.routing.routes.emplace_back();
    options.routing.routes[0].weight = {weir::routing::WeightSource::header, 1, {}, "X-Cost"};
    options.routing.routes[0].match.headers = {{"x-tenant", false, ""}};
    options.routing.routes[1].quotas = {"q"};
    options.routing.routes[1].match.path = "/**";
    options.quotas[0].enforced_share = 0.5;
    weir::limiter::QuotaOptions by_client;
    by_client.enforced_by = "x-client";
    options.quotas[0].options = by_client;
    Fixture proxy(std::move(options));
    CHECK(proxy
              .ask(get("X_Cost: 0\r\nx_tenant: a\r\nX_Weir-Judged: 1\r\nX_WEIR_COST: 0\r\n"
                       "X_Client: b\r\nX_Other: c\r\nX-Client: d\r\n"))
              .status() == 200);
    const auto head = proxy.upstream.heads().at(0);
    for (const auto* name : {"X_Cost", "x_tenant", "X_Weir-Judged", "X_WEIR_COST", "X_Client"}) {
        CAPTURE(name);
        CHECK(!head.has(name));
    }
    CHECK(head.has("X_Other"));
    CHECK(head.field("X-Client") == "d");
    CHECK(proxy.admitted("q") == 1);
}

TEST_CASE("who may say that it has judged may not state weights or addresses for that") {
    auto options = believing(limited(1000, 60s));
    options.routing.routes[0].weight = {weir::routing::WeightSource::header, 1, {}, "X-Cost"};
    Fixture proxy(std::move(options));
    CHECK(proxy.ask(get("X-Weir-Judged: 1\r\nX-Cost: 7\r\n")).status() == 200);
    CHECK(proxy.admitted("q") == 1);
    CHECK(!proxy.upstream.heads()[0].has("X-Cost"));
}

TEST_CASE("the field has another name, or none") {
    auto named = believing(limited(1, 60s));
    named.snapshot.headers.judged = "X-Front";
    Fixture proxy(std::move(named));
    for (int i = 0; i < 3; ++i) {
        CHECK(proxy.ask(get("X-Front: 1\r\n")).status() == 200);
    }
    auto none = believing(limited(1, 60s));
    none.snapshot.headers.judged = "";
    Fixture without(std::move(none));
    CHECK(without.ask(get("X-Weir-Judged: 1\r\n")).status() == 200);
    CHECK(without.ask(get("X-Weir-Judged: 1\r\n")).status() == 429);
}

TEST_CASE("a front tier charges nothing and says what it has judged") {
    auto options = limited(2, 60s);
    options.snapshot.peek = true;
    options.routing.routes.push_back(options.routing.routes[0]);
    options.routing.routes[0].match.path = "/none";
    options.routing.routes[0].quotas = {"missing"};
    Fixture proxy(std::move(options));
    for (int i = 0; i < 5; ++i) {
        CHECK(proxy.ask(get("X-Weir-Judged: 1\r\n")).status() == 200);
    }
    CHECK(proxy.get("/none").status() == 200);
    const auto heads = proxy.upstream.heads();
    REQUIRE(heads.size() == 6);
    for (int i = 0; i < 5; ++i) {
        CHECK(heads[static_cast<std::size_t>(i)].field("X-Weir-Judged") == "1");
        CHECK(heads[static_cast<std::size_t>(i)].count("X-Weir-Judged") == 1);
    }
    CHECK(!heads[5].has("X-Weir-Judged"));  // no quota: nothing was judged
    CHECK(proxy.admitted("q") == 0);
}

TEST_CASE("a front tier refuses, and reports what it refused as offered") {
    auto options = limited(0, 1s);
    options.snapshot.peek = true;
    Fixture proxy(std::move(options));
    for (int i = 0; i < 3; ++i) {
        CHECK(proxy.ask(get()).status() == 429);
    }
    CHECK(proxy.upstream.requests() == 0);
    REQUIRE(proxy.finished(3));
    CHECK(proxy.refused("q") == 3);
    CHECK(proxy.counted("q", &weir::limiter::DefinitionStatistics::offered) == 3);
}

TEST_CASE("weights that a field states") {
    const auto weighed = [](Fixture::Options options) {
        options.routing.routes[0].weight = {weir::routing::WeightSource::header, 1, {}, "X-Cost"};
        options.routing.max_weight = 4;
        return options;
    };
    Fixture trusted(weighed(trusting(limited(1000, 60s))));
    CHECK(trusted.ask(get("X-Cost: 2.5\r\n")).status() == 200);
    CHECK(trusted.admitted("q") == 2.5);
    CHECK(trusted.ask(get("X-Cost: heavy\r\n")).status() == 200);
    CHECK(trusted.ask(get("X-Cost: 2\r\nX-Cost: 3\r\n")).status() == 200);
    CHECK(trusted.ask(get()).status() == 200);
    CHECK(trusted.admitted("q") == 5.5);
    CHECK(trusted.ask(get("X-Cost: 1e9\r\n")).status() == 200);
    CHECK(trusted.ask(get("X-Cost: 1000\r\n")).status() == 200);
    CHECK(trusted.admitted("q") == 10.5);
    CHECK(trusted[Event::weight_invalid] == 3);
    CHECK(trusted[Event::weight_clamped] == 1);
    CHECK(trusted.upstream.heads()[0].field("X-Cost") == "2.5");
    Fixture other(weighed(limited(1000, 60s)));
    CHECK(other.ask(get("X-Cost: 3\r\nx-cost: 4\r\n")).status() == 200);
    CHECK(other.admitted("q") == 1);
    CHECK(other[Event::weight_invalid] == 0);
    CHECK(!other.upstream.heads()[0].has("X-Cost"));
}

TEST_CASE("the cost that the upstream states counts and is taken out of the answer") {
    Fixture proxy(limited(1000, 60s, Unit::cost));
    std::uint64_t answers = 0;
    const auto answer_with = [&](const std::string& fields) {
        proxy.upstream.set_script([fields](FakeUpstream::Session& session) {
            if (!session.request()) {
                return;
            }
            session.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + fields +
                         "X-Other: 1\r\n\r\nok");
        });
        const auto answer = proxy.ask(get());
        CHECK(answer.status() == 200);
        CHECK(answer.body == "ok");
        CHECK(!answer.has("X-Weir-Cost"));
        CHECK(answer.field("X-Other") == "1");
        REQUIRE(proxy.finished(++answers));
    };
    answer_with("X-Weir-Cost: 20\r\n");
    CHECK(level(proxy) == 20);
    answer_with("x-weir-cost: 0.5\r\n");
    CHECK(level(proxy) == 20.5);
    answer_with("X-Weir-Cost: 0\r\n");
    CHECK(level(proxy) == 20.5);
    for (const std::string bad : {"-1", "much", "", "1, 2", "1\r\nX-Weir-Cost: 2"}) {
        CAPTURE(bad);
        const double before = level(proxy);
        answer_with("X-Weir-Cost: " + bad + "\r\n");
        CHECK(level(proxy) == before + 1);
    }
    CHECK(proxy[Event::cost_invalid] == 5);
}

TEST_CASE("free statuses are given back, weir's own among them") {
    auto options = limited(5, 60s);
    options.routing.refund = {{304, 304}, {500, 599}};
    Fixture proxy(std::move(options));
    const auto serve = [&](const std::string& head) {
        proxy.upstream.set_script([head](FakeUpstream::Session& session) {
            if (session.request()) {
                session.send(head);
            }
        });
    };
    serve("HTTP/1.1 304 Not Modified\r\n\r\n");
    for (int i = 0; i < 8; ++i) {
        CHECK(proxy.ask(get()).status() == 304);
    }
    serve("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
    for (int i = 0; i < 8; ++i) {
        CHECK(proxy.ask(get()).status() == 503);
    }
    serve("nonsense\r\n\r\n");
    for (int i = 0; i < 8; ++i) {
        CHECK(proxy.ask(get()).status() == 502);
    }
    REQUIRE(proxy.finished(24));
    CHECK(proxy[Event::refunds_by_status] == 24);
    CHECK(level(proxy) == 0);
    serve("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
    for (int i = 0; i < 8; ++i) {
        CHECK(proxy.ask(get()).status() == (i < 5 ? 404 : 429));
    }
}

TEST_CASE("weir's own answer to a client's mistake is not free, whatever statuses are") {
    auto options = limited(5, 60s);
    options.routing.refund = {{400, 599}};
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([](FakeUpstream::Session& session) { session.request(); });
    auto client = proxy.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    REQUIRE(eventually([&] { return proxy.upstream.requests() == 1; }));
    client.send("not a chunk\r\n");
    const auto answer = read_response(client);
    REQUIRE(answer);
    CHECK(answer->status() == 400);
    CHECK(proxy[Ending::rejected_body] == 1);
    CHECK(proxy[Event::refunds_by_status] == 0);
    CHECK(level(proxy) == 1);
}

TEST_CASE("request bytes in chunks are charged as they come, and the rest at the end") {
    Fixture proxy(limited(1e9, 1s, Unit::request_bytes));
    constexpr std::size_t kPart = 1024 * 1024;
    auto client = proxy.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" +
                std::string(kPart, 'x') + "\r\n");
    CHECK(eventually([&] { return proxy.admitted("q") > 0.9 * kPart; }));
    CHECK(proxy[Event::corrections] > 8);
    client.send("5\r\nhello\r\n0\r\n\r\n");
    REQUIRE(read_response(client));
    REQUIRE(proxy.finished(1));
    CHECK(proxy.admitted("q") == kPart + 5);
}

TEST_CASE("response bytes are charged as they flow, and what was sent when it breaks off") {
    auto options = limited(1e9, 1s, Unit::response_bytes);
    Fixture proxy(std::move(options));
    constexpr std::size_t kPart = 1024 * 1024;
    std::atomic<bool> go_on = false;
    std::atomic<bool> stop = false;
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        if (!session.request()) {
            return;
        }
        session.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(4 * kPart) +
                     "\r\n\r\n" + std::string(kPart, 'x'));
        while (!go_on) {
            std::this_thread::sleep_for(1ms);
        }
        session.send(std::string(kPart, 'y'));
        while (!stop) {
            std::this_thread::sleep_for(1ms);  // and no more
        }
    });
    auto client = proxy.connect();
    client.send(get());
    REQUIRE(read_head(client));
    REQUIRE(client.take(kPart));
    // Long before the end all but the last step of it is charged.
    CHECK(eventually([&] { return proxy.admitted("q") > 0.9 * kPart; }));
    CHECK(proxy[Event::corrections] > 8);
    go_on = true;
    REQUIRE(client.take(kPart));
    stop = true;
    REQUIRE(proxy.finished(1));
    CHECK(level(proxy) == 2 * kPart);
}

TEST_CASE("a response that paused for minutes is still counted when it goes on") {
    std::atomic<bool> go_on = false;
    auto options = limited(1e9, 1s, Unit::response_bytes);
    options.quotas.insert(options.quotas.begin(), quota("t/{k}", 1e9, 1s));
    options.quotas[0].limits[0].unit = Unit::response_bytes;
    options.quotas[0].parent = "q";
    options.routing = route_all_to("t/one");
    Fixture proxy(std::move(options));
    proxy.upstream.set_script([&](FakeUpstream::Session& session) {
        session.request();
        session.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        eventually([&] { return go_on.load(); });
        session.send(std::string(1'000'000, 'x'));
        session.io.closed_within(kPatience);
    });
    auto client = proxy.connect();
    client.send(get());
    auto answer = read_head(client);
    REQUIRE(answer);
    REQUIRE(eventually([&] { return proxy[Event::charges_held] == 1; }));
    const auto lives = [&](weir::Duration later) {
        const auto then = weir::net::now() + later;
        proxy.limiter.maintain(then);
        return !proxy.limiter.inspect("t/one", then).empty();
    };
    CHECK(lives(1min));
    CHECK(lives(10min));
    go_on = true;
    read_body(client, *answer, true);
    CHECK(answer->body.size() == 1'000'000);
    REQUIRE(proxy.finished(1));
    CHECK(proxy.admitted("t/{k}") == 1'000'000);
    CHECK(proxy.admitted("q") == 1'000'000);
    // The instance is let go after the request has been counted as finished.
    CHECK(eventually([&] { return !lives(20min); }));
}

TEST_CASE("an exchange that is soon over holds nothing, though its charge is corrected") {
    Fixture proxy(limited(1e9, 1s, Unit::response_bytes));
    constexpr std::uint64_t kRequests = 30;  // a busy machine may make some of them long
    for (std::uint64_t i = 0; i < kRequests; ++i) {
        CHECK(proxy.get("/x").status() == 200);
    }
    REQUIRE(proxy.finished(kRequests));
    CHECK(proxy[Event::charges_held] < kRequests);
}

TEST_CASE("a refusal as its quota has it") {
    auto options = limited(0, 1s);
    weir::limiter::QuotaOptions form;
    form.refusal = {503, "text/html", "<p>later</p>"};
    form.headers = weir::limiter::HeaderForms{false, true};
    options.quotas[0].options = form;
    Fixture proxy(std::move(options));
    const auto answer = proxy.ask(get());
    CHECK(answer.status() == 503);
    CHECK(answer.field("Content-Type") == "text/html");
    CHECK(answer.body == "<p>later</p>");
    CHECK(!answer.has("RateLimit"));
    CHECK(answer.has("X-RateLimit-Limit"));
    CHECK(answer.field("X-Weir-Quota") == "q");
    const auto head = proxy.ask("HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    CHECK(head.status() == 503);
    CHECK(head.field("Content-Length") == "12");
    CHECK(head.raw.ends_with("\r\n\r\n"));
    REQUIRE(proxy.finished(2));
    CHECK(proxy[Ending::refused_zero] == 2);
}

TEST_CASE("weir's own answers carry the request's id") {
    Fixture proxy(limited(1, 60s));
    CHECK(proxy.ask(get("X-Request-Id: mine-0\r\n")).status() == 200);
    CHECK(proxy.ask(get("X-Request-Id: mine-1\r\n")).field("X-Request-Id") == "mine-1");
    std::set<std::string> made;
    for (const std::string fields :
         {"", "X-Request-Id: a b\r\n", "X-Request-Id: 1\r\nX-Request-Id: 2\r\n"}) {
        const auto answer = proxy.ask(get(fields));
        CHECK(answer.status() == 429);
        CHECK(answer.field("X-Request-Id").size() == 36);
        made.insert(answer.field("X-Request-Id"));
    }
    CHECK(made.size() == 3);
    const auto bad = proxy.ask("GET / HTTP/1.1\r\n\r\n");
    CHECK(bad.status() == 400);
    CHECK(bad.field("X-Request-Id").size() == 36);
}

TEST_CASE("an answer of ours after forwarding carries the id that was forwarded") {
    Fixture proxy(limited(100, 60s));
    proxy.upstream.set_script([](FakeUpstream::Session& session) { (void)session.request(); });
    const auto answer = proxy.ask(get());
    CHECK(answer.status() == 502);
    REQUIRE(!proxy.upstream.heads().empty());
    CHECK(answer.field("X-Request-Id") == proxy.upstream.heads().back().field("X-Request-Id"));
    CHECK(answer.field("X-Request-Id").size() == 36);
}

TEST_CASE("no ids when they are switched off") {
    auto options = limited(0, 1s);
    options.snapshot.headers.request_id = false;
    Fixture proxy(std::move(options));
    CHECK(!proxy.ask(get("X-Request-Id: mine\r\n")).has("X-Request-Id"));
    CHECK(!proxy.ask("GET / HTTP/1.1\r\n\r\n").has("X-Request-Id"));
}
