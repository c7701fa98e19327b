// Once its buffers have grown, nothing between the first byte of a head and the forwarded one
// allocates. This program counts by replacing operator new.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "http/forwarded_head.h"
#include "http/response_head.h"
#include "routing/routes.h"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

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
    "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
};

RoutingSettings routes() {
    RoutingSettings settings;
    settings.routes.resize(3);
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
    return settings;
}

class Worker {
  public:
    /// Returns what it came to, so that the test can see that all of it ran.
    std::size_t pass(std::string_view text) {
        head_.reset();
        if (head_.parse(text.substr(0, text.size() / 2), {}) == http::ParseState::need_more) {
            if (head_.parse(text, {}) != http::ParseState::complete) return 0;
        }
        const auto result = router_->route(head_, true, scratch_);
        forwarded_.build(head_, {.client_address = "10.1.2.3", .client_trusted = true}, random_);
        return result.names.size() + forwarded_.pieces().size();
    }

    std::size_t pass_answer(std::string_view text) {
        answer_.reset();
        if (answer_.parse(text, http::Method::get, {}) != http::ParseState::complete) return 0;
        forwarded_.build(answer_, {.extra = "RateLimit: x\r\n"});
        return forwarded_.pieces().size();
    }

  private:
    std::shared_ptr<const Router> router_ = compile(routes());
    Scratch scratch_;
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
        for (const auto& text : kRequests) passed += worker.pass(text);
        return passed;
    };
    const auto first = all();
    const auto before = allocations;
    REQUIRE(before > 0);  // the counter counts
    std::size_t passed = 0;
    for (int i = 0; i < 10; ++i) passed += all();
    CHECK(allocations == before);
    CHECK(passed == 10 * first);
    CHECK(first > 20);
}

}  // namespace
}  // namespace weir::routing
