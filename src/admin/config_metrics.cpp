#include "admin/config_metrics.h"

namespace weir::admin {
namespace {

void add_quota_sets(Families& families, const ConfigFigures& config) {
    auto generations = families.gauge("weir_quota_set_generation",
                                      "Generation of the quota document in force, by set; 0 if the "
                                      "document has none.");
    auto info = families.gauge("weir_quota_set_info",
                               "Always 1; the labels tell the content hash of the set in force.");
    auto conflicts = families.gauge("weir_quota_set_conflict",
                                    "1 if a document of the same generation with other content was "
                                    "met.");
    auto epochs = families.gauge("weir_quota_set_epoch",
                                 "How often the fleet has decided about a set without generation, "
                                 "by set; 0 if it has not, or the set has a generation.");
    for (const auto& set : config.quota_sets) {
        epochs.add({{"set", set.name}}, number(set.epoch));
        generations.add({{"set", set.name}}, number(set.generation));
        info.add({{"set", set.name}, {"hash", set.hash}}, 1);
        conflicts.add({{"set", set.name}}, set.conflict ? 1 : 0);
    }
}

void add_snapshot(Families& families, const SnapshotFigures& snapshot) {
    auto loads = families.counter("weir_snapshot_loads_total",
                                  "What came of the snapshot that was found at the start.");
    for (const char* result : {"loaded", "none", "refused"}) {
        loads.add({{"result", result}}, snapshot.found == result ? 1 : 0);
    }
    families.counter("weir_snapshot_saves_total", "Attempts to write the snapshot, by result.")
        .add({{"result", "success"}}, number(snapshot.saves))
        .add({{"result", "failure"}}, number(snapshot.failures));
    families
        .gauge("weir_snapshot_last_success_timestamp_seconds",
               "Unix time at which the snapshot was last written; 0 if never.")
        .add(snapshot.last_success_seconds);
    families.gauge("weir_snapshot_bytes", "Size of the snapshot that was last written.")
        .add(number(snapshot.bytes));
    families
        .gauge("weir_snapshot_counts", "Counts of windows in the snapshot that was last written.")
        .add(number(snapshot.counts));
    families.gauge("weir_snapshot_levels", "Long levels in the snapshot that was last written.")
        .add(number(snapshot.levels));
    families.gauge("weir_snapshot_unsaved", "1 while overrides are here that are not on the disk.")
        .add(snapshot.unsaved ? 1 : 0);
}

}  // namespace

void add_config(Families& families, const ConfigFigures& config) {
    families
        .gauge("weir_config_info",
               "Always 1; the labels tell the hashes of the effective settings and of all quota "
               "definitions in force.")
        .add({{"hash", config.hash}, {"quotas_hash", config.quotas_hash}}, 1);
    families
        .gauge("weir_config_last_reload_successful",
               "1 if the last reload of settings and quota files succeeded.")
        .add(config.last_reload_successful ? 1 : 0);
    families
        .gauge("weir_config_last_reload_success_timestamp_seconds",
               "Unix time of the last successful reload.")
        .add(config.last_success_seconds);
    families
        .gauge("weir_quotas_incomplete",
               "Quotas with limits of a later version, which are not held here.")
        .add(number(config.quotas_incomplete));
    families.counter("weir_config_reloads_total", "Reloads of settings and quota files, by result.")
        .add({{"result", "success"}}, number(config.reloads - config.reload_failures))
        .add({{"result", "failure"}}, number(config.reload_failures));
    add_quota_sets(families, config);
    if (config.snapshot) {
        add_snapshot(families, *config.snapshot);
    }
}

}  // namespace weir::admin
