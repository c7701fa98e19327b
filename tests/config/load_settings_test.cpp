#include "config/load_settings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "config/helpers.h"
#include "config/settings_fields.h"
#include "limiter/limiter.h"

namespace weir::config {
namespace {

using namespace std::chrono_literals;
using testing::Lines;
using testing::lines;
using testing::settings_errors;

const std::string kUpstream = "upstream: http://127.0.0.1:3000\n";

Settings load(const std::string& text, const std::vector<Override>& overrides) {
    Diagnostics diagnostics;
    Settings settings = load_settings(SourceText{"weir.yaml", text}, overrides, diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    return settings;
}

Lines override_errors(const std::vector<Override>& overrides) {
    Diagnostics diagnostics;
    const Settings settings =
        load_settings(SourceText{"weir.yaml", kUpstream}, overrides, diagnostics);
    return lines(diagnostics);
}

TEST_CASE("defaults") {
    const Settings settings = load(kUpstream, {});
    CHECK(to_string(settings.listen) == "0.0.0.0:8080");
    CHECK(to_string(settings.admin) == "127.0.0.1:9901");
    CHECK(to_string(settings.status) == "0.0.0.0:9902");
    CHECK_FALSE(settings.cluster.has_value());
    CHECK(settings.headers.ietf);
    CHECK(settings.drain.grace == 20s);
    CHECK(settings.drain.keep_accepting == 3s);
}

TEST_CASE("how long things may take by default") {
    const TimeoutSettings timeouts = load(kUpstream, {}).timeouts;
    CHECK(timeouts.request_head == 10s);
    CHECK(timeouts.body_idle == 30s);
    CHECK(timeouts.keep_alive_idle == 75s);
    CHECK(timeouts.connect == 250ms);
    CHECK(timeouts.stream_idle == 300s);
    CHECK(timeouts.tunnel_idle == 1h);
    CHECK(timeouts.upstream_idle == 60s);
    CHECK(load("upstream: http://app:80\n", {}).timeouts.connect == 5s);
    CHECK(load("upstream: unix:/run/a.sock\n", {}).timeouts.connect == 250ms);
    CHECK(load("upstream: http://[::1]:80\n", {}).timeouts.connect == 250ms);
    CHECK(load("upstream: app:80\ntimeouts: {connect: 1s}\n", {}).timeouts.connect == 1s);
}

TEST_CASE("how big things may get by default") {
    const LimitSettings limits = load(kUpstream, {}).limits;
    CHECK(limits.request_line == 8 * 1024);
    CHECK(limits.request_head == 32 * 1024);
    CHECK(limits.request_fields == 100);
    CHECK(limits.response_head == 64 * 1024);
    CHECK(limits.response_fields == 1000);
    CHECK(limits.chunk_extension == 4 * 1024);
    CHECK(limits.buffer == 32 * 1024);
    CHECK(limits.socket_buffer == 256 * 1024);
    CHECK(limits.refused_body == 64 * 1024);
    CHECK(limits.connections == 10'000);
    CHECK(limits.upstream_connections == 10'000);
    CHECK(limits.upstream_idle_connections == 256);
    CHECK(limits.pipelined_requests == 100);
    CHECK(limits.memory == 0);  // the control group's
}

constexpr const char* kEverything = R"(
listen: 0.0.0.0:8081
upstream: unix:/run/app.sock
admin: unix:/run/weir/admin.sock
status: "[::]:9902"
quotas: [config/quotas.yaml, /etc/weir/quotas]
workers: 2
trusted_proxies: [10.0.0.0/8, "::1"]
judging_proxies: [10.0.0.7]
routes:
  - preset: s3
    domain: [s3.example.net, s3.local]
  - match: {host: "*.example.net", path: "/api/{tenant}/**", methods: [GET, HEAD],
            headers: {x-tier: gold, x-debug: ~}}
    quota: ["api/{tenant}/read", "api/{tenant}"]
    weight: {GET: 2.5, default: 1}
  - match: {path: "/up/**"}
    quota: up
    weight: request-bytes
    ambiguous_path: allow
  - quota: rest
    weight: header:x-cost
cluster:
  name: storage
  listen: 0.0.0.0:7947
  advertise: 10.0.0.3:7947
  join: [dns://weir-peers:7946, 10.0.0.1:7946]
  key_file: /etc/weir/gossip.key
timeouts: {request_head: 5s, stream_idle: 10m}
limits: {request_line: 4KiB, buffer: 64KiB, connections: 50}
headers: {rate_limit: [ietf, x-ratelimit], on_success: true, quota: false, underscores: reject}
log: {level: debug, format: json}
drain: {grace: 5s, keep_accepting: 0s}
limiter: {max_instances: 5000, max_weight: 1000}
metrics: {max_quota_series: 10, max_quota_bytes: 2MB}
routing: {merge_slashes: false}
)";

TEST_CASE("everything that can be said") {
    const Settings settings = load(kEverything, {});
    CHECK(settings.admin.path == "/run/weir/admin.sock");
    CHECK(settings.quotas == std::vector<std::string>{"config/quotas.yaml", "/etc/weir/quotas"});
    CHECK(settings.workers == 2);
    REQUIRE(settings.trusted_proxies);
    CHECK(settings.trusted_proxies->size() == 2);
    CHECK(settings.judging_proxies.size() == 1);
    CHECK(contains(settings.judging_proxies, Endpoint::v4(0x0a000007, 80)));
    CHECK_FALSE(contains(settings.judging_proxies, Endpoint::v4(0x0a000008, 80)));
    const auto& routes = settings.routing.routes;
    REQUIRE(routes.size() == 4);
    CHECK(routes[0].preset == "s3");
    CHECK(routes[0].domains == std::vector<std::string>{"s3.example.net", "s3.local"});
    CHECK(routes[1].match.hosts == std::vector<std::string>{"*.example.net"});
    CHECK(routes[1].match.path == "/api/{tenant}/**");
    CHECK(routes[1].match.methods.size() == 2);
    REQUIRE(routes[1].match.headers.size() == 2);
    CHECK(routes[1].match.headers[0].exact);
    CHECK_FALSE(routes[1].match.headers[1].exact);
    CHECK(routes[1].weight.source == routing::WeightSource::table);
    CHECK(routes[1].weight.table[0].second == 2.5);
    CHECK(routes[2].quotas == std::vector<std::string>{"up"});
    CHECK(routes[2].weight.source == routing::WeightSource::request_bytes);
    CHECK(routes[2].allow_ambiguous_path);
    CHECK(routes[3].weight.header == "x-cost");
    REQUIRE(settings.cluster.has_value());
    CHECK(settings.cluster->join.size() == 2);
    CHECK(settings.cluster->advertise.has_value());
    CHECK(settings.timeouts.request_head == 5s);
    CHECK(settings.timeouts.body_idle == 30s);
    CHECK(settings.limits.connections == 50);
    CHECK(settings.headers.x_ratelimit);
    CHECK_FALSE(settings.headers.quota);
    CHECK(settings.headers.underscores == Underscores::reject);
    CHECK(settings.log.level == LogLevel::debug);
    CHECK(settings.log.format == LogFormat::json);
    CHECK(settings.drain.keep_accepting == 0s);
    CHECK(settings.limiter.max_instances == 5000);
    CHECK(settings.routing.max_weight == 1000);
    CHECK(settings.max_quota_series == 10);
    CHECK(settings.max_quota_bytes == 2'000'000);
    CHECK_FALSE(settings.routing.merge_slashes);
    CHECK(settings.routing.resolve_dot_segments);
}

TEST_CASE("errors have place, path and suggestion, all at once") {
    CHECK(settings_errors("lisen: 0.0.0.0:80\nupstream: 5\ncluster:\n  jion: [x]\n  join: [y]\n"
                          "workers: many\ntimeouts: {connect: 0s}\nlog: loud\n") ==
          Lines{"weir.yaml: cluster: needs 'key_file', or 'insecure: true' to gossip without a key",
                "weir.yaml:1:1: lisen: unknown field, did you mean 'listen'?",
                "weir.yaml:2:11: upstream: '5' is not an upstream, like http://127.0.0.1:3000, "
                "app:3000 or unix:/run/app.sock",
                "weir.yaml:4:3: cluster.jion: unknown field, did you mean 'join'?",
                "weir.yaml:5:10: cluster.join[0]: 'y' is a name: write dns://y",
                "weir.yaml:6:10: workers: 'many' is not a whole number",
                "weir.yaml:7:21: timeouts.connect: must be from 1ms to 5m",
                "weir.yaml:8:6: log: must be a map, is a single value"});
    CHECK(settings_errors("upstream: a:1\n---\nlisten: b\n") ==
          Lines{"weir.yaml:3:1: the settings must be one document"});
    CHECK(settings_errors("[]") == Lines{"weir.yaml:1:1: must be a map, is a list"});
}

TEST_CASE("all errors come in one round, but none that only follows from another") {
    CHECK(
        settings_errors("upstrem: a:1\nadmin: 0.0.0.0:1\nlisten: here\n"
                        "cluster: {key_fiel: k}\ncheck: {listen: 0.0.0.0:2, clients: [x]}\n"
                        "routes:\n  - {match: {path: \"/{a\"}, quota: q}\n"
                        "  - {math: {path: /b}, quota: \"q/{b}\"}\n"
                        "  - {match: {path: \"/{c\", host: \"{d\"}, quota: \"q/{c}\", refund: 9}\n"
                        "  - {match: {host: [\"\", \"{e\"]}, quota: q}\n") ==
        Lines{"weir.yaml: admin: listens beyond this machine: that needs 'admin_token_file'",
              "weir.yaml:1:1: upstrem: unknown field, did you mean 'upstream'?",
              "weir.yaml:3:9: listen: 'here' is not an address to listen on, like 0.0.0.0:8080, "
              "[::]:8080 or unix:/run/weir.sock",
              "weir.yaml:4:11: cluster.key_fiel: unknown field, did you mean 'key_file'?",
              "weir.yaml:5:38: check.clients[0]: 'x' is not a block of addresses, like "
              "10.0.0.0/8 or 2001:db8::/32",
              "weir.yaml:7:22: routes[0].match.path: '{' without '}'",
              "weir.yaml:8:6: routes[1].math: unknown field, did you mean 'match'?",
              "weir.yaml:9:22: routes[2].match.path: '{' without '}'",
              "weir.yaml:9:34: routes[2].match.host: '{' without '}'",
              "weir.yaml:9:64: routes[2].refund: '9' is not a status like 304, 5xx or 500-504",
              "weir.yaml:10:21: routes[3].match.host[0]: must not be empty"});
}

TEST_CASE("a path of a file begins at the file's folder, one of a flag where weir was started") {
    Diagnostics diagnostics;
    const std::string text = kUpstream +
                             "quotas: [limits.yaml, /etc/weir/more.yaml]\nadmin_token_file: token\n"
                             "access_log_file: ../log\nsnapshot: {file: kept}\n"
                             "cluster: {key_file: gossip.key}\n";
    const auto read = [&](const std::string& file, const std::vector<Override>& overrides) {
        return load_settings(SourceText{file, text}, overrides, diagnostics);
    };
    const Settings there = read("/etc/weir/a/weir.yaml", {});
    CHECK(there.quotas ==
          std::vector<std::string>{"/etc/weir/a/limits.yaml", "/etc/weir/more.yaml"});
    CHECK(there.admin_token_file == "/etc/weir/a/token");
    CHECK(there.access_log_file == "/etc/weir/a/../log");
    CHECK(there.snapshot.file == "/etc/weir/a/kept");
    CHECK(there.cluster->key_file == "/etc/weir/a/gossip.key");
    CHECK(read("weir.yaml", {}).admin_token_file == "token");
    const Settings flags = read("/etc/weir.yaml", {{"quotas", "--quotas", "a.yaml"}});
    CHECK(flags.quotas == std::vector<std::string>{"a.yaml"});
    CHECK(lines(diagnostics) == Lines{});
    CHECK(load("upstream: a:1\naccess_log_file: \"-\"\n", {}).access_log_file == "-");
}

TEST_CASE("who looks for keys of other proxies is told which there are") {
    const auto said = [](const std::string& text) {
        const Lines errors = settings_errors(kUpstream + text);
        return errors.size() == 1 ? errors[0] : "";
    };
    CHECK(said("port: 80\n") ==
          "weir.yaml:2:1: port: unknown field, say where clients connect: 'listen: 0.0.0.0:8080'");
    CHECK(said("tls: {}\n").find("TLS is not in this version") != std::string::npos);
    CHECK(said("routes: [{path: /a, quota: q}]\n").find("'match: {path:") != std::string::npos);
    CHECK(said("routes: [{match: {prefix: /a}, quota: q}]\n").find("say a pattern") !=
          std::string::npos);
}

TEST_CASE("a route names lists of quotas, or one list, but not both") {
    Diagnostics diagnostics;
    const auto read = [&](const std::string& route) {
        return load_settings(SourceText{"weir.yaml", kUpstream + "routes: [{" + route + "}]\n"}, {},
                             diagnostics)
            .routing.routes[0];
    };
    const auto several = read("quotas: [[user, anonymous], [space]]");
    CHECK(several.lists == std::vector<std::vector<std::string>>{{"user", "anonymous"}, {"space"}});
    CHECK(several.quotas.empty());
    CHECK(lines(diagnostics) == Lines{});
    const auto errors = [](const std::string& route) {
        return settings_errors(kUpstream + "routes: [{" + route + "}]\n");
    };
    CHECK(errors("quota: a, quotas: [[b]]") ==
          Lines{"weir.yaml:2:21: routes[0].quotas: a route has 'quota' or 'quotas', not both, put "
                "the names of 'quota' into 'quotas' as one more list"});
    CHECK(errors("quotas: [a, [b]]") ==
          Lines{"weir.yaml:2:20: routes[0].quotas[0]: must be a list of names, 'quota: [a, b]' "
                "takes the first that exists, 'quotas: [[a], [b]]' both"});
    CHECK(errors("quotas: []") == Lines{"weir.yaml:2:19: routes[0].quotas: must not be empty"});
    CHECK(errors("quotas: [[a], []]") ==
          Lines{"weir.yaml:2:25: routes[0].quotas[1]: must not be empty"});
    CHECK(errors("quotas: a") ==
          Lines{"weir.yaml:2:19: routes[0].quotas: must be a list, is a single value"});
    CHECK(errors("match: {path: '/{user}'}, quotas: [['u/{user}'], [\"w/{usr}\"]]") ==
          Lines{"weir.yaml:2:64: routes[0].quotas[1][0]: unknown capture {usr}; this route "
                "captures {user}, and each route may use {header:x-api-key}, {cookie:session}, "
                "{query:token}, {basic-user}, {client}, did you mean '{user}'?"});
}

TEST_CASE("what concerns several keys") {
    CHECK(settings_errors("listen: 0.0.0.0:80\n") ==
          Lines{"weir.yaml: upstream: is missing: say where requests go, like "
                "http://127.0.0.1:3000"});
    CHECK(settings_errors("") == settings_errors("listen: 0.0.0.0:80\n"));
    CHECK(settings_errors(kUpstream + "admin: 0.0.0.0:9901\n") ==
          Lines{"weir.yaml: admin: listens beyond this machine: that needs 'admin_token_file'"});
    CHECK(settings_errors(kUpstream + "admin: 0.0.0.0:9901\nadmin_token_file: /t\n").empty());
    CHECK(settings_errors(kUpstream + "admin: 127.1.2.3:9901\n").empty());
    CHECK(settings_errors(kUpstream + "admin: \"[::1]:9901\"\n").empty());
    CHECK(settings_errors(kUpstream + "cluster: {name: a}\n") ==
          Lines{"weir.yaml: cluster: needs 'key_file', or 'insecure: true' to gossip without a "
                "key"});
    CHECK(settings_errors(kUpstream + "cluster: {}\n") ==
          settings_errors(kUpstream + "cluster: {name: a}\n"));
    CHECK(settings_errors(kUpstream + "cluster: {key_file: a, insecure: true}\n") ==
          Lines{"weir.yaml: cluster.insecure: contradicts 'key_file': drop one of them"});
    CHECK(settings_errors(kUpstream + "status: 127.0.0.1:9901\n") ==
          Lines{"weir.yaml: admin: is the address of status, too"});
    CHECK(settings_errors(kUpstream + "listen: 127.0.0.1:9901\n") ==
          Lines{"weir.yaml: listen: is the address of admin or status, too"});
    CHECK(settings_errors(kUpstream + "check: {listen: 0.0.0.0:9903}\n") ==
          Lines{"weir.yaml: check.listen: listens beyond this machine: that needs 'check.clients', "
                "the addresses of the proxies that may ask"});
    CHECK(settings_errors(kUpstream + "check: {listen: 0.0.0.0:9903, clients: [10.0.0.0/8]}\n")
              .empty());
    CHECK(settings_errors(kUpstream + "check: {listen: \"unix:/run/check.sock\"}\n").empty());
    CHECK(settings_errors(kUpstream + "check: {listen: 127.0.0.1:9901}\n") ==
          Lines{"weir.yaml: check.listen: is the address of listen, admin or status, too"});
    CHECK(settings_errors(kUpstream + "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\n").empty());
    CHECK(settings_errors(kUpstream + "limits: {request_line: 64KiB}\n") ==
          Lines{"weir.yaml: limits.request_line: is larger than limits.request_head"});
    CHECK(settings_errors(kUpstream + "headers: {rate_limit: [none, ietf]}\n") ==
          Lines{"weir.yaml:2:23: headers.rate_limit: 'none' must stand alone"});
}

TEST_CASE("an anchor needs a fleet and no upstream, and opens no listener for clients") {
    const std::string fleet = "cluster: {insecure: true}\nsnapshot: {file: /s}\n";
    CHECK(load(kUpstream, {}).role == MemberRole::sidecar);
    CHECK(load(kUpstream + "role: sidecar\n", {}).role == MemberRole::sidecar);
    CHECK(load("role: anchor\n" + fleet, {}).role == MemberRole::anchor);
    CHECK(load(kUpstream + fleet, {{"role", "--role", "anchor"}}).role == MemberRole::anchor);
    CHECK(settings_errors("role: anchor\nlisten: 127.0.0.1:9901\n" + fleet).empty());
    CHECK(settings_errors("role: anchor\nstatus: 127.0.0.1:9901\n" + fleet) ==
          Lines{"weir.yaml: admin: is the address of status, too"});
    CHECK(settings_errors("role: anchor\nworkers: 65\n" + fleet).size() == 1);
    CHECK(settings_errors("role: anchor\nsnapshot: {file: /s}\n") ==
          Lines{"weir.yaml: role: an anchor owns limits for a fleet, and there is none: give it "
                "'cluster', with 'join' and the fleet's 'key_file'"});
    CHECK(
        settings_errors("role: anchor\ncluster: {insecure: true}\n") ==
        Lines{"weir.yaml: warning: snapshot.file: is missing: this anchor forgets its counts when "
              "it restarts"});
    // What follows from a misspelt word only is not said.
    CHECK(settings_errors("role: ancor\n") ==
          Lines{"weir.yaml:1:7: role: 'ancor' must be sidecar or anchor, did you mean 'anchor'?"});
}

TEST_CASE("an embedding program decides about requests, whatever role its file has") {
    Diagnostics diagnostics;
    const Settings settings = load_settings(SourceText{"weir.yaml", "role: anchor\n"}, {},
                                            diagnostics, Reader::embedding);
    CHECK(lines(diagnostics) == Lines{});
    CHECK(settings.role == MemberRole::sidecar);
}

TEST_CASE("routes") {
    CHECK(settings_errors(kUpstream + "routes:\n  - preset: s4\n    weight: lots\n  - math: {}\n"
                                      "    match: {headers: [x-a], path: []}\n    quota: []\n"
                                      "    ambiguous_path: maybe\n") ==
          Lines{"weir.yaml:3:13: routes[0].preset: 's4' must be s3, did you mean 's3'?",
                "weir.yaml:4:13: routes[0].weight: must be a number, request-bytes, header:<name> "
                "or a table like {ListObjectsV2: 10, default: 1}",
                "weir.yaml:5:5: routes[1].math: unknown field, did you mean 'match'?",
                "weir.yaml:6:22: routes[1].match.headers: must be a map of names and values, is "
                "a list",
                "weir.yaml:6:35: routes[1].match.path: must be a single value, is a list",
                "weir.yaml:7:12: routes[1].quota: must not be empty",
                "weir.yaml:8:21: routes[1].ambiguous_path: 'maybe' must be refuse or allow"});
    CHECK(settings_errors(kUpstream + "routes: [{quota: a, weight: -1}]\n").size() == 1);
    CHECK(
        settings_errors(kUpstream +
                        "routes:\n  - match: {headers: {x-key: \"{heder:x}\"}}\n    quota: a\n") ==
        Lines{"weir.yaml:3:31: routes[0].match.headers.x-key: {heder:x} is no name of a capture, "
              "which has letters, digits, '_' and '-': it captures the value of this field, and "
              "names of quotas use it, did you mean '{key}'?"});
    const auto errors = settings_errors(
        kUpstream + "routes:\n  - quota: [\"api/{heder:x}\", \"api/{client:v4/33}\"]\n");
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].starts_with("weir.yaml:3:18: routes[0].quota[0]: unknown capture {heder:x}; "));
    CHECK(errors[0].ends_with(", did you mean '{header:x}'?"));
    CHECK(errors[1].starts_with("weir.yaml:3:43: routes[0].quota[1]: \"v4/33\" is not a prefix"));
    CHECK(settings_errors(kUpstream + "routes: [{quota: a, weight: {GET: 1e5}}]\n").size() == 1);
}

TEST_CASE("flags and variables win over the file, later ones over earlier ones") {
    const Settings settings =
        load(kUpstream + "workers: 1\nquotas: [a]\n",
             {{"workers", "WEIR_WORKERS", "2"},
              {"workers", "--workers", "3"},
              {"quotas", "--quotas", "b,c"},
              {"cluster.insecure", "--cluster-insecure", "true"},
              {"cluster.join", "WEIR_CLUSTER_JOIN", "10.0.0.1:1,dns://peers"}});
    CHECK(settings.workers == 3);
    CHECK(settings.quotas == std::vector<std::string>{"b", "c"});
    REQUIRE(settings.cluster.has_value());
    CHECK(settings.cluster->join.size() == 2);
    CHECK(settings.cluster->listen == Endpoint::v4(0, 7946));

    CHECK(override_errors({{"listen", "--listen", "here"}})
              .at(0)
              .find("--listen: 'here' is not an address to listen on") == 0);
    CHECK(override_errors({{"cluster.join", "WEIR_CLUSTER_JOIN", "10.0.0.1:1,peers"}}) ==
          Lines{"WEIR_CLUSTER_JOIN: [1]: 'peers' is a name: write dns://peers",
                "weir.yaml: cluster: needs 'key_file', or 'insecure: true' to gossip without a "
                "key"});
    CHECK(override_errors({{"workers", "--workers", std::string("1\0", 2)}}) ==
          Lines{"--workers: a text holds a control character"});
}

TEST_CASE("as many workers as threads may use a limiter") {
    const auto most = limiter::Limiter::kMaxThreads;
    CHECK(load(kUpstream, {{"workers", "--workers", std::to_string(most)}}).workers == most);
    CHECK(override_errors({{"workers", "--workers", std::to_string(most + 1)}}).size() == 1);
}

TEST_CASE("settings without a file") {
    Diagnostics diagnostics;
    const Settings settings =
        load_settings(std::nullopt, {{"upstream", "--upstream", "app:3000"}}, diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    CHECK(settings.upstream.host == "app");
}

TEST_CASE("names of flags and variables follow the key") {
    CHECK(flag_name("cluster.key_file") == "--cluster-key-file");
    CHECK(variable_name("cluster.key_file") == "WEIR_CLUSTER_KEY_FILE");
}

TEST_CASE("nobody may ask unless the section stands there, be it empty") {
    CHECK(!load(kUpstream, {}).check);
    const auto check = load(kUpstream + "check: {}\n", {}).check;
    REQUIRE(check);
    CHECK(to_string(check->listen) == "127.0.0.1:9903");
    CHECK(check->clients.empty());
}

/// Without where each key comes from.
Settings values_of(Settings settings) {
    settings.given.clear();
    return settings;
}

/// Keys whose default the table tells in words that cannot be given; tests of their own have them.
const std::set<std::string_view> kInWords = {
    "upstream",         "trusted_proxies",  "admin_token_file", "cluster.advertise",
    "cluster.key_file", "timeouts.connect", "limits.memory",    "snapshot.file"};

TEST_CASE("the defaults that the table tells are the defaults that hold") {
    // With the optional sections, so that their keys have defaults, too.
    const std::string text = kUpstream + "cluster: {key_file: k}\ncheck: {}\n";
    const Settings plain = values_of(load(text, {}));
    CHECK(plain.timeouts == TimeoutSettings{});
    CHECK(plain.limits == LimitSettings{});
    CHECK(plain.headers == HeaderSettings{});
    std::vector<Override> defaults;
    for (const SettingField& field : setting_fields()) {
        if (kInWords.contains(field.key)) {
            continue;
        }
        CAPTURE(field.key);
        const bool none = field.is_list && field.default_text == "none";  // a list of nothing
        defaults.push_back(
            {std::string(field.key), "--x", none ? "" : std::string(field.default_text)});
        CHECK(values_of(load(text, {defaults.back()})) == plain);
    }
    CHECK(defaults.size() + kInWords.size() == setting_fields().size());
    CHECK(values_of(load(text, defaults)) == plain);
}

TEST_CASE("protocols to which a connection may switch") {
    CHECK(load(kUpstream, {}).upgrades == std::vector<std::string>{"websocket"});
    CHECK(load(kUpstream + "upgrades: []\n", {}).upgrades.empty());
    CHECK(load(kUpstream + "upgrades: [WebSocket, SPDY/3.1]\n", {}).upgrades ==
          std::vector<std::string>{"websocket", "spdy/3.1"});
    // The rest would carry requests past the limits, or is no name at all.
    for (const char* protocol : {"h2c", "H2C", "h2", "HTTP/2.0", "http", "TLS/1.2", "a/b/c", "a/",
                                 "/1", "web socket", "\"\""}) {
        CAPTURE(protocol);
        CHECK(override_errors({{"upgrades", "--upgrades", protocol}}).size() == 1);
    }
}

TEST_CASE("the defaults that the table tells in words") {
    const Settings settings = load(kUpstream + "cluster: {key_file: k}\n", {});
    CHECK(settings.admin_token_file.empty());
    CHECK_FALSE(settings.trusted_proxies.has_value());
    CHECK(settings.cancel_on_fin.empty());
    CHECK(load(kUpstream + "cancel_on_fin: [GET, HEAD]\n", {}).cancel_on_fin ==
          std::vector{http::Method::get, http::Method::head});
    for (const char* method : {"POST", "get", "none"}) {
        CHECK(override_errors({{"cancel_on_fin", "--cancel-on-fin", method}}).size() == 1);
    }
    CHECK_FALSE(trusts(settings, Endpoint::v4(0x7f000001, 1)));
    CHECK(passes_forwarded(settings, Endpoint::v4(0x7f000001, 1)));
    const Settings nobody = load(kUpstream + "trusted_proxies: []\n", {});
    REQUIRE(nobody.trusted_proxies.has_value());
    CHECK_FALSE(passes_forwarded(nobody, Endpoint::v4(0x7f000001, 1)));
    CHECK(settings.snapshot.file.empty());
    CHECK_FALSE(settings.cluster->advertise.has_value());
    const auto connect =
        std::ranges::find(setting_fields(), "timeouts.connect", &SettingField::key);
    REQUIRE(connect != setting_fields().end());
    CHECK(connect->default_text == "250ms; 5s to another host");  // as above
}

}  // namespace
}  // namespace weir::config
