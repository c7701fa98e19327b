// Requests that are charged by API key, by user or by address, over real sockets: who is told
// apart, that no secret leaves routing, and that a flood of invented keys takes nothing from
// others.

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "proxy/fixture.h"

using namespace std::chrono_literals;
using namespace weir::proxy;
using namespace weir::proxy::testing;

namespace {

constexpr const char* kHashOfAbc =
    "cf4ab791c62b8d2b2109c90275287816";  // printf %s abc | b2sum -l 128

Fixture::Options routed(std::vector<std::string> names,
                        std::vector<weir::limiter::QuotaDefinition> quotas) {
    Fixture::Options options;
    options.server.check = weir::net::Address{.host = "127.0.0.1", .port = 0, .path = {}};
    options.quotas = std::move(quotas);
    options.routing.routes.resize(1);
    options.routing.routes[0].quotas = std::move(names);
    return options;
}

Fixture::Options by_key() {
    return routed({"api/{header:x-api-key}", "api/anonymous"},
                  {quota("api/{key}", 2, 600s), quota("api/anonymous", 1, 600s)});
}

Fixture::Options trusting(Fixture::Options options) {
    options.snapshot.trusted_proxies.emplace(
        {weir::AddressBlock{.base = weir::Endpoint::v4(0x7f000001, 0), .prefix_bits = 128}});
    return options;
}

std::string get(const std::string& fields, const std::string& target = "/") {
    return "GET " + target + " HTTP/1.1\r\nHost: a.test\r\n" + fields + "\r\n";
}

std::string question(const std::string& fields) {
    return get("X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /x\r\n" + fields, "/check");
}

Message ask(SocketIo& client, std::string_view text) {
    client.send(text);
    return read_response(client, false).value_or(Message{});
}

}  // namespace

TEST_CASE("each key has a limit of its own, and those without one share theirs") {
    Fixture proxy(by_key());
    auto client = proxy.connect();
    for (const char* key : {"abc", "abd"}) {
        for (int i = 0; i < 3; ++i) {
            CHECK(ask(client, get("X-Api-Key: " + std::string(key) + "\r\n")).status() ==
                  (i < 2 ? 200 : 429));
        }
    }
    const auto refused = ask(client, get("X-Api-Key: abc\r\n"));
    CHECK(refused.field("X-Weir-Quota") == "api/" + std::string(kHashOfAbc));
    CHECK(refused.field("RateLimit").find("abc\"") == std::string::npos);
    CHECK(refused.body.find("api/" + std::string(kHashOfAbc)) != std::string::npos);
    CHECK(ask(client, get("")).status() == 200);
    CHECK(ask(client, get("X-Api-Key:\r\n")).field("X-Weir-Quota") == "api/anonymous");
    CHECK(ask(client, get("X-Api-Key: a\r\nX-Api-Key: b\r\n")).field("X-Weir-Quota") ==
          "api/anonymous");
}

TEST_CASE("an application does not take an imitation for the key") {
    Fixture proxy(by_key());
    CHECK(proxy.ask(get("X_Api_Key: abc\r\nConnection: close\r\n")).status() == 200);
    REQUIRE(proxy.finished(1));
    CHECK(!proxy.upstream.heads().at(0).has("X_Api_Key"));
    CHECK(proxy.admitted("api/anonymous") == 1);
}

TEST_CASE("a key that can be read in two ways is answered with 400, and counted as that") {
    Fixture::Options options;
    options.quotas = {quota("key/{k}", 100, 1s)};
    options.routing = route_all_to("key/{k}");
    options.routing.routes[0].match.headers = {{"x-key", true, "{k}"}};
    Fixture proxy(options);
    const auto ask = [&proxy](const std::string& keys) {
        return proxy.ask("GET / HTTP/1.1\r\nHost: a.test\r\n" + keys + "\r\n").status();
    };
    CHECK(ask("X-Key: a\r\n") == 200);
    CHECK(ask("X-Key: a\r\nX-Key: b\r\n") == 400);
    CHECK(proxy[Ending::rejected_fields] == 1);
    CHECK(proxy[Ending::rejected_path] == 0);
}

TEST_CASE("the key itself is forwarded as it came") {
    Fixture proxy(by_key());
    CHECK(proxy.ask(get("X-Api-Key: abc\r\nConnection: close\r\n")).status() == 200);
    REQUIRE(proxy.finished(1));
    CHECK(proxy.upstream.heads().at(0).field("X-Api-Key") == "abc");
}

TEST_CASE("other proxies ask about requests with keys, with the same names") {
    Fixture proxy(by_key());
    auto check = proxy.connect_check();
    CHECK(ask(check, question("X-Api-Key: abc\r\n")).status() == 200);
    auto client = proxy.connect();
    CHECK(ask(client, get("X-Api-Key: abc\r\n")).status() == 200);
    const auto refused = ask(check, question("X-Api-Key: abc\r\n"));
    CHECK(refused.status() == 429);
    CHECK(refused.field("X-Weir-Quota") == "api/" + std::string(kHashOfAbc));
    CHECK(ask(check, question("")).status() == 200);
    CHECK(ask(check, question("")).field("X-Weir-Quota") == "api/anonymous");
}

TEST_CASE("cookies, users and parameters of a request that a proxy asks about") {
    Fixture proxy(
        routed({"a/{cookie:s}", "a/{basic-user}", "a/{query:k}"}, {quota("a/{value}", 0, 1s)}));
    auto check = proxy.connect_check();
    const std::string hash = "a/" + std::string(kHashOfAbc);
    CHECK(ask(check, question("Cookie: s=abc\r\n")).field("X-Weir-Quota") == hash);
    CHECK(ask(check, question("Authorization: Basic YWJjOng=\r\n")).field("X-Weir-Quota") == hash);
    CHECK(ask(check, get("X-Forwarded-Uri: /x?k=abc\r\n", "/check")).field("X-Weir-Quota") == hash);
    CHECK(ask(check, question("")).status() == 200);
}

TEST_CASE("by address: whose word counts") {
    const auto options = routed({"a/{client}", "a/none"}, {quota("a/{address}", 0, 1s)});
    const std::string says = "X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\n";
    const auto named = [](SocketIo client, const std::string& text) {
        return ask(client, text).field("X-Weir-Quota");
    };
    {
        Fixture proxy(options);
        CHECK(named(proxy.connect(), get(says)) == "a/127.0.0.1");
        // A proxy that asks is not the client, and nobody says that it may be believed.
        CHECK(named(proxy.connect_check(), question(says)) == "a/none");
    }
    Fixture proxy(trusting(options));
    CHECK(named(proxy.connect(), get(says)) == "a/1.2.3.4");
    CHECK(named(proxy.connect(), get("")) == "a/127.0.0.1");
    CHECK(named(proxy.connect_check(), question(says)) == "a/1.2.3.4");
    CHECK(named(proxy.connect_check(), question("")) == "a/none");
}

TEST_CASE("a flood of invented keys takes neither its place nor its limit from anybody") {
    constexpr int kClients = 20;
    constexpr int kRounds = 12;
    auto of_key = quota("api/{key}", 10, 600s);
    of_key.max_instances = 100;
    Fixture proxy(routed({"api/{header:x-api-key}"}, {of_key}));
    auto client = proxy.connect();
    auto crowd = proxy.connect();
    int invented = 0;
    std::array<int, kClients> admitted{};
    for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kClients; ++i) {
            const auto key = "X-Api-Key: client-" + std::to_string(i) + "\r\n";
            admitted[static_cast<std::size_t>(i)] += ask(client, get(key)).status() == 200 ? 1 : 0;
            std::string flood;
            // It begins when the clients are established.
            for (int j = 0; j < 20 && round > 0; ++j) {
                flood += get("X-Api-Key: invented-" + std::to_string(invented++) + "\r\n");
            }
            crowd.send(flood);
            for (int j = 0; j < 20 && round > 0; ++j) {
                REQUIRE(read_response(crowd, false));
            }
        }
    }
    for (const int each : admitted) {
        CHECK(each == 10);  // neither more nor less
    }
    CHECK(proxy[Event::template_overflow] > 0);
}
