// What weir itself does with the bytes of one request: parse and judge the head, route it, make the
// head that is forwarded; the same for a response's head; and write a refusal. Every case runs
// kIterations times, so instructions can be counted too, which does not depend on how busy the
// machine is:
//
//   valgrind --tool=callgrind --toggle-collect='message::parse*' message_bench
//       --benchmark_filter=parse/small
//
// and divide by kIterations.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "base/random.h"
#include "http/answer.h"
#include "http/forwarded_head.h"
#include "http/request_head.h"
#include "http/response_head.h"
#include "routing/router.h"

namespace message {
namespace {

using namespace weir;

constexpr int kIterations = 10'000;

/// 330 bytes and 7 fields, as a browser or a service sends them.
const std::string kSmall =
    "GET /api/acme/items/4711?fields=name,price HTTP/1.1\r\n"
    "Host: shop.example.net\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101\r\n"
    "Accept: application/json, text/plain;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "Accept-Language: en-GB,en;q=0.7\r\n"
    "Cookie: session=Zm9vYmFyYmF6cXV4MTIzNA; theme=dark\r\n"
    "Connection: keep-alive\r\n\r\n";

/// A signed upload of a part to S3.
const std::string kSigned =
    "PUT /photos/2024/05/IMG_2391.jpg?partNumber=3&uploadId=2~Ab3dEfGhIjKlMnOpQrStUv HTTP/1.1\r\n"
    "Host: s3.example.net\r\n"
    "Accept-Encoding: identity\r\n"
    "User-Agent: aws-cli/2.15.30 Python/3.11.8\r\n"
    "X-Amz-Date: 20240501T120000Z\r\n"
    "X-Amz-Content-SHA256: UNSIGNED-PAYLOAD\r\n"
    "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240501/eu-west-1/s3/aws4_request, "
    "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
    "Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024\r\n"
    "Content-Length: 8388608\r\n\r\n";

const std::string kGetObject =
    "GET /photos/2024/05/IMG_2391.jpg HTTP/1.1\r\nHost: s3.example.net\r\n\r\n";

const std::string kAnswer =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 1024\r\n"
    "ETag: \"5d8c72a5edda8d6a\"\r\n"
    "Last-Modified: Wed, 01 May 2024 12:00:00 GMT\r\n"
    "Server: app\r\n"
    "Connection: keep-alive\r\n\r\n";

const std::string& text_of(std::string_view name) {
    if (name == "signed") {
        return kSigned;
    }
    if (name == "get_object") {
        return kGetObject;
    }
    return kSmall;
}

std::shared_ptr<const routing::Router> compile(const routing::RoutingSettings& settings) {
    auto compiled = routing::Router::compile(settings);
    if (std::holds_alternative<std::vector<routing::RouteError>>(compiled)) {
        std::abort();
    }
    return std::get<std::shared_ptr<const routing::Router>>(compiled);
}

std::shared_ptr<const routing::Router> s3_router() {
    routing::RoutingSettings settings;
    settings.routes.resize(1);
    settings.routes[0].preset = "s3";
    settings.routes[0].domains = {"s3.example.net"};
    return compile(settings);
}

/// The last of `count` routes is the one that matches.
std::shared_ptr<const routing::Router> path_router(std::size_t count) {
    routing::RoutingSettings settings;
    settings.routes.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto& route = settings.routes[i];
        const bool last = i + 1 == count;
        route.match.path = (last ? "/api" : "/service" + std::to_string(i)) + "/{tenant}/**";
        route.match.methods = {"GET", "HEAD"};
        route.quotas = {"api/{tenant}/read", "api/{tenant}"};
    }
    return compile(settings);
}

std::shared_ptr<const routing::Router> host_router(std::size_t count) {
    routing::RoutingSettings settings;
    settings.routes.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto& route = settings.routes[i];
        const bool last = i + 1 == count;
        route.match.hosts = {(last ? "shop" : "host" + std::to_string(i)) + ".example.net"};
        route.match.path = "/**";
        route.quotas = {"host/" + std::to_string(i)};
    }
    return compile(settings);
}

/// A route whose name has this capture.
std::shared_ptr<const routing::Router> key_router(const std::string& capture) {
    routing::RoutingSettings settings;
    settings.routes.resize(1);
    settings.routes[0].match.path = "/api/**";
    settings.routes[0].quotas = {"api/" + capture};
    return compile(settings);
}

[[gnu::noinline]] void parse_once(http::RequestHead& head, std::string_view text,
                                  const http::GatePolicy& policy) {
    head.reset();
    if (head.parse(text, policy) != http::ParseState::complete) {
        std::abort();
    }
}

[[gnu::noinline]] void route_once(const routing::Router& router, const http::RequestHead& head,
                                  routing::Scratch& scratch) {
    const routing::Client client{.address = Endpoint::v4(0x0a141e28, 1)};
    const auto result = router.route(head, client, scratch);
    if (result.outcome != routing::RouteOutcome::routed) {
        std::abort();
    }
    benchmark::DoNotOptimize(result.names.data());
}

[[gnu::noinline]] void forward_once(http::ForwardedHead& forwarded, const http::RequestHead& head,
                                    Random& random) {
    forwarded.build(head, {.client_address = "10.20.30.40"}, random);
    benchmark::DoNotOptimize(forwarded.pieces().data());
}

[[gnu::noinline]] void parse_answer_once(http::ResponseHead& head) {
    head.reset();
    if (head.parse(kAnswer, http::Method::get, {}) != http::ParseState::complete) {
        std::abort();
    }
}

[[gnu::noinline]] void forward_answer_once(http::ForwardedHead& forwarded,
                                           const http::ResponseHead& head) {
    forwarded.build(head, {});
    benchmark::DoNotOptimize(forwarded.pieces().data());
}

[[gnu::noinline]] void refuse_once(std::string& text, Random& random) {
    text.clear();
    http::append_refusal(text,
                         {.body = {},
                          .limit = http::LimitView{.quota = "service/bucket-123/read",
                                                   .amount = 6,
                                                   .period = std::chrono::minutes(1),
                                                   .reset = std::chrono::milliseconds(1500),
                                                   .wall_clock = std::chrono::hours(500'000)},
                          .retry_after = std::chrono::milliseconds(1500),
                          .headers = {}},
                         {.accept = "*/*",
                          .date = "Wed, 01 May 2024 12:00:00 GMT",
                          .request_id = "01234567-89ab-4cde-8f01-23456789abcd"},
                         random);
}

void parse(benchmark::State& state, const char* name) {
    http::RequestHead head;
    const http::GatePolicy policy;
    for (auto _ : state) {
        parse_once(head, text_of(name), policy);
    }
}

void route(benchmark::State& state, const char* name,
           const std::shared_ptr<const routing::Router>& router) {
    http::RequestHead head;
    routing::Scratch scratch;
    parse_once(head, text_of(name), {});
    for (auto _ : state) {
        route_once(*router, head, scratch);
    }
}

void forward(benchmark::State& state, const char* name) {
    http::RequestHead head;
    http::ForwardedHead forwarded;
    Random random(1);
    parse_once(head, text_of(name), {});
    for (auto _ : state) {
        forward_once(forwarded, head, random);
    }
}

void parse_answer(benchmark::State& state) {
    http::ResponseHead head;
    for (auto _ : state) {
        parse_answer_once(head);
    }
}

void forward_answer(benchmark::State& state) {
    http::ResponseHead head;
    http::ForwardedHead forwarded;
    parse_answer_once(head);
    for (auto _ : state) {
        forward_answer_once(forwarded, head);
    }
}

void refuse(benchmark::State& state) {
    std::string text;
    Random random(1);
    for (auto _ : state) {
        refuse_once(text, random);
        benchmark::DoNotOptimize(text.data());
    }
}

BENCHMARK_CAPTURE(parse, small, "small")->Iterations(kIterations);
BENCHMARK_CAPTURE(parse, signed, "signed")->Iterations(kIterations);
BENCHMARK_CAPTURE(route, s3_part, "signed", s3_router())->Iterations(kIterations);
BENCHMARK_CAPTURE(route, s3_get, "get_object", s3_router())->Iterations(kIterations);
BENCHMARK_CAPTURE(route, one_path, "small", path_router(1))->Iterations(kIterations);
BENCHMARK_CAPTURE(route, last_of_300_paths, "small", path_router(300))->Iterations(kIterations);
BENCHMARK_CAPTURE(route, last_of_300_hosts, "small", host_router(300))->Iterations(kIterations);
BENCHMARK_CAPTURE(route, no_capture, "small", key_router("all"))->Iterations(kIterations);
BENCHMARK_CAPTURE(route, header, "small", key_router("{header:accept-language}"))
    ->Iterations(kIterations);
BENCHMARK_CAPTURE(route, readable_header, "small", key_router("{header:accept-language,readable}"))
    ->Iterations(kIterations);
BENCHMARK_CAPTURE(route, cookie, "small", key_router("{cookie:session}"))->Iterations(kIterations);
BENCHMARK_CAPTURE(route, client, "small", key_router("{client}"))->Iterations(kIterations);
BENCHMARK_CAPTURE(forward, small, "small")->Iterations(kIterations);
BENCHMARK_CAPTURE(forward, signed, "signed")->Iterations(kIterations);
BENCHMARK(parse_answer)->Iterations(kIterations);
BENCHMARK(forward_answer)->Iterations(kIterations);
BENCHMARK(refuse)->Iterations(kIterations);

}  // namespace
}  // namespace message

BENCHMARK_MAIN();
