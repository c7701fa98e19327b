#include "memory.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "http/request_head.h"
#include "limiter/limiter.h"
#include "names.h"
#include "quotas.h"
#include "routing/router.h"
#include "sim/quota_set.h"

namespace {

using weir::limiter::LeafId;
using weir::limiter::Limiter;

std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    std::size_t resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::shared_ptr<const weir::routing::Router> s3_router() {
    weir::routing::RoutingSettings settings;
    settings.routes.emplace_back();
    settings.routes[0].preset = "s3";
    settings.routes[0].domains = {"s3.example.net"};
    auto compiled = weir::routing::Router::compile(settings);
    return std::get<std::shared_ptr<const weir::routing::Router>>(compiled);
}

/// The first of the route's names that has a quota, as the proxy looks for it.
LeafId find_routed(Limiter& limiter, weir::limiter::ThreadContext& thread,
                   const weir::routing::RouteResult& route, weir::Instant now) {
    for (const std::string_view name : route.names) {
        if (const LeafId leaf = limiter.find(thread, name, now)) {
            return leaf;
        }
    }
    return {};
}

}  // namespace

void print_memory(std::size_t instances) {
    const weir::Instant now = instant(1);
    Limiter limiter(options_for(instances));
    if (!weir::sim::replace_quotas(limiter, definitions(), now).empty()) {
        std::abort();
    }
    auto& thread = limiter.register_thread(1);
    const auto router = s3_router();
    weir::routing::Scratch scratch;
    weir::http::RequestHead head;
    std::string text;
    const std::size_t before = resident_bytes();
    for (std::size_t i = 0; i < instances / 2; ++i) {
        const Name name = name_of(i, kLongPrefix);
        text =
            "GET /" + std::string(name.bucket()) + "/key HTTP/1.1\r\nHost: s3.example.net\r\n\r\n";
        head.reset();
        if (head.parse(text, {}) != weir::http::ParseState::complete) {
            std::abort();
        }
        const auto route = router->route(head, {}, scratch);
        const LeafId leaf = find_routed(limiter, thread, route, now);
        (void)limiter.check(thread, leaf, {}, now, weir::limiter::CheckMode::charge);
        limiter.quiescent(thread);
        if (i % 64 == 0) {
            limiter.maintain(now);
        }
    }
    limiter.maintain(now);
    limiter.maintain(now);
    const auto grown = static_cast<double>(resident_bytes() - before);
    const auto memory = limiter.memory();
    const auto made = static_cast<double>(memory.instances);
    // The C library rounds each name's block up to 16 bytes, with 8 of its own.
    std::printf(
        "memory: %zu instances, %.1f bytes each by the limiter's account without names, "
        "%.1f of names; the process grew by %.1f each, without names %.1f\n",
        memory.instances, static_cast<double>(memory.bytes) / made,
        static_cast<double>(memory.name_bytes) / made, grown / made,
        (grown - static_cast<double>(memory.name_bytes)) / made);
}
