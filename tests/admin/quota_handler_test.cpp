// Quotas in the admin interface: shown, listed, changed on a condition, several together.
#include <doctest/doctest.h>

#include "admin/handler_world.h"

using namespace weir;
using namespace weir::admin;
using namespace weir::admin::test;

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
    CHECK(shown["live"]["waiting_requests"] == 7);
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
