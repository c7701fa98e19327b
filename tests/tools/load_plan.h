#pragma once
// The plan of the load generator, read from a JSON document (tests/tools/README.md shows one).
// Plain values. parse_plan() throws std::runtime_error with the reason when the document is wrong.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/arrivals.h"

namespace weir::tools {

struct LoadTarget {
    std::string name;
    std::string address;
};

struct LoadStream {
    std::string name;
    std::string method = "GET";
    /// "{}" in it is replaced by 0 to variants - 1 in turn, so that one stream can use many quotas.
    std::string path = "/";
    std::size_t variants = 1;
    std::string host = "app";
    std::vector<std::pair<std::string, std::string>> headers;
    std::size_t body_bytes = 0;
    /// A closed loop: as many requests as each target has connections, and for each answer another
    /// one. It has no rate and no arrivals.
    bool closed = false;
    Arrivals::Kind arrivals = Arrivals::Kind::constant;
    std::vector<RateStep> rate;
    Spread::Kind spread = Spread::Kind::turns;
    std::vector<ShareStep> shares;
};

struct LoadPlan {
    std::uint64_t seed = 1;
    double duration_s = 10;
    /// How long the generator waits for answers after the last arrival.
    double linger_s = 2;
    double timeout_s = 10;
    std::size_t connections_per_target = 128;
    /// The most arrivals that wait for a free connection of their target; further ones are skipped
    /// and counted.
    std::size_t queue_per_target = 1024;
    std::vector<LoadTarget> targets;
    std::vector<LoadStream> streams;
};

[[nodiscard]] LoadPlan parse_plan(const std::string& text);

}  // namespace weir::tools
