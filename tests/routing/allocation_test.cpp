// Once its buffers have grown, nothing between the first byte of a head and the forwarded one
// allocates, the look at quotas that live included. This program counts by replacing operator new.
#include <doctest/doctest.h>

#include "counted_allocations.h"
#include "http/forwarded_head.h"
#include "http/response_head.h"
#include "limiter/limiter.h"
#include "routing/routes.h"
#include "sim/quota_set.h"

namespace weir::routing {
namespace {

const std::string kRequests[] = {
    request("/photos/2024/a%2Fb.jpg?partNumber=3&upload%49d=x&list-type=2", "PUT", "s3.example",
            "Content-Length: 5\r\nAuthorization: AWS4-HMAC-SHA256 x\r\nX_Own: 1\r\n"),
    request("/", "GET", "bucket.s3.example", "Connection: close, X-Gone\r\nX-Gone: 1\r\n"),
    request("/api//./tenant%20%7B" + std::string(300, 'x') + "/items/../7", "GET", "a.example",
            "X-Request-Id: 1\r\nX-Forwarded-For: 10.0.0.1\r\nTE: trailers\r\nX-Cost: 3\r\n"),
    request("http://a.example/other/b%2Fc", "DELETE", "a.example", "Expect: 100-continue\r\n"),
    request("/%2e%2e/x"),
    request("/keyed?token=" + std::string(400, '+') + "%2F", "GET", "a.example",
            "X-Key: " + std::string(300, '"') + "\r\nCookie: a=b; session=" +
                std::string(300, ' ') + "%20x\r\nX-Forwarded-For: 2001:db8::1, 10.0.0.1\r\n" +
                "Authorization: Basic " + "YW5uOnNlY3JldHNlY3JldHNlY3JldA==\r\n"),
    "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
};

RoutingSettings routes() {
    RoutingSettings settings;
    settings.routes.resize(4);
    settings.routes[0].preset = "s3";
    settings.routes[0].domains = {"s3.example"};
    settings.routes[0].weight.source = WeightSource::table;
    settings.routes[0].weight.table = {{"UploadPart", 5.0}};
    settings.routes[1].match.path = "/api/{tenant}/**";
    settings.routes[1].match.headers = {{"x-cost", false, ""}};
    settings.routes[1].quotas = {"api/{tenant}/all", "api/{tenant}"};
    settings.routes[1].weight.source = WeightSource::header;
    settings.routes[1].weight.header = "x-cost";
    settings.routes[2].match.path = "/other/**";
    settings.routes[2].match.methods = {"DELETE", "PURGE"};
    settings.routes[2].quotas = {"other"};
    settings.routes[3].match.path = "/keyed";
    settings.routes[3].match.headers = {{"x-key", true, "{key,readable}"}};
    settings.routes[3].quotas = {"{key}/{header:x-key}", "{query:token}/{query:token,readable}",
                                 "{cookie:session}/{basic-user,readable}/{client}"};
    return settings;
}

class Worker {
  public:
    /// Returns what it came to, so that the test can see that all of it ran.
    std::size_t pass(std::string_view text) {
        head_.reset();
        if (head_.parse(text.substr(0, text.size() / 2), {}) == http::ParseState::need_more) {
            if (head_.parse(text, {}) != http::ParseState::complete) {
                return 0;
            }
        }
        const auto result = router_->route(head_, client_, scratch_);
        forwarded_.build(head_, {.client_address = "10.1.2.3", .keep_forwarded = true}, random_);
        return result.names.size() + forwarded_.pieces().size();
    }

    std::size_t pass_answer(std::string_view text) {
        answer_.reset();
        if (answer_.parse(text, http::Method::get, {}) != http::ParseState::complete) {
            return 0;
        }
        forwarded_.build(answer_, {.extra = "RateLimit: x\r\n"});
        return forwarded_.pieces().size();
    }

  private:
    std::shared_ptr<const Router> router_ = compile(routes());
    Scratch scratch_;
    Client client_{.address = Endpoint::v4(1, 1), .trusted = true};
    http::RequestHead head_;
    http::ResponseHead answer_;
    http::ForwardedHead forwarded_;
    Random random_{1};
};

TEST_CASE("a warm worker passes messages without allocating") {
    Worker worker;
    const std::string answer =
        "HTTP/1.1 200 OK\r\nConnection: X-A\r\nX-A: 1\r\nContent-Length: 5\r\n\r\n";
    const auto all = [&] {
        std::size_t passed = worker.pass_answer(answer);
        for (const auto& text : kRequests) {
            passed += worker.pass(text);
        }
        return passed;
    };
    const auto first = all();
    const auto before = allocations;
    REQUIRE(before > 0);  // the counter counts
    std::size_t passed = 0;
    for (int i = 0; i < 10; ++i) {
        passed += all();
    }
    CHECK(allocations == before);
    CHECK(passed == 10 * first);
    CHECK(first > 25);
    // The count counts.
    static_cast<void>(compile(routes()));
    CHECK(allocations > before);
}

limiter::QuotaDefinition quota(std::string name, std::optional<std::string> parent) {
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    limiter::RateLimit limit;
    limit.amount = 1000;
    definition.limits = {limit};
    return definition;
}

/// Finds and checks all names, with some refused and some given back; how many were admitted, or 0
/// if one shares an overflow instance.
std::size_t check_all(limiter::Limiter& limiter, limiter::ThreadContext& thread,
                      const std::vector<std::string>& names, Instant now) {
    std::size_t admitted = 0;
    for (const std::string& name : names) {
        for (const double weight : {1.0, 1.0, 1e9}) {
            const limiter::LeafId leaf = limiter.find(thread, name, now);
            if (leaf.overflow_depth > 0) {
                return 0;
            }
            limiter::Weights weights;
            weights.requests = weight;
            const auto decision =
                limiter.check(thread, leaf, weights, now, limiter::CheckMode::charge);
            admitted += decision.admitted ? 1 : 0;
            limiter.refund(thread, decision.charge, now);
        }
        limiter.quiescent(thread);
    }
    return admitted;
}

TEST_CASE("quotas that live are found and checked without allocating and without the lock") {
    limiter::LimiterOptions options;
    options.max_instances = 10'000;
    // As if another thread always held the lock: who asks for it gets an overflow instance, and
    // only the first request of an exact name waits.
    options.creation_tries = 0;
    limiter::Limiter limiter(options);
    limiter::ThreadContext& thread = limiter.register_thread(1);
    Instant now{std::chrono::hours(1)};
    const std::string bucket = "s3/a-bucket-with-a-name-of-some-length";
    const std::vector<limiter::QuotaDefinition> exact = {
        quota("s3", std::nullopt), quota(bucket, "s3"), quota(bucket + "/write", bucket)};
    REQUIRE(sim::replace_quotas(limiter, exact, now).empty());
    const std::vector<std::string> names = {bucket + "/write", bucket, "s3", "there-is-no-such"};
    REQUIRE(check_all(limiter, thread, names, now) > 0);
    // The same as instances of templates.
    const std::vector<limiter::QuotaDefinition> templates = {
        quota("s3", std::nullopt), quota("s3/{k}", "s3"), quota("s3/{k}/write", "s3/{k}")};
    REQUIRE(sim::replace_quotas(limiter, templates, now).empty());
    limiter.drain_active([](limiter::LimitRef) {});  // from here on counts are kept for the engine
    const auto first = check_all(limiter, thread, names, now);
    const limiter::LimiterCounters counters = limiter.counters();
    const auto before = allocations;
    std::size_t admitted = 0;
    for (int i = 0; i < 10; ++i) {
        now += std::chrono::milliseconds(100);
        admitted += check_all(limiter, thread, names, now);
    }
    CHECK(allocations == before);
    CHECK(first > names.size());
    CHECK(admitted >= 10 * names.size());
    CHECK(limiter.counters().created == counters.created);
    CHECK(limiter.counters().contended == counters.contended);
    // A new name is told apart: it asks for the lock.
    CHECK(limiter.find(thread, "s3/new", now).overflow_depth == 1);
    CHECK(limiter.counters().contended == counters.contended + 1);
}

}  // namespace
}  // namespace weir::routing
