// Names of quotas that are made of a request's fields, cookies, parameters, user and address: what
// each source reads, and what hostile values come to.

#include <doctest/doctest.h>

#include <array>

#include "routing/escapes.h"
#include "routing/routes.h"

namespace weir::routing {
namespace {

RoutingSettings with_names(std::vector<std::string> quotas) {
    RoutingSettings settings;
    settings.routes.resize(1);
    settings.routes[0].quotas = std::move(quotas);
    return settings;
}

/// The names of a request with these lines of fields.
std::string names_of(std::vector<std::string> quotas, const std::string& lines,
                     const std::string& target = "/", const Client& client = {}) {
    const auto router = compile(with_names(std::move(quotas)));
    return Routed(*router, request(target, "GET", "a.example", lines), client).names();
}

/// The value of one source, or "-" if the request has none.
std::string value(const std::string& source, const std::string& lines,
                  const std::string& target = "/", const Client& client = {}) {
    const auto all = names_of({source, "none"}, lines, target, client);
    return all == "none" ? "-" : all.substr(0, all.rfind(", none"));
}

std::string header(const std::string& lines) { return value("{header:x-key,readable}", lines); }
std::string cookie(const std::string& lines) { return value("{cookie:s,readable}", lines); }
std::string query(const std::string& text) { return value("{query:k,readable}", "", "/p?" + text); }
std::string user(const std::string& authorization) {
    return value("{basic-user,readable}", "Authorization: " + authorization + "\r\n");
}

Client at(const char* address) { return {.address = parse_address(address).value()}; }

TEST_CASE("a field names the quota, in its place in the list") {
    const std::vector<std::string> list = {"api/{header:x-key,readable}", "api/anonymous"};
    CHECK(names_of(list, "X-Key: a\r\n") == "api/a, api/anonymous");
    CHECK(names_of(list, "") == "api/anonymous");
    CHECK(names_of(list, "X-Key:\r\n") == "api/anonymous");
    CHECK(header("x-KEY:  a b \r\n") == "a%20b");
    CHECK(header("X-Key: a\tb\r\n") == "-");  // a control byte
    CHECK(header("X-Key: {b}/%2F/\"\r\n") == "%7Bb%7D%2F%252F%2F%22");
    CHECK(header("X-Key: \xff\xc3\xa9\r\n") == "%FF%C3%A9");
    CHECK(header("X-Key: a\r\nX-Key: a\r\n") == "a");
    CHECK(header("X-Key: a\r\nX-Key: b\r\n") == "-");
    CHECK(header("X-Key: a\r\nX-Key:\r\n") == "-");
}

TEST_CASE("names hold a hash of what may be a secret, which is that of b2sum") {
    // printf %s SECRET | b2sum -l 128
    const std::string hash = "d353bc08aadd0c347c99e166f33445bc";
    const auto of_field = value("{header:x-key}", "X-Key: SECRET\r\n");
    CHECK(of_field == hash);
    CHECK(value("{cookie:s}", "Cookie: s=SECRET\r\n") == of_field);
    CHECK(value("{query:k}", "", "/?k=SECRET") == of_field);
    CHECK(value("{basic-user}", "Authorization: Basic U0VDUkVUOng=\r\n") == of_field);
    CHECK(value("{header:x-key}", "X-Key: SECRET1\r\n") != of_field);
    CHECK(value("{header:x-key}", "X-Key: " + std::string(10'000, 'x') + "\r\n").size() ==
          hash.size());
}

TEST_CASE("a long value that may be read ends in a hash, as in paths") {
    const std::string most(kMaxCapture, 'x');
    CHECK(header("X-Key: " + most + "\r\n") == most);
    const auto one = header("X-Key: " + most + "y\r\n");
    const auto other = header("X-Key: " + most + "z\r\n");
    CHECK(one.size() == kMaxCapture);
    CHECK(one[kMaxCapture - 17] == '~');
    CHECK(other.size() == kMaxCapture);
    CHECK(one != other);
}

TEST_CASE("cookies") {
    CHECK(cookie("Cookie: t=1; s=abc; ss=2\r\n") == "abc");
    CHECK(cookie("Cookie: t=1;s = abc\r\n") == "abc");
    CHECK(cookie("Cookie: t=1\r\nCookie: s=abc\r\n") == "abc");
    CHECK(cookie("Cookie: s=a=b\r\n") == "a=b");
    CHECK(cookie("Cookie: S=abc\r\n") == "-");
    CHECK(cookie("Cookie: s=\r\n") == "-");
    CHECK(cookie("Cookie: s\r\n") == "-");
    CHECK(cookie("Cookie: ; ;=;\r\n") == "-");
    CHECK(cookie("") == "-");
    CHECK(cookie("Cookie: s=a; s=a\r\n") == "a");
    CHECK(cookie("Cookie: s=a; s=b\r\n") == "-");
    CHECK(cookie("Cookie: s=a\r\nCookie: s=b\r\n") == "-");
    // Spellings of one value that some programs take for the same.
    CHECK(cookie("Cookie: s=\"abc\"\r\n") == "abc");
    CHECK(cookie("Cookie: s=%61bc\r\n") == "abc");
    CHECK(cookie("Cookie: s=a+b\r\n") == "a+b");
    CHECK(cookie("Cookie: s=a%20b\r\n") == "a+b");
    CHECK(cookie("Cookie: s=a b\r\n") == "-");
    CHECK(cookie("Cookie: s=a x1=1\r\n") == "-");
    CHECK(cookie("Cookie: s=a,b\r\n") == "-");
    CHECK(cookie("Cookie: s=a\"b\r\n") == "-");
    CHECK(cookie("Cookie: s=\"\\141bc\"\r\n") == "-");
    CHECK(cookie("Cookie: s=\"\r\n") == "-");
    CHECK(cookie("Cookie: s=100%\r\n") == "100%25");
    CHECK(cookie("Cookie: s=a%00b\r\n") == "-");
}

TEST_CASE("parameters of the query") {
    CHECK(query("k=abc") == "abc");
    CHECK(query("a=1&k=abc&kk=2") == "abc");
    CHECK(query("%6B=abc") == "abc");
    CHECK(query("K=abc") == "-");
    CHECK(query("k=") == "-");
    CHECK(query("k") == "-");
    CHECK(query("") == "-");
    CHECK(query("&&=&") == "-");
    CHECK(query("k=a&k=a") == "a");
    CHECK(query("k=a&k=b") == "-");
    CHECK(query("k=a&k") == "-");
    CHECK(query("k=a%2Fb") == "a%2Fb");
    CHECK(query("k=%61") == "a");
    CHECK(query("k=a+b") == query("k=a%20b"));
    CHECK(query("k=a+b") == query("k=a%2bb"));
    CHECK(query("k=a%2") == "-");
    CHECK(query("k=a;x=1") == "-");
    CHECK(query("k=%zz") == "-");
    CHECK(query("k=a%00") == "-");
    CHECK(query("k=a%0A") == "-");
    CHECK(query("k=%ff") == "%FF");
    CHECK(value("{query:k,readable}", "", "/p") == "-");
}

TEST_CASE("the user of basic authentication") {
    CHECK(user("Basic YW5uOnNlY3JldA==") == "ann");  // ann:secret
    CHECK(user("bAsIc  YW5uOnNlY3JldA==") == "ann");
    CHECK(user("Basic YW5uOg==") == "ann");      // ann:
    CHECK(user("Basic YW5u") == "-");            // ann
    CHECK(user("Basic OnNlY3JldA==") == "-");    // :secret
    CHECK(user("Basic YW5uOnNlY3JldA") == "-");  // without padding
    CHECK(user("Basic YW5!OnNlY3JldA==") == "-");
    CHECK(user("Basic YW5uOnNlY3JldB==") == "-");  // bits behind the end
    CHECK(user("Basic YQBiOng=") == "-");          // a, a zero byte, b:x
    CHECK(user("Basic /zp4") == "%FF");
    CHECK(user("Basic ") == "-");
    CHECK(user("Basic") == "-");
    CHECK(user("Bearer YW5uOnNlY3JldA==") == "-");
    CHECK(user("Basic YW5uOnNlY3JldA==\r\nAuthorization: Basic Ym9iOng=") == "-");
}

TEST_CASE("the address of the client, with its prefix") {
    CHECK(value("{client}", "", "/", at("203.0.113.77")) == "203.0.113.77");
    CHECK(value("{client}", "", "/", at("2001:db8:1:2:3:4:5:6")) == "2001:db8:1:2::");
    CHECK(value("{client:v4/24}", "", "/", at("203.0.113.77")) == "203.0.113.0");
    CHECK(value("{client:v4/25}", "", "/", at("203.0.113.255")) == "203.0.113.128");
    CHECK(value("{client:v4/24}", "", "/", at("2001:db8:1:2:3::")) == "2001:db8:1:2::");
    CHECK(value("{client:v6/128}", "", "/", at("2001:db8::5")) == "2001:db8::5");
    CHECK(value("{client:v6/44,v4/8}", "", "/", at("2001:db8:1f:2::1")) == "2001:db8:10::");
    CHECK(value("{client:v6/44,v4/8}", "", "/", at("10.1.2.3")) == "10.0.0.0");
    CHECK(value("{client}", "") == "-");  // a unix socket
    // Nobody is trusted, so nobody's words count.
    CHECK(value("{client}", "X-Forwarded-For: 1.2.3.4\r\n", "/", at("10.0.0.1")) == "10.0.0.1");
}

TEST_CASE("behind trusted proxies the client is the last address that is none of them") {
    const std::array blocks{AddressBlock{parse_address("10.0.0.0").value(), 96 + 8}};
    auto proxy = at("10.0.0.1");
    proxy.trusted = true;
    proxy.proxies = blocks;
    const auto client = [&proxy](const std::string& lines) {
        return value("{client}", lines, "/", proxy);
    };
    CHECK(client("X-Forwarded-For: 1.2.3.4\r\n") == "1.2.3.4");
    CHECK(client("X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\n") == "1.2.3.4");
    CHECK(client("X-Forwarded-For: 9.9.9.9, 1.2.3.4 ,10.7.0.1,, 10.8.0.1\r\n") == "1.2.3.4");
    CHECK(client("X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 1.2.3.4, 10.1.1.1\r\n") ==
          "1.2.3.4");
    CHECK(client("X-Forwarded-For: 10.1.1.1, 10.2.2.2\r\n") == "10.1.1.1");
    CHECK(client("X-Forwarded-For: 1.2.3.4:5678\r\n") == "1.2.3.4");
    CHECK(client("X-Forwarded-For: [2001:db8::1]:80\r\n") == "2001:db8::");
    CHECK(client("X-Forwarded-For: 2001:db8::1\r\n") == "2001:db8::");
    CHECK(client("X-Forwarded-For: ::ffff:1.2.3.4\r\n") == "1.2.3.4");
    // What is no address ends the search.
    CHECK(client("X-Forwarded-For: 9.9.9.9, unknown, 10.3.3.3\r\n") == "10.3.3.3");
    CHECK(client("X-Forwarded-For: 9.9.9.9, unknown\r\n") == "10.0.0.1");
    CHECK(client("X-Forwarded-For: 1.2.3\r\n") == "10.0.0.1");
    CHECK(client("X-Forwarded-For:\r\n") == "10.0.0.1");
    CHECK(client("") == "10.0.0.1");
    std::string many = "X-Forwarded-For: 1.2.3.4";
    for (std::size_t i = 0; i < kMostProxies + 10; ++i) {
        many += ", 10.0.0." + std::to_string(i);
    }
    CHECK(client(many + "\r\n") == "10.0.0.10");
    // Who asks about a request of somebody else tells its address, or nobody knows it.
    proxy.asks = true;
    CHECK(client("X-Forwarded-For: 1.2.3.4\r\n") == "1.2.3.4");
    CHECK(client("") == "-");
    proxy.trusted = false;
    CHECK(client("X-Forwarded-For: 1.2.3.4\r\n") == "-");
}

TEST_CASE("what a client says of others names no quota") {
    const std::string source = "{header:x-forwarded-for,readable}";
    CHECK(value(source, "X-Forwarded-For: 1.2.3.4\r\n") == "-");
    CHECK(value(source, "X-Forwarded-For: 1.2.3.4\r\n", "/", {.trusted = true}) == "1.2.3.4");
}

TEST_CASE("the value of a field in match.headers is captured") {
    RoutingSettings settings;
    settings.routes.resize(3);
    settings.routes[0].match.headers = {{"x-key", true, "{key,readable}"}};
    settings.routes[0].quotas = {"key/{key}"};
    settings.routes[1].match.headers = {{"authorization", true, "Bearer {token}"}};
    settings.routes[1].quotas = {"token/{token}"};
    settings.routes[2].quotas = {"others"};
    const auto router = compile(settings);
    const auto routed = [&](const std::string& lines) {
        return Routed(*router, request("/", "GET", "a.example", lines)).names();
    };
    CHECK(routed("X-Key: a/b\r\n") == "key/a%2Fb");
    CHECK(routed("X-Key: a b\r\n") == "key/a%20b");
    CHECK(routed("X-Key:\r\n") == "others");
    CHECK(routed("") == "others");
    const auto token = value("{header:x-key}", "X-Key: abc\r\n");
    CHECK(routed("Authorization: Bearer abc\r\n") == "token/" + token);
    CHECK(routed("Authorization: bearer   abc\r\n") == "token/" + token);
    CHECK(routed("Authorization: Bearer \r\n") == "others");
    CHECK(routed("Authorization: Bearer\r\n") == "others");
    CHECK(routed("Authorization: Basic abc\r\n") == "others");
    // A second field, or a second word, is no way around the route.
    const auto refused = [&](const std::string& lines) {
        return Routed(*router, request("/", "GET", "a.example", lines)).result.outcome ==
               RouteOutcome::ambiguous_fields;
    };
    CHECK(refused("X-Key: a\r\nX-Key: b\r\n"));
    CHECK_FALSE(refused("X-Key: a\r\nX-Key: a\r\n"));
    CHECK(refused("Authorization: Bearer abc\r\nAuthorization: x\r\n"));
    CHECK(refused("Authorization: Bearer abc r1\r\n"));
    CHECK_FALSE(refused("Authorization: Basic a\r\nAuthorization: Digest b\r\n"));
    CHECK(router->fields_read() == std::vector<std::string>{"authorization", "x-key"});
}

TEST_CASE("presets, captures of paths and sources go together") {
    RoutingSettings settings;
    settings.routes.resize(2);
    settings.routes[0].preset = "s3";
    settings.routes[0].domains = {"s3.example"};
    settings.routes[0].quotas = {"s3/{bucket}/{header:x-user,readable}"};
    settings.routes[1].match.path = "/c/{client}/**";
    settings.routes[1].quotas = {"{client}/{header:x-user,readable}/{client:v4/16}"};
    const auto router = compile(settings);
    CHECK(Routed(*router, request("/b/k", "GET", "s3.example", "X-User: ann\r\n")).names() ==
          "s3/b/ann");
    // A capture of the path goes before a source of the same name.
    CHECK(Routed(*router, request("/c/x/y", "GET", "a.example", "X-User: ann\r\n"), at("10.1.2.3"))
              .names() == "x/ann/10.1.0.0");
    CHECK(Routed(*router, request("/c/x/y")).names().empty());
}

TEST_CASE("fields that are read are protected from imitations") {
    const auto router =
        compile(with_names({"{header:x-key}{cookie:a}{query:b}{basic-user}{client}"}));
    CHECK(router->fields_read() == std::vector<std::string>{"authorization", "cookie", "x-key"});
}

}  // namespace
}  // namespace weir::routing
