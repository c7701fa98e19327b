#include "node/figures.h"

#include "admin/figures.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "node/version.h"

namespace weir::node {

std::map<std::string, std::uint64_t> driver_events(const cluster::ClusterStatistics& statistics) {
    return {{"send_errors", statistics.send_errors},
            {"send_would_block", statistics.send_would_block},
            {"receive_errors", statistics.receive_errors},
            {"oversized_datagrams", statistics.oversized_datagrams},
            {"receive_pauses", statistics.receive_pauses},
            {"discarded_datagrams", statistics.discarded_datagrams},
            {"detected_stops", statistics.detected_stops},
            {"lookups", statistics.lookups},
            {"lookup_failures", statistics.lookup_failures},
            {"bulk_accepted", statistics.bulk.accepted},
            {"bulk_turned_away", statistics.bulk.turned_away},
            {"bulk_accept_errors", statistics.bulk.accept_errors},
            {"bulk_connects", statistics.bulk.connects},
            {"bulk_connect_failures", statistics.bulk.connect_failures},
            {"bulk_timeouts", statistics.bulk.timeouts},
            {"bulk_refused", statistics.bulk.refused},
            {"bulk_bytes_in", statistics.bulk.bytes_in},
            {"bulk_bytes_out", statistics.bulk.bytes_out}};
}

admin::ClusterFigures cluster_figures(cluster::Cluster& cluster) {
    admin::ClusterFigures figures = admin::to_figures(cluster.engine());
    figures.driver_events = driver_events(cluster.statistics());
    return figures;
}

admin::ConfigFigures with_quota_sets(admin::ConfigFigures figures, cluster::Cluster& cluster) {
    definitions::DefinitionStore& store = cluster.engine().definitions();
    for (const definitions::SetStatus& set : store.sets()) {
        figures.quota_sets.push_back(admin::to_figures(set));
    }
    figures.quotas = store.size();
    figures.quotas_waiting = store.waiting();
    figures.quotas_incomplete = store.incomplete();
    figures.quotas_hash = admin::hash_text(store.content_hash());
    return figures;
}

admin::BuildFigures build_figures() {
    return {std::string(kVersion), std::string(revision()), std::string(kCompiler)};
}

}  // namespace weir::node
