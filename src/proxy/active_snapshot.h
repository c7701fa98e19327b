#pragma once
// A worker's own copy of the snapshot in force, with everything that serving a request needs in
// prepared form. Immutable. Each worker has a copy and a shared_ptr of its own, so that counting
// references never touches another thread's cache line.

#include <cstdint>
#include <memory>
#include <string>

#include "http/chunked_scanner.h"
#include "http/gate_policy.h"
#include "http/response_head.h"
#include "proxy/settings.h"

namespace weir::proxy {

struct ActiveSnapshot {
    /// `version` counts the changes of the upstream's addresses. Connections that were made for
    /// another version are not kept.
    ActiveSnapshot(const Snapshot& snapshot, std::uint64_t version);

    Snapshot settings;
    std::uint64_t upstream_version = 0;
    http::GatePolicy gate;
    http::ResponsePolicy response;
    http::ChunkedLimits chunked;
    /// The Host field of requests that name no host.
    std::string host_line;
    /// The field line that a front tier adds to the requests that it has judged.
    std::string judged_line;
};

using SnapshotReference = std::shared_ptr<const ActiveSnapshot>;

}  // namespace weir::proxy
