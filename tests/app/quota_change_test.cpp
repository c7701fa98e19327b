#include "app/quota_change.h"

#include <doctest/doctest.h>

namespace weir::app {
namespace {

limiter::QuotaDefinition quota(double amount) {
    limiter::QuotaDefinition definition;
    definition.name = "q";
    limiter::RateLimit limit;
    limit.amount = amount;
    definition.limits.push_back(limit);
    return definition;
}

using Lines = std::vector<std::string>;

TEST_CASE("differences are told field by field in the words of documents") {
    limiter::QuotaDefinition before = quota(100);
    before.parent = "p";
    limiter::QuotaDefinition after = quota(200);
    after.mode = limiter::Mode::shadow;
    CHECK(differences(before, after) ==
          Lines{"- parent: p", "~ limits[0].rate: 100r/s -> 200r/s", "+ mode: shadow"});
    CHECK(differences(before, before).empty());
    CHECK(differences(std::nullopt, quota(5)) == Lines{"+ limits[0].rate: 5r/s"});
    CHECK(differences(quota(5), std::nullopt) == Lines{"- limits[0].rate: 5r/s"});
}

TEST_CASE("a history is a line per change with what it changed") {
    const Json report = Json::parse(R"({"history": [
      {"epoch": 3, "writer": "b", "state": "current", "kind": "removed", "who": "", "why": "",
       "age_seconds": 10.0, "expires_after_seconds": null, "definition": null},
      {"epoch": 2, "writer": "a", "state": "replaced", "kind": "set", "who": "ann", "why": "sale",
       "age_seconds": 60.0, "expires_after_seconds": 90.0,
       "definition": {"name": "q", "limits": [{"rate": "2r/s"}]}},
      {"epoch": 1, "writer": "a", "state": "overruled", "kind": "set", "who": "bob", "why": "",
       "age_seconds": 70.0, "expires_after_seconds": null,
       "definition": {"name": "q", "limits": [{"rate": "1r/s"}]}}]})");
    CHECK(history_text(report, 86'400) ==
          "history   newest first\n"
          "  1970-01-01 23:59:50Z  epoch 3 by b  removed  [current]\n"
          "  1970-01-01 23:59:00Z  epoch 2 by a  set  ann  'sale'  for 90s  [replaced]\n"
          "    ~ limits[0].rate: 1r/s -> 2r/s\n"
          "  1970-01-01 23:58:50Z  epoch 1 by a  set  bob  [overruled]\n"
          "    + limits[0].rate: 1r/s\n");
    CHECK(history_text(Json::object(), 0).find("no change") != std::string::npos);
}

TEST_CASE("sets that are not in force as written are told") {
    const Json config = Json::parse(R"({"quota_sets": [
      {"name": "a", "generation": 7, "conflict": false, "problem": null},
      {"name": "b", "generation": 8, "conflict": true, "problem": null},
      {"name": "c", "generation": 9, "conflict": false, "problem": "c.yaml: older"}]})");
    CHECK(set_problems(config) ==
          Lines{"set b: generation 8 has other content elsewhere in the fleet: give the change a "
                "new generation",
                "c.yaml: older"});
}

}  // namespace
}  // namespace weir::app
