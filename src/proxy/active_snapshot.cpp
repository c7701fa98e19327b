#include "proxy/active_snapshot.h"

#include "routing/router.h"

namespace weir::proxy {
namespace {

/// Fields that the configuration names. Fields that imitate one of them are not forwarded.
std::vector<std::string> names_read(const Snapshot& snapshot) {
    std::vector<std::string> names;
    if (snapshot.router) {
        names = snapshot.router->fields_read();
    }
    for (const auto& name : {snapshot.headers.judged, snapshot.headers.cost}) {
        if (!name.empty()) {
            names.push_back(name);
        }
    }
    return names;
}

}  // namespace

ActiveSnapshot::ActiveSnapshot(const Snapshot& snapshot, std::uint64_t version)
    : settings(snapshot), upstream_version(version) {
    gate.max_head = snapshot.limits.request_head;
    gate.max_request_line = snapshot.limits.request_line;
    gate.max_fields = snapshot.limits.request_fields;
    gate.underscores = snapshot.headers.underscores;
    gate.read_names = names_read(snapshot);
    gate.upgrades = snapshot.upgrades;
    response.max_head = snapshot.limits.response_head;
    response.max_fields = snapshot.limits.response_fields;
    host_line = "Host: " + snapshot.upstream_host + "\r\n";
    chunked.max_extension = snapshot.limits.chunk_extension;
    if (!snapshot.headers.judged.empty()) {
        judged_line = snapshot.headers.judged + ": 1\r\n";
    }
}

}  // namespace weir::proxy
