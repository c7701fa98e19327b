// What GET /v1/config shows of the settings: each with its value and where it comes from.

#include "config/given_settings.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "config/helpers.h"
#include "config/load_settings.h"
#include "config/settings_fields.h"
#include "config/settings_reload.h"

namespace weir::config {
namespace {

using testing::Lines;
using testing::lines;
using Json = nlohmann::json;

Settings load(const std::string& text, const std::vector<Override>& overrides = {}) {
    Diagnostics diagnostics;
    Settings settings = load_settings(SourceText{"weir.yaml", text}, overrides, diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    return settings;
}

Json shown(const Settings& settings) { return Json::parse(describe_settings(settings.given)); }

const std::string kText =
    "upstream: http://127.0.0.1:3000\n"
    "workers: 2\n"
    "quotas: [a.yaml, b.yaml]\n"
    "cluster: {name: one, key_file: /run/gossip.key}\n"
    "headers: {via: false}\n"
    "routes:\n"
    "  - match: {path: /**}\n"
    "    quota: all\n";

TEST_CASE("each key is shown with its value and its source") {
    const Json all =
        shown(load(kText, {{"workers", "WEIR_WORKERS", "3"},
                           {"cluster.name", "WEIR_CLUSTER_NAME", "two"},
                           {"cluster.name", "--cluster-name", "three"},
                           {"headers.rate_limit", "--headers-rate-limit", "ietf,x-ratelimit"}}));
    CHECK(all.size() == setting_fields().size() + 1);
    CHECK(all["upstream"] == Json{{"value", "http://127.0.0.1:3000"}, {"source", "weir.yaml:1"}});
    CHECK(all["quotas"]["value"] == Json({"a.yaml", "b.yaml"}));
    CHECK(all["workers"]["source"] == "WEIR_WORKERS");
    CHECK(all["workers"]["value"] == "3");
    CHECK(all["cluster.name"] == Json{{"value", "three"}, {"source", "--cluster-name"}});
    CHECK(all["cluster.key_file"]["value"] == "/run/gossip.key");
    CHECK(all["headers.via"] == Json{{"value", false}, {"source", "weir.yaml:5"}});
    CHECK(all["headers.rate_limit"]["value"] == Json({"ietf", "x-ratelimit"}));
    CHECK(all["listen"] == Json{{"value", "0.0.0.0:8080"}, {"source", "default"}});
    CHECK(all["routes"]["value"][0]["match"]["path"] == "/**");
    CHECK(all["routes"]["source"] == "weir.yaml:7");
}

TEST_CASE("a reload changes what it may, the rest is shown as it is in force") {
    Settings in_force = load(kText);
    const Settings wanted = load(
        "upstream: http://127.0.0.1:4000\n"
        "listen: 0.0.0.0:9999\n"
        "cluster: {name: other, key_file: /run/gossip.key}\n");
    take_over(wanted, in_force);
    const Json all = shown(in_force);
    CHECK(all["upstream"]["value"] == "http://127.0.0.1:4000");
    CHECK(all["listen"] == Json{{"value", "0.0.0.0:8080"}, {"source", "default"}});
    CHECK(all["cluster.name"]["value"] == "one");
    CHECK(all["workers"]["value"] == 2);
    CHECK(all["headers.via"]["source"] == "default");
    CHECK(all["routes"] == Json{{"value", "none"}, {"source", "default"}});
}

}  // namespace
}  // namespace weir::config
