#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "admin/admin_server.h"
#include "admin/sample_sources.h"

using namespace weir;
using namespace weir::admin;
using namespace weir::admin::test;
using Json = nlohmann::json;

namespace {

/// A directory of its own that refuses definitions whose parent does not exist.
class FakeDirectory : public QuotaDirectory {
  public:
    std::vector<QuotaRow> page(std::string_view prefix, std::string_view after,
                               std::size_t count) const override {
        std::vector<QuotaRow> page;
        for (const auto& [name, row] : rows) {
            if (!name.starts_with(prefix) || (!after.empty() && name <= after)) {
                continue;
            }
            if (page.size() == count) {
                break;
            }
            page.push_back(row);
        }
        return page;
    }
    std::optional<QuotaRow> find(std::string_view name) const override {
        const auto found = rows.find(std::string(name));
        return found == rows.end() ? std::nullopt : std::optional(found->second);
    }
    QuotaReport report(std::string_view name) const override {
        QuotaReport report;
        report.row = find(name);
        if (name == "s3/live") {
            report.row = find("s3/{bucket}");
            engine::LimitReport limit;
            limit.unit = "requests";
            limit.period = std::chrono::seconds(1);
            limit.level = 12.5;
            limit.owners = {parse_endpoint("10.0.0.1:7946").value()};
            report.instance = engine::QuotaReport{.name = std::string(name), .limits = {limit}};
            report.figures = sample_quota("s3/{bucket}");
        }
        return report;
    }
    std::vector<QuotaHistoryRow> history(std::string_view name) const override {
        if (name != "s3/gone") {
            return {};
        }
        QuotaHistoryRow row;
        row.version = {.epoch = 4, .writer = 0xab};
        row.state = "current";
        row.kind = "removed";
        row.who = "ada";
        row.age = std::chrono::seconds(90);
        return {row};
    }
    ChangeOutcome put(const limiter::QuotaDefinition& definition,
                      const definitions::Edit& edit) override {
        const auto known = find(definition.name);
        if (edit.expected && *edit.expected != (known ? known->tag : "")) {
            ChangeOutcome outdated;
            outdated.code = ErrorCode::conflict;
            outdated.message = "the quota has changed meanwhile";
            return outdated;
        }
        if (definition.parent && !rows.contains(*definition.parent)) {
            ChangeOutcome refused;
            refused.errors = {{.index = 0,
                               .quota = definition.name,
                               .field = "parent",
                               .message = "there is no quota of that name",
                               .suggestion = "s3"}};
            return refused;
        }
        last_edit = edit;
        if (edit.dry_run) {
            return accepted();
        }
        rows[definition.name] = {.name = definition.name,
                                 .definition = definition,
                                 .source = "api epoch 1",
                                 .problem = "",
                                 .who = edit.who,
                                 .why = edit.why,
                                 .expires_in = edit.lifetime,
                                 .tag = "tag-" + std::to_string(epoch_)};
        return accepted();
    }
    definitions::TogetherReport put_together(std::span<const definitions::WantedDefinition> wanted,
                                             const definitions::Edit& edit) override {
        definitions::TogetherReport report;
        last_edit = edit;
        for (const definitions::WantedDefinition& one : wanted) {
            if (one.expected && *one.expected == "outdated") {
                report.code = ErrorCode::conflict;
                report.message = "the quota has changed meanwhile";
                return report;
            }
            if (one.definition.parent == "nobody") {
                report.errors.push_back({.index = 0,
                                         .quota = one.definition.name,
                                         .field = "parent",
                                         .message = "there is no quota 'nobody'",
                                         .suggestion = ""});
            }
        }
        if (!report.errors.empty()) {
            return report;
        }
        for (const definitions::WantedDefinition& one : wanted) {
            report.versions.push_back(*accepted().version);
            if (!edit.dry_run) {
                rows[one.definition.name].definition = one.definition;
            }
        }
        return report;
    }
    ChangeOutcome hide(std::string_view name, const definitions::Edit&) override {
        rows[std::string(name)].definition.reset();
        return accepted();
    }
    ChangeOutcome remove(std::string_view name, const definitions::Edit& edit) override {
        if (edit.dry_run && rows.contains(std::string(name))) {
            return accepted();
        }
        if (rows.erase(std::string(name)) > 0) {
            return accepted();
        }
        ChangeOutcome refused;
        refused.code = ErrorCode::not_found;
        refused.message = "the API layer has no such quota";
        return refused;
    }

    std::map<std::string, QuotaRow> rows;
    definitions::Edit last_edit;

  private:
    ChangeOutcome accepted() {
        ChangeOutcome outcome;
        outcome.version = definitions::Version{.epoch = ++epoch_, .writer = 0xffffffffffffffff};
        return outcome;
    }
    std::uint64_t epoch_ = 0;
};

struct World {
    FakeDirectory directory;
    Health health{.listening = true, .configured = true, .draining = false};
    std::string level = "info";
    AdminHandler handler{sources(), {}};

    AdminSources sources() {
        AdminSources result;
        result.health = [this] { return health; };
        result.config = sample_config;
        result.peers = [] {
            return std::vector<engine::PeerReport>{
                {.address = parse_endpoint("10.0.0.1:7946").value(),
                 .incarnation = 0xfedcba9876543210,
                 .state = "alive",
                 .silence = std::nullopt,
                 .self = true,
                 .round_trip = std::nullopt,
                 .key = 0x0a0b0c0d},
                {.address = parse_endpoint("[2001:db8::1]:7946").value(),
                 .incarnation = 5,
                 .state = "suspect",
                 .silence = std::chrono::milliseconds(1500),
                 .self = false,
                 .round_trip = std::chrono::milliseconds(250),
                 .key = 0}};
        };
        result.gossip = [] {
            GossipTrouble trouble;
            trouble.clustered = true;
            trouble.seal.keys = {0x0a0b0c0d, 7};
            trouble.seal.strangers = {{parse_endpoint("10.0.0.9:7946").value(), "unknown_key",
                                       0xffeeddcc, 12, std::chrono::milliseconds(500)},
                                      {parse_endpoint("10.0.0.8:7946").value(), "unsealed", 0, 1,
                                       std::chrono::seconds(2)}};
            trouble.silent_seeds = {parse_endpoint("10.0.0.9:7946").value()};
            trouble.limits = {{"s3/photos", "requests", std::chrono::seconds(60),
                               std::chrono::milliseconds(1500), 2, 1, true}};
            return trouble;
        };
        result.build = {.version = "0.1.0", .revision = "abc", .compiler = "g++"};
        result.quotas = &directory;
        result.drain = [this] { health.draining = true; };
        result.log_level = [this] { return level; };
        result.set_log_level = [this](std::string_view wanted) {
            if (wanted != "debug" && wanted != "info") {
                return false;
            }
            level = wanted;
            return true;
        };
        result.uptime_seconds = [] { return 12.5; };
        return result;
    }

    Response put_if(std::string target, std::string match, std::string none = "") {
        Request request;
        request.method = "PUT";
        request.target = std::move(target);
        request.host = "127.0.0.1:9901";
        request.body = R"({"limits": [{"rate": "1r/s"}]})";
        request.content_type = "application/json";
        request.if_match = std::move(match);
        request.if_none_match = std::move(none);
        return handler(request);
    }
    Response send(std::string method, std::string target, std::string body = "",
                  std::string type = "application/json") {
        Request request;
        request.method = std::move(method);
        request.target = std::move(target);
        request.host = "127.0.0.1:9901";
        request.body = std::move(body);
        request.content_type = std::move(type);
        return handler(request);
    }
    Json get(std::string target, unsigned status = 200) {
        const auto answer = send("GET", std::move(target));
        CHECK(answer.status == status);
        return Json::parse(answer.body);
    }
};

const std::string kTen = R"({"limits": [{"rate": "10r/s"}]})";

}  // namespace

TEST_CASE("config, peers and status are shown") {
    World world;
    const Json config = world.get("/v1/config");
    CHECK(config["hash"] == "00112233");
    CHECK(config["quota_sets"][0]["name"] == "storage");
    CHECK(config["quota_sets"][0]["generation"] == 7);
    CHECK(config["settings"]["listen"] == "0.0.0.0:8080");
    const Json peers = world.get("/v1/peers")["peers"];
    REQUIRE(peers.size() == 2);
    CHECK(peers[0]["state"] == "self");
    CHECK(peers[0]["incarnation"] == "18364758544493064720");
    CHECK(peers[1]["address"] == "[2001:db8::1]:7946");
    CHECK(peers[1]["silent_seconds"] == 1.5);
    CHECK(peers[1]["round_trip_seconds"] == 0.25);
    CHECK(peers[1]["key"] == nullptr);
    CHECK(peers[0]["round_trip_seconds"] == nullptr);
    CHECK(peers[0]["key"] == "0a0b0c0d");
    const Json status = world.get("/v1/status");
    CHECK(status["health"]["ready"] == true);
    CHECK(status["peers"]["suspect"] == 1);
    CHECK(status["peers"].size() == 1);  // oneself is not counted
    CHECK(status["uptime_seconds"] == 12.5);
    const Json& gossip = status["gossip"];
    CHECK(gossip["sealed"] == true);
    CHECK(gossip["keys"] == Json({"0a0b0c0d", "00000007"}));
    CHECK(gossip["strangers"][0]["address"] == "10.0.0.9:7946");
    CHECK(gossip["strangers"][0]["key"] == "ffeeddcc");
    CHECK(gossip["strangers"][0]["datagrams"] == 12);
    CHECK(gossip["strangers"][0]["problem"] == "sealed with a key that this sidecar does not have");
    CHECK(gossip["strangers"][1]["key"] == nullptr);
    CHECK(gossip["silent_seeds"][0] == "10.0.0.9:7946");
    CHECK(gossip["limits"] == Json::parse(R"([{"quota": "s3/photos", "unit": "requests",
        "period": "1m", "silent_seconds": 1.5, "owners": 2, "believed": 1, "isolated": true}])"));
}

TEST_CASE("a quota is set, shown, patched and removed") {
    World world;
    const auto put = world.send("PUT", "/v1/quotas/s3?who=ada&why=test&expires_in=90s", kTen);
    REQUIRE(put.status == 200);
    const Json accepted = Json::parse(put.body);
    CHECK(accepted["epoch"] == 1);
    CHECK(accepted["writer"] == "ffffffffffffffff");
    CHECK(world.directory.last_edit.who == "ada");
    CHECK(world.directory.last_edit.why == "test");
    CHECK(world.directory.last_edit.lifetime == std::chrono::seconds(90));

    const Json shown = world.get("/v1/quotas/s3");
    CHECK(shown["definition"]["limits"][0]["rate"] == "10r/s");
    CHECK(shown["source"] == "api epoch 1");
    CHECK(shown["expires_in_seconds"] == 90);
    CHECK(shown["live"].is_null());

    CHECK(
        world.send("PUT", "/v1/quotas/s3", R"({"mode": "shadow"})", "application/merge-patch+json")
            .status == 200);
    const auto& patched = world.directory.rows.at("s3").definition;
    CHECK(patched->mode == limiter::Mode::shadow);
    CHECK(patched->limits.size() == 1);

    CHECK(world.send("DELETE", "/v1/quotas/s3").status == 200);
    CHECK(world.get("/v1/quotas/s3", 404)["status"] == 404);
    CHECK(world.send("DELETE", "/v1/quotas/s3").status == 404);
}

TEST_CASE("changes may be made on a condition, and a broken condition is told apart") {
    World world;
    const auto tag_in = [](const Response& answer) {
        for (const auto& [name, value] : answer.fields) {
            if (name == "ETag") {
                return value;
            }
        }
        return std::string();
    };
    CHECK(world.put_if("/v1/quotas/s3", "", "*").status == 200);
    const std::string tag = tag_in(world.send("GET", "/v1/quotas/s3"));
    CHECK(tag.size() > 2);
    CHECK(world.put_if("/v1/quotas/s3", "", "*").status == 412);
    CHECK(world.put_if("/v1/quotas/s3", tag).status == 200);
    const Response outdated = world.put_if("/v1/quotas/s3", tag);
    CHECK(outdated.status == 412);
    CHECK(tag_in(outdated) != tag);
    for (const std::string bad : {"W/\"a\"", "*", "a", "\"a\", \"b\"", "\""}) {
        CAPTURE(bad);
        CHECK(world.put_if("/v1/quotas/s3", bad).status == 400);
    }
    CHECK(world.put_if("/v1/quotas/s3", "", tag).status == 400);
    CHECK(world.put_if("/v1/quotas/s3", tag, "*").status == 400);
}

TEST_CASE("a lifetime is a time, never, or the one that is there; a patch keeps it unless told") {
    World world;
    REQUIRE(world.send("PUT", "/v1/quotas/s3?expires_in=90s", kTen).status == 200);
    CHECK(world.directory.last_edit.lifetime == std::chrono::seconds(90));
    CHECK(world.send("PUT", "/v1/quotas/s3?expires_in=never", kTen).status == 200);
    CHECK_FALSE(world.directory.last_edit.lifetime.has_value());
    CHECK_FALSE(world.directory.last_edit.keep_lifetime);
    CHECK(world.send("PUT", "/v1/quotas/s3?expires_in=keep", kTen).status == 200);
    CHECK(world.directory.last_edit.keep_lifetime);
    CHECK(world.send("PUT", "/v1/quotas/s3", kTen).status == 200);
    CHECK_FALSE(world.directory.last_edit.keep_lifetime);
    const std::string patch = R"({"mode": "shadow"})";
    const std::string type = "application/merge-patch+json";
    CHECK(world.send("PUT", "/v1/quotas/s3", patch, type).status == 200);
    CHECK(world.directory.last_edit.keep_lifetime);
    CHECK(world.send("PUT", "/v1/quotas/s3?expires_in=never", patch, type).status == 200);
    CHECK_FALSE(world.directory.last_edit.keep_lifetime);
    // A removal does not expire.
    CHECK(world.send("DELETE", "/v1/quotas/s3?expires_in=5s").status == 400);
    CHECK(world.directory.rows.contains("s3"));
}

TEST_CASE("a removal is tried as well: what the files say would hold") {
    World world;
    CHECK(world.send("DELETE", "/v1/quotas/s3?dry_run=true").status == 404);
    REQUIRE(world.send("PUT", "/v1/quotas/s3?expires_in=2h", kTen).status == 200);
    CHECK(world.send("DELETE", "/v1/quotas/s3?dry_run=maybe").status == 400);
    const auto tried = world.send("DELETE", "/v1/quotas/s3?dry_run=true&who=ada");
    REQUIRE(tried.status == 200);
    const Json answer = Json::parse(tried.body);
    CHECK(answer["dry_run"] == true);
    CHECK(answer["definition"].is_null());
    CHECK_FALSE(answer.contains("expires_in_seconds"));
    QuotaRow& row = world.directory.rows.at("s3");
    row.file_definition = row.definition;
    const auto beneath = Json::parse(world.send("DELETE", "/v1/quotas/s3?dry_run=true").body);
    CHECK(beneath["definition"]["limits"][0]["rate"] == "10r/s");
    CHECK(world.directory.rows.contains("s3"));
}

TEST_CASE("a dry run answers what would be, or why not, and changes nothing") {
    World world;
    const auto tried = world.send("PUT", "/v1/quotas/s3?dry_run=true&expires_in=2h", kTen);
    REQUIRE(tried.status == 200);
    const Json answer = Json::parse(tried.body);
    CHECK(answer["dry_run"] == true);
    CHECK(answer["definition"]["limits"][0]["rate"] == "10r/s");
    CHECK(answer["expires_in_seconds"] == 7200);
    CHECK(world.directory.rows.empty());
    CHECK(world
              .send("PUT", "/v1/quotas/x?dry_run=true",
                    R"({"parent": "nobody", "limits": [{"rate": "1r/s"}]})")
              .status == 422);
    CHECK(world.send("PUT", "/v1/quotas/s3?dry_run=1", kTen).status == 400);
    CHECK(world.directory.rows.empty());
}

TEST_CASE("several quotas are set together or not at all") {
    World world;
    const auto send = [&](const std::string& body, const std::string& query = "") {
        return world.send("POST", "/v1/quotas" + query, body);
    };
    const std::string good =
        R"({"quotas": [{"definition": {"name": "a", "limits": [{"rate": "1r/s"}]}, "etag": "x"},
                       {"definition": {"name": "b", "limits": []}}]})";
    const auto dry = send(good, "?dry_run=true");
    REQUIRE(dry.status == 200);
    CHECK(Json::parse(dry.body)["dry_run"] == true);
    CHECK(world.directory.rows.empty());
    const auto done = send(good, "?who=ann&expires_in=2h");
    REQUIRE(done.status == 200);
    CHECK(Json::parse(done.body)["quotas"].size() == 2);
    CHECK(world.directory.last_edit.who == "ann");
    CHECK(world.directory.rows.size() == 2);

    const auto orphan =
        send(R"({"quotas": [{"definition": {"name": "c", "parent": "nobody", "limits": []}}]})");
    CHECK(orphan.status == 422);
    CHECK(Json::parse(orphan.body)["errors"][0]["quota"] == "c");
    CHECK(send(R"({"quotas": [{"definition": {"name": "c", "limits": []}, "etag": "outdated"}]})")
              .status == 412);
    const auto bad = send(
        R"({"quotas": [{"definition": {"name": "c", "limits": [{"rate": "x"}]}}, {"other": 1}]})");
    CHECK(bad.status == 422);
    CHECK(Json::parse(bad.body)["errors"].size() == 2);
    CHECK(Json::parse(bad.body)["errors"][0]["path"] == "quotas[0].definition.limits[0].rate");
    for (const char* body : {"", "[]", "{}", R"({"quotas": []})", R"({"quotas": 1})",
                             R"({"quotas": [], "quotas": []})", R"({"quotas": [[]], "x": 1})"}) {
        CAPTURE(body);
        CHECK(send(body).status == 422);
    }
    CHECK(world.send("POST", "/v1/quotas", good, "text/plain").status == 415);
    CHECK(send(good, "?expires=1h").status == 400);
    CHECK(world.directory.rows.size() == 2);
}

TEST_CASE("the history is shown when asked for, also of a quota that is gone") {
    World world;
    CHECK(world.send("GET", "/v1/quotas/s3/gone").status == 404);
    const Json gone = world.get("/v1/quotas/s3/gone?history=true");
    REQUIRE(gone["history"].size() == 1);
    CHECK(gone["history"][0]["kind"] == "removed");
    CHECK(gone["history"][0]["age_seconds"] == 90);
    CHECK(gone["history"][0]["definition"] == nullptr);
    CHECK(world.send("GET", "/v1/quotas/s3/gone?history=yes").status == 400);
}

TEST_CASE("names hold slashes, braces and any escape") {
    World world;
    REQUIRE(world.send("PUT", "/v1/quotas/s3", kTen).status == 200);
    for (const auto* target :
         {"/v1/quotas/s3/%7Bbucket%7D", "/v1/quotas/s3%2F%7bbucket%7d", "/v1/quotas/s3/{bucket}"}) {
        CAPTURE(target);
        CHECK(
            world.send("PUT", target, R"({"parent": "s3", "limits": [{"rate": "1r/s"}]})").status ==
            200);
    }
    CHECK(world.directory.rows.size() == 2);
    CHECK(world.directory.rows.contains("s3/{bucket}"));
    CHECK(world.get("/v1/quotas/s3%2f%7Bbucket%7D")["name"] == "s3/{bucket}");
    CHECK(world.send("GET", "/v1/quotas/s3%2").status == 400);
    CHECK(world.send("GET", "/v1/quotas/").status == 400);
    CHECK(world.send("GET", "/v1/quotas/" + std::string(limiter::kMaxNameBytes + 1, 'x')).status ==
          400);
    CHECK(world.send("GET", "/v1/quotasx").status == 404);
}

TEST_CASE("a live instance shows levels and owners under its template") {
    World world;
    REQUIRE(world.send("PUT", "/v1/quotas/s3/%7Bbucket%7D", kTen).status == 200);
    const Json shown = world.get("/v1/quotas/s3/live");
    CHECK(shown["name"] == "s3/{bucket}");
    CHECK(shown["live"]["name"] == "s3/live");
    CHECK(shown["live"]["limits"][0]["level"] == 12.5);
    CHECK(shown["live"]["limits"][0]["period"] == "1s");
    CHECK(shown["live"]["limits"][0]["owners"][0] == "10.0.0.1:7946");
    CHECK(shown["figures"]["offered"] == 14);
}

TEST_CASE("errors of a definition come all together, as problem details") {
    World world;
    const auto answer = world.send("PUT", "/v1/quotas/a",
                                   R"({"mode": "maybe", "limits": [{"rate": "ten"}], "nam": "a"})");
    CHECK(answer.status == 422);
    CHECK(answer.content_type == "application/problem+json");
    const Json problem = Json::parse(answer.body);
    CHECK(problem["status"] == 422);
    CHECK(problem["errors"].size() >= 3);
    const auto orphan =
        world.send("PUT", "/v1/quotas/a", R"({"parent": "none", "limits": [{"rate": "1r/s"}]})");
    CHECK(orphan.status == 422);
    CHECK(Json::parse(orphan.body)["errors"][0]["path"] == "parent");
    CHECK(Json::parse(orphan.body)["errors"][0]["suggestion"] == "s3");
    CHECK(world.directory.rows.empty());
}

TEST_CASE("a quota of a file is hidden by absent") {
    World world;
    REQUIRE(world.send("PUT", "/v1/quotas/s3", kTen).status == 200);
    CHECK(world.send("PUT", "/v1/quotas/s3", R"({"absent": true})").status == 200);
    CHECK(world.get("/v1/quotas/s3")["definition"].is_null());
    // There is nothing to patch in a hidden quota.
    CHECK(world.send("PUT", "/v1/quotas/s3", "{}", "application/merge-patch+json").status == 404);
}

TEST_CASE("bodies of other types, unknown and bad parameters are refused") {
    World world;
    CHECK(world.send("PUT", "/v1/quotas/s3", kTen, "").status == 415);
    CHECK(world.send("PUT", "/v1/quotas/s3", kTen, "text/plain").status == 415);
    CHECK(world.send("PUT", "/v1/quotas/s3", kTen, "Application/JSON; charset=utf-8").status ==
          200);
    CHECK(world.send("PUT", "/v1/quotas/s3?expires=1h", kTen).status == 400);
    for (const auto* bad : {"1", "-1s", "0s", "367d", "nan", "1e9d", "s", "1y"}) {
        CAPTURE(bad);
        CHECK(world.send("PUT", std::string("/v1/quotas/s3?expires_in=") + bad, kTen).status ==
              400);
    }
    CHECK(world.send("PUT", "/v1/quotas/s3?who=" + std::string(65, 'x'), kTen).status == 400);
    CHECK(world.send("PUT", "/v1/quotas/s3?why=" + std::string(257, 'x'), kTen).status == 400);
    CHECK(world.send("DELETE", "/v1/quotas/s3?what=1").status == 400);
    CHECK(world.send("GET", "/v1/quotas/s3?what=1").status == 400);
}

TEST_CASE("the list is paged in the order of names") {
    World world;
    for (const auto* name : {"b", "a/2", "a/1", "c", "a/3"}) {
        REQUIRE(world.send("PUT", std::string("/v1/quotas/") + name, kTen).status == 200);
    }
    std::vector<std::string> names;
    std::string after;
    for (int page = 0; page < 10; ++page) {
        const Json answer = world.get("/v1/quotas?limit=2&after=" + after);
        for (const auto& quota : answer["quotas"]) {
            names.push_back(quota["name"]);
        }
        if (!answer.contains("next")) {
            break;
        }
        after = answer["next"];
    }
    CHECK(names == std::vector<std::string>{"a/1", "a/2", "a/3", "b", "c"});
    CHECK(world.get("/v1/quotas?prefix=a%2F")["quotas"].size() == 3);
    for (const auto* bad : {"0", "-1", "x", "1x", "99999999999999999999"}) {
        CHECK(world.send("GET", std::string("/v1/quotas?limit=") + bad).status == 400);
    }
    CHECK(world.send("GET", "/v1/quotas?sort=name").status == 400);
    CHECK(world.send("PUT", "/v1/quotas", kTen).status == 405);
}

TEST_CASE("draining and log level") {
    World world;
    CHECK(world.send("GET", "/v1/drain").status == 405);
    CHECK_FALSE(world.health.draining);
    const auto drained = world.send("POST", "/v1/drain");
    CHECK(drained.status == 202);
    CHECK(Json::parse(drained.body)["ready"] == false);
    CHECK(world.health.draining);

    CHECK(world.get("/v1/log-level")["level"] == "info");
    CHECK(world.send("PUT", "/v1/log-level", R"({"level": "debug"})").status == 200);
    CHECK(world.level == "debug");
    CHECK(world.send("PUT", "/v1/log-level", R"({"level": "loud"})").status == 422);
    for (const auto* bad : {"", "debug", "{}", R"({"level": 3})", R"({"level": "info", "x": 1})"}) {
        CHECK(world.send("PUT", "/v1/log-level", bad).status == 400);
    }
    CHECK(world.send("DELETE", "/v1/log-level").status == 405);
    CHECK(world.level == "debug");
}

TEST_CASE("unknown resources, methods and targets") {
    World world;
    for (const auto* path : {"/", "/v1", "/v2/peers", "/v1/peers/x", "/metrics"}) {
        CHECK(world.send("GET", path).status == 404);
    }
    for (const auto* path : {"/v1/config", "/v1/peers", "/v1/status"}) {
        CHECK(world.send("POST", path).status == 405);
        CHECK(world.send("HEAD", path).status == 200);
    }
    CHECK(world.send("GET", "http://127.0.0.1/v1/peers").status == 400);
    CHECK(world.send("PATCH", "/v1/quotas/s3", kTen).status == 405);
}

TEST_CASE("access is checked before anything else") {
    World world;
    Request request;
    request.method = "POST";
    request.target = "/v1/drain";
    request.host = "rebound.example";
    CHECK(world.handler(request).status == 421);
    request.host = "127.0.0.1:9901";
    request.origin = "http://evil.example";
    CHECK(world.handler(request).status == 403);
    CHECK_FALSE(world.health.draining);
    const AdminHandler guarded(world.sources(), {.token = "0123456789abcdef", .allowed_hosts = {}});
    request.origin.clear();
    CHECK(guarded(request).status == 401);
    CHECK_FALSE(world.health.draining);
    request.authorization = "Bearer 0123456789abcdef";
    CHECK(guarded(request).status == 202);
}

TEST_CASE("without sources the resources are not there") {
    const AdminHandler bare(AdminSources{}, {});
    for (const auto* path :
         {"/v1/config", "/v1/peers", "/v1/quotas", "/v1/drain", "/v1/log-level"}) {
        Request request;
        request.method = "GET";
        request.target = path;
        request.host = "localhost";
        CHECK(bare(request).status == 404);
    }
}
