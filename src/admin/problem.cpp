#include "admin/problem.h"

#include "base/assert.h"

namespace weir::admin {
namespace {

using std::chrono::seconds;

constexpr std::array<ProblemKindRow, kProblemKinds> kProblemKindRows{{
    {ProblemKind::no_routes, "no_routes", "No route says which requests are charged to which quota",
     "add routes to the settings, as docs/routing.md shows", seconds(0)},
    {ProblemKind::no_quotas, "no_quotas", "No quota is in force, from files, peers or the API",
     "name a file with quotas in the settings, as docs/configuration.md shows", seconds(0)},
    {ProblemKind::unknown_quota, "unknown_quota",
     "None of the quotas that a route names exists, so its requests pass without a limit",
     "correct the name in the route, or define the quota", seconds(0)},
    {ProblemKind::check_unknown_quota, "check_unknown_quota",
     "Another proxy asks on /check for a quota that does not exist, and is told that all may pass",
     "correct the name in that proxy's question, or define the quota", seconds(0)},
    {ProblemKind::hidden_route, "hidden_route",
     "A route gets no request, because an earlier one takes all that it matches",
     "put the narrower route first", seconds(0)},
    {ProblemKind::seed_unresolved, "seed_unresolved",
     "The name of a seed cannot be looked up, and has not been found since the start",
     "correct the name in cluster.join, or see why the name server does not know it", seconds(5)},
    {ProblemKind::seed_silent, "seed_silent", "No peer was ever known at the address of a seed",
     "see whether it runs, has the same cluster.name and key, and UDP passes both ways",
     seconds(5)},
    {ProblemKind::unreadable_gossip, "unreadable_gossip",
     "Gossip arrives that cannot be read here: another key, cluster.name or version",
     "give all sidecars of the fleet the same cluster.name, the same key and versions that fit",
     seconds(0)},
    {ProblemKind::counts_missing, "counts_missing",
     "Counts of windows may be missing: all who knew what lost sidecars admitted were lost, too",
     "nothing until the windows end; anchors would have kept the counts, see docs/cluster.md",
     seconds(0)},
    {ProblemKind::set_not_in_force, "set_not_in_force",
     "The quota file here is not what is in force: it is older, in conflict or refused",
     "give the file a new, higher generation, and correct its errors", seconds(0)},
    {ProblemKind::files_differ, "files_differ",
     "Sidecars have different quota files of a set without generation",
     "give all sidecars the same file", seconds(20)},
    {ProblemKind::file_gone, "file_gone", "A set stays in force although its file here is gone",
     "put the file back, or end the set with a file of it that has 'quotas: []'", seconds(5)},
    {ProblemKind::empty_folder, "empty_folder",
     "A folder that the settings name for quotas holds no document",
     "put a quota document into it, or take it out of quotas in the settings", seconds(5)},
    {ProblemKind::set_too_large, "set_too_large",
     "A quota set was refused, because there is no memory for it",
     "raise limits.memory, or make the set smaller", seconds(0)},
    {ProblemKind::reload_failed, "reload_failed",
     "Files cannot be read or have errors; what was in force stays",
     "correct the file; 'weir validate' shows every mistake", seconds(0)},
    {ProblemKind::restart_needed, "restart_needed",
     "A changed setting takes effect only after a restart", "restart the sidecar", seconds(0)},
    {ProblemKind::upstream_unresolved, "upstream_unresolved",
     "The name of the upstream cannot be looked up",
     "correct the name in upstream, or see why the name server does not know it", seconds(2)},
    {ProblemKind::upstream_refuses, "upstream_refuses",
     "Requests failed, because no connection to the upstream could be opened",
     "see whether the upstream runs and listens at this address", seconds(0)},
    {ProblemKind::connections_full, "connections_full",
     "New clients wait or take the place of silent ones, because all connections are in use",
     "raise limits.connections or the limit of open files, or add sidecars", seconds(0)},
}};

}  // namespace

const std::array<ProblemKindRow, kProblemKinds>& problem_kinds() { return kProblemKindRows; }

const ProblemKindRow& row_of(ProblemKind kind) {
    const ProblemKindRow& row = kProblemKindRows.at(static_cast<std::size_t>(kind));
    WEIR_ASSERT(row.kind == kind);
    return row;
}

std::string line_of(const Problem& problem) { return problem.text + " - " + problem.suggestion; }

}  // namespace weir::admin
