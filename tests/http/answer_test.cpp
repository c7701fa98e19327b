#include "http/answer.h"

#include <doctest/doctest.h>

#include <set>

#include "http/response_head.h"

namespace weir::http {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

struct Parsed {
    std::string text;
    ResponseHead head;
    std::string body;

    explicit Parsed(std::string answer, Method method = Method::get) : text(std::move(answer)) {
        REQUIRE(head.parse(text, method, {}) == ParseState::complete);
        body = text.substr(head.size());
        if (method != Method::head) {
            CHECK(head.body().length == body.size());
        }
    }
    [[nodiscard]] std::string_view operator[](std::string_view name) const {
        return head.fields().first(name);
    }
};

Refusal refusal_of(std::string_view quota) {
    Refusal refusal;
    refusal.limit = LimitView{.quota = quota, .amount = 100, .remaining = 0.7, .reset = 1500ms};
    refusal.retry_after = 1500ms;
    return refusal;
}

std::string refuse(const Refusal& refusal, const AnswerContext& context = {}) {
    std::string out;
    Random random(1);
    append_refusal(out, refusal, context, random);
    return out;
}

TEST_CASE("a refusal tells everything once") {
    const Parsed answer(refuse(refusal_of("s3/b1/write")));
    CHECK(answer.head.status() == 429);
    CHECK(answer["RateLimit-Policy"] == "\"s3/b1/write\";q=100;w=1");
    CHECK(answer["RateLimit"] == "\"s3/b1/write\";r=0;t=2");
    CHECK(answer["X-Weir-Quota"] == "s3/b1/write");
    CHECK(answer["x-envoy-ratelimited"] == "true");
    CHECK(answer["Cache-Control"] == "no-store");
    CHECK(answer["Content-Type"] == "application/problem+json");
    CHECK(answer["X-RateLimit-Limit"].empty());
    const int seconds = std::stoi(std::string(answer["Retry-After"]));
    CHECK(seconds >= 2);
    CHECK(seconds <= 3);
    CHECK(answer.body.find(R"("status":429)") != std::string::npos);
    CHECK(answer.body.find(R"("violated-policies":["s3/b1/write"])") != std::string::npos);
    CHECK(answer.head.keep_alive());
}

TEST_CASE("switches, hidden quotas, 503") {
    auto refusal = refusal_of("secret");
    refusal.headers = {.ietf = false, .x_ratelimit = true, .quota = false};
    const Parsed switched(refuse(refusal));
    CHECK(switched["RateLimit"].empty());
    CHECK(switched["X-RateLimit-Limit"] == "100");
    CHECK(switched["X-RateLimit-Remaining"] == "0");
    CHECK(switched["X-RateLimit-Reset"] == "2");
    CHECK(switched["X-Weir-Quota"].empty());
    refusal.limit.reset();
    const auto hidden = refuse(refusal);
    CHECK(hidden.find("secret") == std::string::npos);
    CHECK(hidden.find("violated") == std::string::npos);
    refusal.status = 503;
    refusal.own_reasons = true;
    const Parsed own(refuse(refusal));
    CHECK(own.head.status() == 503);
    CHECK(own["x-envoy-ratelimited"].empty());
    CHECK_FALSE(own["Retry-After"].empty());
}

TEST_CASE("status and body as the quota has them") {
    auto refusal = refusal_of("q");
    refusal.status = 503;
    const Parsed status(refuse(refusal));
    CHECK(status.head.status() == 503);
    CHECK(status["x-envoy-ratelimited"] == "true");
    CHECK(status.body.find(R"("status":503)") != std::string::npos);
    refusal.body = CustomBody{"text/html", "<p>later</p>"};
    const Parsed html(refuse(refusal));
    CHECK(html["Content-Type"] == "text/html");
    CHECK(html["Content-Length"] == "12");
    CHECK(html.body == "<p>later</p>");
    CHECK(html["X-Weir-Quota"] == "q");
    refusal.body = CustomBody{{}, ""};
    const Parsed empty(refuse(refusal));
    CHECK(empty["Content-Type"] == "text/plain; charset=utf-8");
    CHECK(empty["Content-Length"] == "0");
    CHECK(empty.body.empty());
    refusal.body = CustomBody{"text/html", "<p>later</p>"};
    const Parsed head(refuse(refusal, {.head_request = true}), Method::head);
    CHECK(head["Content-Length"] == "12");
    CHECK(head.body.empty());
}

TEST_CASE("HEAD gets no body, plain text on request") {
    AnswerContext context{.head_request = true, .keep_alive = false};
    const Parsed head(refuse(refusal_of("q"), context), Method::head);
    CHECK(head.body.empty());
    CHECK_FALSE(head["Content-Length"].empty());
    CHECK_FALSE(head.head.keep_alive());
    const auto type_for = [](std::string_view accept) {
        AnswerContext wanted;
        wanted.accept = accept;
        return std::string(Parsed(refuse(refusal_of("q"), wanted))["Content-Type"]);
    };
    for (const auto* accept : {"", "*/*", "application/json, text/plain;q=0.9", "text/plain, */*",
                               "text/html", "text/plain;q=0"}) {
        CAPTURE(accept);
        CHECK(type_for(accept) == "application/problem+json");
    }
    for (const auto* accept : {"text/plain", "text/plain;q=0.5, */*;q=0.1", "Text/*"}) {
        CAPTURE(accept);
        CHECK(type_for(accept) == "text/plain; charset=utf-8");
    }
}

TEST_CASE("43: names are escaped in fields and bodies") {
    const auto name = "a\"b\\c\r\nEvil: 1\x01<script>\xc3\xa4"s;
    for (const auto* accept : {"", "text/plain"}) {
        AnswerContext context;
        context.accept = accept;
        const Parsed answer(refuse(refusal_of(name), context));
        CHECK(answer["Evil"].empty());
        CHECK(answer["RateLimit"].starts_with("\"a\\\"b\\\\c%0D%0AEvil: 1%01<script>%C3%A4\";r="));
        CHECK(answer["X-Weir-Quota"] == "a\"b\\c%0D%0AEvil: 1%01<script>%C3%A4");
    }
    const Parsed cut(refuse(refusal_of(std::string(10'000, 'n'))));
    CHECK(cut.text.size() < 3000);
}

TEST_CASE("amounts become whole numbers") {
    const auto policy = [](double amount, Duration period, QuotaUnit unit = QuotaUnit::requests) {
        std::string out;
        append_limit_fields(out, {.quota = "q", .unit = unit, .amount = amount, .period = period},
                            {});
        return out.substr(0, out.find("\r\n"));
    };
    CHECK(policy(5, 60s) == "RateLimit-Policy: \"q\";q=5;w=60");
    CHECK(policy(0.5, 1s) == "RateLimit-Policy: \"q\";q=1;w=2");
    CHECK(policy(100, 100ms) == "RateLimit-Policy: \"q\";q=1000;w=1");
    CHECK(policy(0, 1s) == "RateLimit-Policy: \"q\";q=0;w=1");
    CHECK(policy(1e30, 1s) == "RateLimit-Policy: \"q\";q=999999999999999;w=1");
    CHECK(policy(1024, 1s, QuotaUnit::content_bytes) ==
          "RateLimit-Policy: \"q\";q=1024;qu=\"content-bytes\";w=1");
}

TEST_CASE("however often a client asks, the second in which a limit is free again is the same") {
    const Duration free_again = 1'700'000'010'500ms;
    for (Duration now = 1'700'000'000s; now < free_again; now += 37ms) {
        const LimitView limit{.reset = free_again - now, .wall_clock = now};
        const auto second = std::chrono::floor<std::chrono::seconds>(now).count();
        CHECK(static_cast<std::uint64_t>(second) + reset_seconds(limit) == 1'700'000'011U);
    }
    CHECK(reset_seconds({.reset = 0s, .wall_clock = free_again}) == 0);
    CHECK(reset_seconds({.reset = -1s, .wall_clock = free_again}) == 0);
}

TEST_CASE("whole seconds stay what they are") {
    for (std::int64_t second = 1; second <= 100'000; ++second) {
        CAPTURE(second);
        const LimitView limit{.reset = std::chrono::seconds(second), .wall_clock = 0s};
        REQUIRE(reset_seconds(limit) == static_cast<std::uint64_t>(second));
    }
    CHECK(reset_seconds({.reset = 1ns, .wall_clock = 0s}) == 1);
    CHECK(reset_seconds({.reset = 15s + 1ns, .wall_clock = 0s}) == 16);
}

TEST_CASE("Retry-After is at least a second, rounded up, and jitters") {
    Random random(3);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
        seen.insert(retry_after_seconds(100ms, random));
    }
    CHECK(seen == std::set<std::uint64_t>{1, 2});
    seen.clear();
    for (int i = 0; i < 1000; ++i) {
        seen.insert(retry_after_seconds(7001ms, random));
    }
    CHECK(seen == std::set<std::uint64_t>{8, 9, 10});
    CHECK(retry_after_seconds(-5s, random) >= 1);
}

TEST_CASE("errors of ours") {
    for (const unsigned status :
         {400U, 405U, 408U, 413U, 414U, 417U, 431U, 501U, 502U, 503U, 504U, 505U}) {
        std::string out;
        append_error(out, status, "Because.", {.date = "Thu, 01 Jan 1970 00:00:00 GMT"});
        const Parsed answer(out);
        CHECK(answer.head.status() == status);
        CHECK(answer["Date"] == "Thu, 01 Jan 1970 00:00:00 GMT");
        CHECK(answer["Allow"].empty() == (status != 405));
        CHECK(reason_phrase(status) != "Error");
        CHECK(answer.body.find("Because.") != std::string::npos);
    }
    std::string out;
    append_rejection(out, Rejection::length_and_encoding, {.keep_alive = true});
    const Parsed answer(out);
    CHECK(answer.head.status() == 400);
    CHECK_FALSE(answer.head.keep_alive());
}

}  // namespace
}  // namespace weir::http
