#include <doctest/doctest.h>

#include "admin/sample_sources.h"
#include "admin/status_server.h"

using namespace weir;
using namespace weir::admin;
using namespace weir::admin::test;

namespace {

struct World {
    Health health{.listening = true, .configured = true, .draining = false};
    Metrics metrics{sample_sources(), [] { return Instant{}; }};
    ProblemList problems;
    StatusHandler handler{[this] { return health; }, metrics, [this] { return problems; }};

    Response get(std::string target, std::string method = "GET", std::string encoding = "") {
        AdminRequest request;
        request.method = std::move(method);
        request.target = std::move(target);
        request.host = "anything.example";  // probes come under any name
        request.accept_encoding = std::move(encoding);
        return handler(request);
    }
};

std::string field(const Response& answer, std::string_view name) {
    for (const auto& [key, value] : answer.fields) {
        if (key == name) {
            return value;
        }
    }
    return "";
}

}  // namespace

TEST_CASE("alive as long as it answers") {
    World world;
    world.health = {};
    CHECK(world.get("/livez").status == 200);
    CHECK(world.get("/livez", "HEAD").status == 200);
}

TEST_CASE("ready = listening and configured and not draining") {
    World world;
    for (const bool listening : {false, true}) {
        for (const bool configured : {false, true}) {
            for (const bool draining : {false, true}) {
                world.health = {listening, configured, draining};
                CHECK(world.get("/readyz").status ==
                      (listening && configured && !draining ? 200 : 503));
            }
        }
    }
}

TEST_CASE("verbose readiness names what is missing") {
    World world;
    CHECK(world.get("/readyz?verbose").body ==
          "[+]listening ok\n[+]configured ok\n[+]loaded ok\n[+]serving ok\nreadyz check passed\n");
    world.health.draining = true;
    const auto answer = world.get("/readyz?verbose");
    CHECK(answer.status == 503);
    CHECK(answer.body.find("[-]serving failed: draining\n") != std::string::npos);
    CHECK(answer.body.find("[+]listening ok\n") != std::string::npos);
    CHECK(answer.body.ends_with("readyz check failed\n"));
}

TEST_CASE("verbose readiness lists problems, which do not change it") {
    World world;
    world.problems = sample_problems();
    const auto answer = world.get("/readyz?verbose");
    CHECK(answer.status == 200);
    CHECK(
        answer.body.ends_with("[+]serving ok\n[!]unknown_quota: routes[0]: there is no quota "
                              "'al' - did you mean 'all'?\nreadyz check passed\n"));
    CHECK(world.get("/readyz").body == "ok\n");
}

TEST_CASE("while the first quotas are loaded it is not ready, and says so") {
    World world;
    world.health.loading = true;
    CHECK(world.get("/readyz").status == 503);
    CHECK(world.get("/readyz").body == "not ready: loading quotas\n");
    const auto answer = world.get("/readyz?verbose");
    CHECK(answer.status == 503);
    CHECK(answer.body.find("[-]loaded failed: loading the quotas of the files\n") !=
          std::string::npos);
    world.health.draining = true;
    CHECK(world.get("/readyz").body == "not ready\n");
    world.health = {.listening = true, .configured = true};
    CHECK(world.get("/readyz").status == 200);
}

TEST_CASE("metrics come as Prometheus wants them, packed when asked") {
    World world;
    const auto plain = world.get("/metrics");
    CHECK(plain.status == 200);
    CHECK(plain.content_type == "text/plain; version=0.0.4; charset=utf-8");
    CHECK(plain.body.find("# TYPE weir_requests_total counter") != std::string::npos);
    CHECK(field(plain, "Content-Encoding").empty());
    const auto packed = world.get("/metrics", "GET", "gzip");
    CHECK(field(packed, "Content-Encoding") == "gzip");
    CHECK(field(packed, "Vary") == "Accept-Encoding");
    CHECK(packed.body.size() < plain.body.size() / 2);
    CHECK(packed.body.starts_with("\x1f\x8b"));
}

TEST_CASE("read-only, and nothing else is there") {
    World world;
    for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
        const auto answer = world.get("/livez", method);
        CHECK(answer.status == 405);
        CHECK(field(answer, "Allow") == "GET, HEAD");
    }
    for (const auto* path : {"/", "/metrics/", "/v1/config", "/livezz"}) {
        CHECK(world.get(path).status == 404);
    }
    CHECK(world.get("http://x/livez").status == 400);
}
