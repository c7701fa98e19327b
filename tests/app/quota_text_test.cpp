#include "app/quota_text.h"

#include <doctest/doctest.h>

namespace weir::app {
namespace {

limiter::QuotaDefinition plain() {
    limiter::QuotaDefinition definition;
    definition.name = "q";
    limiter::RateLimit limit;
    limit.amount = 100;
    definition.limits = {limit};
    return definition;
}

TEST_CASE("what is not set is not shown") {
    CHECK(definition_text(plain()) == "100r/s");
    CHECK(options_text(plain()).empty());
    CHECK(mode_text(plain()) == "enforce");
    CHECK(limits_text({}) == "none");
}

TEST_CASE("a limit of requests in flight is shown as one") {
    limiter::QuotaDefinition quota = plain();
    quota.limits.push_back(limiter::RateLimit::in_flight(64));
    CHECK(limits_text(quota) == "100r/s; concurrency 64");
    quota.limits[1].scope = limiter::Scope::sidecar;
    CHECK(limits_text(quota) == "100r/s; concurrency 64 scope=sidecar");
}

TEST_CASE("a window is shown as one") {
    limiter::QuotaDefinition quota = plain();
    quota.limits.push_back(limiter::RateLimit::in_window(100'000, limiter::kMonth));
    CHECK(limits_text(quota) == "100r/s; window 100000r/month");
    quota.limits[1].timezone = "UTC";
    CHECK(limits_text(quota) == "100r/s; window 100000r/month timezone=UTC");
    quota.limits[1] = limiter::RateLimit::in_window(1024, std::chrono::hours(1));
    quota.limits[1].unit = limiter::Unit::request_bytes;
    quota.limits[1].from = limiter::WindowStart::first;
    CHECK(limits_text(quota) == "100r/s; window 1KiB/h of request-bytes from=first");
}

TEST_CASE("everything that is set is shown") {
    limiter::QuotaDefinition full = plain();
    full.parent = "p";
    full.enforced_share = 0.25;
    full.when_isolated = limiter::IsolationMode::optimistic;
    full.max_instances = 7;
    full.max_children = 8;
    full.hide_headers = true;
    full.limits[0].safe = 5;
    limiter::QuotaOptions options = *full.options;
    options.enforced_by = "x-client";
    options.headers = {.ietf = true, .x_ratelimit = true};
    options.refusal.status = 503;
    options.refusal.content_type = "text/plain";
    options.refusal.body = "so\nlong " + std::string(60, 'x');
    full.options = options;
    CHECK(definition_text(full) ==
          "100r/s safe=5r/s, parent p, mode enforce 25% by header:x-client, "
          "when_isolated optimistic, max_instances 7, max_children 8, "
          "headers hidden ietf x-ratelimit, refusal status 503 content_type text/plain body "
          "'so long " +
              std::string(32, 'x') + "…' (68 bytes)");
    options.headers = {.ietf = false, .x_ratelimit = false};
    options.refusal = {};
    options.refusal.body = "no";
    full.options = options;
    CHECK(options_text(full).ends_with("headers hidden none, refusal body 'no'"));
}

TEST_CASE("the time that is left has two units at most and is never too short") {
    CHECK(time_left(0.2) == "1s");
    CHECK(time_left(0) == "0s");
    CHECK(time_left(59.1) == "1m");
    CHECK(time_left(90) == "1m 30s");
    CHECK(time_left(3600) == "1h");
    CHECK(time_left(3605) == "1h");
    CHECK(time_left(172'799) == "1d 23h");
    CHECK(time_left(172'800) == "2d");
    CHECK(expires_text(Json::object()).empty());
    CHECK(expires_text(Json{{"expires_in_seconds", 6.0}}) == "6s");
}

}  // namespace
}  // namespace weir::app
