#include "routing/route_index.h"

#include <algorithm>

#include "routing/compiled_routes.h"

namespace weir::routing {
namespace {

/// The only host that matches a pattern; empty if several may.
std::string literal_host(const HostPattern& pattern) {
    std::string host;
    if (pattern.open_front) {
        return host;
    }
    for (const auto& label : pattern.labels) {
        if (label.wildcard) {
            return {};
        }
        if (!host.empty()) {
            host += '.';
        }
        host += label.prefix;
    }
    return host;
}

/// The hosts of a route if all of them are literal; else none.
std::vector<std::string> literal_hosts(const CompiledRoute& route) {
    std::vector<std::string> hosts;
    for (const auto& pattern : route.hosts) {
        hosts.push_back(literal_host(pattern));
        if (hosts.back().empty()) {
            return {};
        }
    }
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    return hosts;
}

}  // namespace

void RouteIndex::build(std::span<const CompiledRoute> routes) {
    const auto any_host = add_tree();
    for (std::size_t i = 0; i < routes.size(); ++i) {
        const auto hosts = literal_hosts(routes[i]);
        if (hosts.empty()) {
            add(any_host, i, routes[i]);
        }
        for (const auto& host : hosts) {
            auto tree = hosts_.find(host);
            if (!tree) {
                tree = hosts_.insert(host, add_tree());
            }
            add(*tree, i, routes[i]);
        }
    }
}

std::uint32_t RouteIndex::add_tree() {
    trees_.push_back({{}, add_node()});
    return static_cast<std::uint32_t>(trees_.size() - 1);
}

std::uint32_t RouteIndex::add_node() {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
}

/// Routes are added in the order of the settings, so the first one that comes to a node has the
/// least number of all below it.
void RouteIndex::add(std::uint32_t tree, std::size_t route, const CompiledRoute& compiled) {
    const auto number = static_cast<std::uint32_t>(route);
    if (!compiled.path) {
        return trees_[tree].pathless.push_back(number);
    }
    auto node = trees_[tree].root;
    nodes_[node].least = std::min(nodes_[node].least, route);
    for (const auto& segment : compiled.path->segments) {
        node = child_of(node, segment);
        nodes_[node].least = std::min(nodes_[node].least, route);
    }
    (compiled.path->open_end ? nodes_[node].open : nodes_[node].here).push_back(number);
}

std::uint32_t RouteIndex::child_of(std::uint32_t node, const SegmentPattern& segment) {
    if (!segment.wildcard) {
        if (const auto known = nodes_[node].literals.find(segment.prefix)) {
            return *known;
        }
        const auto child = add_node();
        return nodes_[node].literals.insert(segment.prefix, child);
    }
    for (const auto& [pattern, child] : nodes_[node].patterns) {
        if (pattern.prefix == segment.prefix && pattern.suffix == segment.suffix) {
            return child;
        }
    }
    const auto child = add_node();
    nodes_[node].patterns.push_back({segment, child});
    return child;
}

}  // namespace weir::routing
