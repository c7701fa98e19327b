// The admin interface: what is shown, what is set, and what is refused before anything else.
#include <doctest/doctest.h>

#include "admin/handler_world.h"

using namespace weir;
using namespace weir::admin;
using namespace weir::admin::test;

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

TEST_CASE("problems are shown with their numbers, and with the status") {
    World world;
    const Json all = world.get("/v1/problems");
    const Json expected = Json::parse(R"([{"kind": "unknown_quota", "subject": "routes[0]",
        "problem": "routes[0]: there is no quota 'al'", "suggestion": "did you mean 'all'?",
        "seconds": 1.5}])");
    CHECK(all["problems"] == expected);
    CHECK(all["counts"].size() == kProblemKinds);
    CHECK(all["counts"]["unknown_quota"] == 1);
    CHECK(all["counts"]["no_routes"] == 0);
    CHECK(world.get("/v1/status")["problems"] == expected);
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

TEST_CASE("draining and log level") {
    World world;
    CHECK(world.send("GET", "/v1/drain").status == 405);
    CHECK_FALSE(world.health.draining);
    const auto drained = world.send("POST", "/v1/drain?who=ann&why=a%20test");
    CHECK(world.caller.who == "ann");
    CHECK(world.caller.why == "a test");
    CHECK(drained.status == 202);
    CHECK(Json::parse(drained.body)["ready"] == false);
    CHECK(world.health.draining);

    CHECK(world.get("/v1/log-level")["level"] == "info");
    CHECK(world.send("PUT", "/v1/log-level", R"({"level": "debug"})").status == 200);
    CHECK(world.level == "debug");
    CHECK(world.caller.who.empty());
    CHECK(world.send("PUT", "/v1/log-level?who=bob", R"({"level": "loud"})").status == 422);
    CHECK(world.caller.who == "bob");
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
    AdminRequest request;
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
         {"/v1/config", "/v1/peers", "/v1/problems", "/v1/quotas", "/v1/drain", "/v1/log-level"}) {
        AdminRequest request;
        request.method = "GET";
        request.target = path;
        request.host = "localhost";
        CHECK(bare(request).status == 404);
    }
}
