#pragma once
// A worker's own copy of the snapshot in force, with what the request path needs ready-made.
// Immutable. References are counted by a shared_ptr that belongs to one worker alone, so that
// counting never touches another thread's cache line.

#include <cstdint>
#include <memory>
#include <string>

#include "http/chunked_scanner.h"
#include "http/gate_policy.h"
#include "http/response_head.h"
#include "proxy/settings.h"

namespace weir::proxy {

struct ActiveSnapshot {
    /// `version` of the upstream's addresses: connections made to other ones are not kept.
    ActiveSnapshot(const Snapshot& snapshot, std::uint64_t version);

    Snapshot settings;
    std::uint64_t upstream_version = 0;
    http::GatePolicy gate;
    http::ResponsePolicy response;
    http::ChunkedLimits chunked;
    /// What a front tier adds to the requests that it has judged.
    std::string judged_line;
};

using SnapshotReference = std::shared_ptr<const ActiveSnapshot>;

}  // namespace weir::proxy
