// Which routes are warned of for weights that their buckets cannot hold.
#include "node/weight_warnings.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

namespace weir::node {
namespace {

using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::Unit;
using routing::RouteSettings;
using routing::WeightSource;

/// A hard edge at `low`.
RateLimit limit(double low, Unit unit = Unit::requests) {
    RateLimit result;
    result.unit = unit;
    result.amount = low;
    result.low = limiter::BurstSpec{limiter::BurstSpec::Kind::amount, low};
    result.high = result.low;
    return result;
}

QuotaDefinition quota(std::string name, std::vector<RateLimit> limits,
                      std::optional<std::string> parent = std::nullopt) {
    QuotaDefinition definition;
    definition.name = std::move(name);
    definition.limits = std::move(limits);
    definition.parent = std::move(parent);
    return definition;
}

RouteSettings route(std::vector<std::string> quotas, double weight) {
    RouteSettings settings;
    settings.quotas = std::move(quotas);
    settings.weight.constant = weight;
    return settings;
}

RouteSettings s3(std::vector<std::pair<std::string, double>> table, double others = 1) {
    RouteSettings settings = route({}, others);
    settings.preset = "s3";
    settings.weight.source = WeightSource::table;
    settings.weight.table = std::move(table);
    return settings;
}

/// What is said, without what is the same of all warnings.
std::vector<std::string> warnings(std::vector<RouteSettings> routes,
                                  std::vector<QuotaDefinition> quotas) {
    config::Settings settings;
    settings.routing.routes = std::move(routes);
    config::QuotaSet set;
    set.quotas = std::move(quotas);
    config::Diagnostics diagnostics;
    warn_about_weights(settings, {set}, "weir.yaml", diagnostics);
    CHECK_FALSE(diagnostics.has_errors());
    std::vector<std::string> result;
    std::string text = diagnostics.text();
    const std::string before = "weir.yaml: warning: ";
    const std::string after = ": such a request passes only when the bucket is nearly empty";
    while (!text.empty()) {
        std::string line = text.substr(0, text.find('\n'));
        text.erase(0, line.size() + 1);
        REQUIRE(line.starts_with(before));
        line.erase(0, before.size());
        if (line.ends_with(after)) {
            line.resize(line.size() - after.size());
        }
        result.push_back(std::move(line));
    }
    return result;
}

using Lines = std::vector<std::string>;

TEST_CASE("a constant above low, with its figure as it is") {
    CHECK(warnings({route({"a"}, 5.5)}, {quota("a", {limit(5)})}) ==
          Lines{"routes[0].weight: a weight of 5.5 exceeds the low burst of quota 'a', 5"});
    CHECK(warnings({route({"a"}, 5)}, {quota("a", {limit(5)})}).empty());
    CHECK(warnings({route({"b"}, 50)}, {quota("a", {limit(5)})}).empty());
    CHECK(warnings({route({"b", "a"}, 1e15)}, {quota("a", {limit(0.25)})}) ==
          Lines{"routes[0].weight: a weight of 1000000000000000 exceeds the low burst of quota "
                "'a', 0.25"});
}

TEST_CASE("only limits that count weights, and of them the lowest") {
    CHECK(warnings({route({"a"}, 50)}, {quota("a", {limit(5, Unit::request_bytes)})}).empty());
    CHECK(warnings({route({"a"}, 50)}, {quota("a", {limit(0)})}).empty());  // refuses everything
    CHECK(warnings({route({"a"}, 50)}, {quota("a", {RateLimit::in_flight(5)})}).empty());
    QuotaDefinition off = quota("a", {limit(5)});
    off.mode = limiter::Mode::off;
    CHECK(warnings({route({"a"}, 50)}, {off}).empty());
    CHECK(
        warnings({route({"a"}, 50)}, {quota("a", {limit(40), limit(9, Unit::cost), limit(60)})}) ==
        Lines{"routes[0].weight: a weight of 50 exceeds the low burst of quota 'a', 9"});
    const RateLimit window = RateLimit::in_window(5, std::chrono::hours(1));
    CHECK(warnings({route({"a"}, 50)}, {quota("a", {limit(40), window})}) ==
          Lines{"routes[0].weight: a weight of 50 exceeds the window of quota 'a', 5: such a "
                "request is more than a window holds"});
    CHECK(warnings({route({"a"}, 50)}, {quota("a", {window, limit(4)})}) ==
          Lines{"routes[0].weight: a weight of 50 exceeds the low burst of quota 'a', 4"});
    CHECK(warnings({route({"a"}, 5)}, {quota("a", {window})}).empty());
    RouteSettings stated = route({"a"}, 50);
    stated.weight.source = WeightSource::header;
    CHECK(warnings({stated}, {quota("a", {limit(5)})}).empty());
}

TEST_CASE("captures compare by shape, whatever their names") {
    const std::string said = "routes[0].weight: a weight of 9 exceeds the low burst of quota '";
    struct Pair {
        std::string text;
        std::string quota;
        bool meet;
    };
    for (const Pair& pair : std::vector<Pair>{{"api/{tenant}", "api/{t}", true},
                                              {"api/{tenant}", "api/acme", true},
                                              {"api/acme", "api/{t}", true},
                                              {"api/acme", "api/bcme", false},
                                              {"api/{tenant}", "api/eu-{x}", true},
                                              {"api/eu-{tenant}", "api/{x}-eu", true},
                                              {"api/eu-{tenant}", "api/us-{x}", false},
                                              {"api/{a}-{b}", "api/x{y}", true},
                                              {"api/{a}-{b}", "api/xy", false},
                                              {"api/{a}-{b}", "api/x-y", true},
                                              {"api/{tenant}", "api", false},
                                              {"api/{tenant}", "api/{t}/read", false},
                                              {"{host}/{tenant}", "api/{t}", true},
                                              {"{host}", "api/{t}", false},
                                              {"user-{id}", "user-", false}}) {
        CAPTURE(pair.text);
        CAPTURE(pair.quota);
        CHECK(warnings({route({pair.text}, 9)}, {quota(pair.quota, {limit(5)})}) ==
              (pair.meet ? Lines{said + pair.quota + "', 5"} : Lines{}));
    }
}

TEST_CASE("what is above the quota counts, too") {
    const std::vector<QuotaDefinition> tree{
        quota("root", {limit(3)}), quota("api/{t}", {limit(100)}, "root"),
        quota("api/{t}/read", {limit(50)}, "api/{t}"), quota("other", {limit(1)})};
    CHECK(warnings({route({"x"}, 1), route({"api/{tenant}/read"}, 4.25)}, tree) ==
          Lines{"routes[1].weight: a weight of 4.25 exceeds the low burst of quota 'root', 3, a "
                "parent of 'api/{t}/read'"});
    // A parent's text that falls under a template, as the limiter finds it.
    CHECK(warnings({route({"leaf"}, 4)},
                   {quota("team/{t}", {limit(2)}), quota("leaf", {limit(9)}, "team/a")}) ==
          Lines{"routes[0].weight: a weight of 4 exceeds the low burst of quota 'team/{t}', 2, a "
                "parent of 'leaf'"});
}

TEST_CASE("of a table the entries whose requests the route can have") {
    RouteSettings table = route({"a"}, 1);
    table.weight.source = WeightSource::table;
    table.weight.table = {{"GET", 2}, {"POST", 20}, {"PUT", 30}};
    CHECK(warnings({table}, {quota("a", {limit(5)})}) ==
          Lines{"routes[0].weight: a weight of 30 (PUT) exceeds the low burst of quota 'a', 5"});
    table.match.methods = {"GET", "POST"};
    table.weight.constant = 99;  // of none of these two
    CHECK(warnings({table}, {quota("a", {limit(5)})}) ==
          Lines{"routes[0].weight: a weight of 20 (POST) exceeds the low burst of quota 'a', 5"});
    table.match.methods = {"GET", "HEAD"};
    CHECK(warnings({table}, {quota("a", {limit(5)})}) ==
          Lines{"routes[0].weight: a weight of 99 exceeds the low burst of quota 'a', 5"});
}

TEST_CASE("preset s3: an operation's weight against the quotas that it is charged to") {
    const std::vector<QuotaDefinition> tree{
        quota("s3", {limit(100)}), quota("s3/{b}", {limit(8)}, "s3"),
        quota("s3/{b}/read", {limit(5)}, "s3/{b}"), quota("s3/{b}/write", {limit(6)}, "s3/{b}"),
        quota("s3/{b}/PutObject", {limit(7)}, "s3/{b}")};
    CHECK(warnings({s3({{"ListObjectsV2", 10}})}, tree) ==
          Lines{"routes[0].weight: a weight of 10 (ListObjectsV2) exceeds the low burst of quota "
                "'s3/{b}', 8",
                "routes[0].weight: a weight of 10 (ListObjectsV2) exceeds the low burst of quota "
                "'s3/{b}/read', 5"});
    CHECK(warnings({s3({{"PutObject", 6.5}})}, tree) ==
          Lines{"routes[0].weight: a weight of 6.5 (PutObject) exceeds the low burst of quota "
                "'s3/{b}/write', 6"});
    CHECK(warnings({s3({{"GetObject", 5}})}, tree).empty());
    CHECK(warnings({s3({}, 5.5)}, tree) ==
          Lines{"routes[0].weight: a weight of 5.5 exceeds the low burst of quota 's3/{b}/read', "
                "5"});
    // Without a bucket only the root is there.
    CHECK(warnings({s3({{"ListBuckets", 50}})}, tree).empty());
    CHECK(warnings({s3({{"ListBuckets", 500}})}, tree) ==
          Lines{"routes[0].weight: a weight of 500 (ListBuckets) exceeds the low burst of quota "
                "'s3', 100"});
    RouteSettings own = s3({{"ListObjectsV2", 10}});
    own.quotas = {"{operation}/{bucket}"};
    CHECK(warnings({own},
                   {quota("ListObjectsV2/{x}", {limit(9)}), quota("GetObject/{x}", {limit(9)})}) ==
          Lines{"routes[0].weight: a weight of 10 (ListObjectsV2) exceeds the low burst of quota "
                "'ListObjectsV2/{x}', 9"});
}

TEST_CASE("of very many quotas some are named and the others counted") {
    std::vector<QuotaDefinition> many;
    for (int i = 0; i < 25; ++i) {
        many.push_back(quota("api/" + std::to_string(i), {limit(5)}));
    }
    const Lines said = warnings({route({"api/{t}"}, 6)}, many);
    REQUIRE(said.size() == 11);
    CHECK(said[10] == "routes[0].weight: the same holds for 15 more quotas");
}

}  // namespace
}  // namespace weir::node
