// The fields that weir writes for the upstream, and what becomes of a client's own ones: by whether
// the client is one of trusted_proxies, and by each switch of `headers`.

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "proxy/fixture.h"

using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

std::string get(const std::string& fields = {}) {
    return "GET / HTTP/1.1\r\nHost: a.test\r\n" + fields + "\r\n";
}

const std::string kClaims =
    "X-Forwarded-For: 10.9.8.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: outer.test\r\n";

/// The tests' client, or another one only, is among trusted_proxies.
Fixture::Options trusting(bool client) {
    Fixture::Options options;
    const std::uint32_t address = client ? 0x7f000001 : 0x0a000001;
    options.snapshot.trusted_proxies.emplace(
        {weir::AddressBlock{.base = weir::Endpoint::v4(address, 0), .prefix_bits = 128}});
    return options;
}

struct Passed {
    Message request;  ///< as the upstream got it
    Message answer;   ///< as the client did
};

Passed pass(const Fixture::Options& options, const std::string& request) {
    Fixture proxy(options);
    Passed passed;
    passed.answer = proxy.ask(request);
    CHECK(passed.answer.status() == 200);
    const auto heads = proxy.upstream.heads();
    REQUIRE(heads.size() == 1);
    passed.request = heads[0];
    return passed;
}

/// The three fields, each once, as weir writes them of its own accord.
void check_own(const Message& request) {
    for (const char* name : {"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"}) {
        CHECK(request.count(name) == 1);
    }
    CHECK(request.field("X-Forwarded-For") == "127.0.0.1");
    CHECK(request.field("X-Forwarded-Proto") == "http");
    CHECK(request.field("X-Forwarded-Host") == "a.test");
}

/// What a trusted client claimed, its own address behind the others'.
void check_believed(const Message& request) {
    CHECK(request.field("X-Forwarded-For") == "10.9.8.7, 127.0.0.1");
    CHECK(request.count("X-Forwarded-For") == 1);
    CHECK(request.field("X-Forwarded-Proto") == "https");
    CHECK(request.count("X-Forwarded-Proto") == 1);
    CHECK(request.field("X-Forwarded-Host") == "outer.test");
    CHECK(request.count("X-Forwarded-Host") == 1);
}

}  // namespace

TEST_CASE("what a client says of others is believed only if it is trusted") {
    for (const bool trusted : {false, true}) {
        CAPTURE(trusted);
        check_own(pass(trusting(trusted), get()).request);
    }
    check_own(pass(trusting(false), get(kClaims)).request);
    check_believed(pass(trusting(true), get(kClaims)).request);
}

TEST_CASE("without trusted_proxies what came is passed on, with the client's address behind") {
    check_own(pass({}, get()).request);
    check_believed(pass({}, get(kClaims)).request);
    const auto request = pass({}, get("Forwarded: for=10.9.8.7;proto=https\r\n")).request;
    CHECK(request.field("Forwarded") == "for=10.9.8.7;proto=https");
    Fixture::Options nobody;
    nobody.snapshot.trusted_proxies.emplace();
    check_own(pass(nobody, get(kClaims)).request);
    CHECK(!pass(nobody, get("Forwarded: for=10.9.8.7\r\n")).request.has("Forwarded"));
}

TEST_CASE("fields that say more of where a request came from are claims as well") {
    for (const std::string name : {"X-Real-IP", "X-Forwarded-Port", "X-Forwarded-Prefix",
                                   "X-Forwarded-Scheme", "True-Client-IP", "CF-Connecting-IP"}) {
        CAPTURE(name);
        const auto claimed = get(name + ": 7\r\n");
        CHECK(pass({}, claimed).request.field(name) == "7");
        CHECK(pass(trusting(true), claimed).request.field(name) == "7");
        CHECK(!pass(trusting(false), claimed).request.has(name));
    }
}

namespace {

/// Routes and quotas that look at what clients may forge, as far as there are such.
Fixture::Options keyed() {
    Fixture::Options options;
    for (const char* name : {"claimed", "host/{host}"}) {
        options.quotas.push_back(quota(name, 1000, std::chrono::hours(1)));
    }
    for (const char* field :
         {"X-Forwarded-Proto", "X-Forwarded-For", "x-forwarded-host", "Forwarded", "X-Real-IP"}) {
        weir::routing::RouteSettings claimed;
        claimed.match.headers = {{.name = field, .exact = false, .value = {}}};
        claimed.quotas = {"claimed"};
        options.routing.routes.push_back(claimed);
    }
    weir::routing::RouteSettings by_host;
    by_host.match.hosts = {"{host}.test"};
    by_host.quotas = {"host/{host}"};
    options.routing.routes.push_back(by_host);
    return options;
}

}  // namespace

TEST_CASE("a forged field changes no quota key") {
    const auto forged =
        get(kClaims + "Forwarded: for=10.9.8.7;host=b.test\r\nX-Real-IP: 10.9.8.7\r\n");
    for (const bool set : {false, true}) {
        CAPTURE(set);
        auto options = set ? trusting(false) : Fixture::Options{};
        options.quotas = keyed().quotas;
        options.routing = keyed().routing;
        Fixture proxy(options);
        CHECK(proxy.ask(forged).status() == 200);
        CHECK(proxy.ask(get()).status() == 200);
        CHECK(proxy.admitted("host/{host}") == 2);
        CHECK(proxy.admitted("claimed") == 0);
    }
    auto options = trusting(true);
    options.quotas = keyed().quotas;
    options.routing = keyed().routing;
    Fixture proxy(options);
    CHECK(proxy.ask(forged).status() == 200);
    CHECK(proxy.admitted("claimed") == 1);
}

TEST_CASE("a forged field does not choose whether a quota is enforced") {
    auto options = trusting(false);
    options.quotas = {quota("q", 0, std::chrono::hours(1))};
    options.quotas[0].enforced_share = 0.5;
    weir::limiter::QuotaOptions by_field;
    by_field.enforced_by = "X-Forwarded-For";
    options.quotas[0].options = by_field;
    options.routing = route_all_to("q");
    for (const bool trusted : {false, true}) {
        options.snapshot.trusted_proxies = trusting(trusted).snapshot.trusted_proxies;
        Fixture proxy(options);
        bool seen[2] = {false, false};
        for (int i = 0; i < 40; ++i) {
            const auto field = "X-Forwarded-For: 10.0.0." + std::to_string(i) + "\r\n";
            seen[proxy.ask(get(field)).status() == 200 ? 1 : 0] = true;
        }
        CHECK((seen[0] && seen[1]) == trusted);
    }
}

TEST_CASE("each connection goes by its own client, and a reload changes whom") {
    Fixture proxy(trusting(false));
    auto client = proxy.connect();
    const auto forwarded = [&] {
        client.send(get(kClaims));
        CHECK(read_response(client)->status() == 200);
        return proxy.upstream.heads().back();
    };
    check_own(forwarded());
    auto changed = std::make_shared<Snapshot>(*proxy.snapshot());
    changed->trusted_proxies = trusting(true).snapshot.trusted_proxies;
    proxy.server->replace(changed);
    REQUIRE(eventually([&] { return proxy[Event::reloads] == 1; }));
    check_believed(forwarded());
}

TEST_CASE("headers.forwarded: false adds nothing, and what a client says passes as it came") {
    for (const bool trusted : {false, true}) {
        CAPTURE(trusted);
        auto options = trusting(trusted);
        options.snapshot.headers.forwarded = false;
        auto request = pass(options, get()).request;
        CHECK(!request.has("X-Forwarded-For"));
        CHECK(!request.has("X-Forwarded-Proto"));
        CHECK(!request.has("X-Forwarded-Host"));
        CHECK(request.has("Via"));
        CHECK(request.has("X-Request-Id"));
        request = pass(options, get(kClaims)).request;
        CHECK(request.raw.find(kClaims) != std::string::npos);
        CHECK(request.count("X-Forwarded-For") == 1);
    }
}

TEST_CASE("headers.via: false adds none, either way") {
    for (const bool trusted : {false, true}) {
        for (const bool via : {false, true}) {
            CAPTURE(trusted);
            CAPTURE(via);
            auto options = trusting(trusted);
            options.snapshot.headers.via = via;
            auto passed = pass(options, get(kClaims));
            CHECK(passed.request.has("Via") == via);
            CHECK(passed.answer.has("Via") == via);
            CHECK(passed.request.has("X-Request-Id"));
            trusted ? check_believed(passed.request) : check_own(passed.request);
            // Another proxy's stays.
            passed = pass(options, get("Via: 1.0 outer\r\n"));
            CHECK(passed.request.field("Via") == "1.0 outer");
            CHECK(passed.request.count("Via") == (via ? 2 : 1));
        }
    }
}

TEST_CASE("headers.request_id: false makes none") {
    for (const bool trusted : {false, true}) {
        for (const bool id : {false, true}) {
            CAPTURE(trusted);
            CAPTURE(id);
            auto options = trusting(trusted);
            options.snapshot.headers.request_id = id;
            auto passed = pass(options, get(kClaims));
            CHECK(passed.request.count("X-Request-Id") == (id ? 1 : 0));
            CHECK(passed.request.has("Via"));
            trusted ? check_believed(passed.request) : check_own(passed.request);
            passed = pass(options, get("X-Request-Id: mine\r\n"));
            CHECK(passed.request.field("X-Request-Id") == "mine");
            CHECK(passed.request.count("X-Request-Id") == 1);
        }
    }
}

TEST_CASE("an offer of h2c is not taken up: answered in HTTP/1.1, and not passed on") {
    Fixture proxy;
    auto client = proxy.connect();
    for (int i = 0; i < 2; ++i) {
        client.send(
            get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                "HTTP2-Settings: AAMAAABkAAQAAP__\r\n"));
        const auto answer = read_response(client);
        REQUIRE(answer);
        CHECK(answer->start.starts_with("HTTP/1.1 200 "));
        CHECK(answer->body == "ok");
    }
    for (const auto& head : proxy.upstream.heads()) {
        CHECK(!head.has("Upgrade"));
        CHECK(!head.has("HTTP2-Settings"));
        CHECK(!head.has("Connection"));
    }
    CHECK(proxy[Ending::unlimited] == 2);
    CHECK(proxy[Ending::rejected_upgrade] == 0);
}
