#include "admin/figures.h"

#include <array>
#include <charconv>

#include "config/values.h"

namespace weir::admin {
namespace {

QuotaLimitFigures limit_figures(const limiter::RateLimit& limit) {
    return {.unit = std::string(to_string(limit.unit)),
            .period = config::format_duration(limit.period),
            .rate = limit.rate()};
}

std::map<std::string, std::uint64_t> sync_events(const sync::SyncStatistics& sync) {
    return {{"deltas_resent", sync.deltas_resent},
            {"deltas_put_off", sync.deltas_put_off},
            {"publications", sync.publications},
            {"publications_put_off", sync.publications_put_off},
            {"quiet_sent", sync.quiet_sent},
            {"children_told", sync.children_told},
            {"allowances_reported", sync.allowances_reported},
            {"allowances_granted", sync.allowances_granted},
            {"windows_reported", sync.windows_reported},
            {"windows_granted", sync.windows_granted},
            {"windows_put_off", sync.windows_put_off},
            {"owners_lost", sync.owners_lost},
            {"quiet_received", sync.quiet_received},
            {"quiet_resent", sync.quiet_resent},
            {"orders_put_off", sync.orders_put_off},
            {"quiet_put_off", sync.quiet_put_off},
            {"quiet_given_up", sync.quiet_given_up},
            {"woken", sync.woken},
            {"fallen_quiet", sync.fallen_quiet},
            {"handovers_sent", sync.handovers_sent},
            {"handovers_received", sync.handovers_received},
            {"names_asked", sync.names_asked},
            {"names_told", sync.names_told},
            {"looks", sync.looks},
            {"room_made", sync.room_made},
            {"baselines", sync.baselines},
            {"late_lumps", sync.late_lumps},
            {"ceiling_hits", sync.ceiling_hits},
            {"stops", sync.stops},
            {"splits", sync.splits},
            {"isolations", sync.isolations},
            {"silent_origins", sync.silent_origins},
            {"unreachable", sync.unreachable},
            {"discarded_after_stop", sync.discarded_after_stop},
            {"skipped_kinds", sync.skipped_kinds},
            {"refused_values", sync.refused_values},
            {"refused_falling", sync.refused_falling},
            {"refused_leaps", sync.refused_leaps},
            {"refused_not_owner", sync.refused_not_owner},
            {"refused_unknown", sync.refused_unknown},
            {"dropped_synced_limits", sync.dropped_synced_limits},
            {"dropped_owned_limits", sync.dropped_owned_limits},
            {"dropped_cells", sync.dropped_cells},
            {"dropped_entries", sync.dropped_entries},
            {"dropped_datagrams", sync.dropped_datagrams}};
}

std::map<std::string, std::uint64_t> definition_events(const engine::EngineStatistics& statistics) {
    const definitions::DefinitionStoreCounters& store = statistics.definition_store;
    const definitions::DefinitionExchangeCounters& sync = statistics.definitions;
    const definitions::BulkCounters& bulk = statistics.bulk;
    return {{"documents_applied", store.documents_applied},
            {"documents_older", store.documents_older},
            {"document_conflicts", store.document_conflicts},
            {"documents_invalid", store.documents_invalid},
            {"documents_without_room", store.documents_without_room},
            {"sets_decided", sync.sets_decided},
            {"set_counts_sent", sync.set_counts_sent},
            {"set_epochs_refused", sync.epochs_refused},
            {"edits", store.edits},
            {"edits_refused", store.edits_refused},
            {"edits_outdated", store.edits_outdated},
            {"merged", store.merged},
            {"overruled", store.overruled},
            {"refused_epochs", store.refused_epochs},
            {"refused_full", store.refused_full},
            {"refused_entries", store.refused_entries},
            {"refused_definitions", statistics.sync.refused_definitions},
            {"refused_stale", store.refused_stale},
            {"pushes_sent", sync.pushes_sent},
            {"pushes_given_up", sync.pushes_given_up},
            {"entries_received", sync.entries_received},
            {"digests_sent", sync.digests_sent},
            {"digests_differed", sync.digests_differed},
            {"pages_sent", sync.pages_sent},
            {"documents_fetched", sync.documents_fetched},
            {"documents_refused", sync.documents_refused},
            {"bad_messages", sync.bad_messages},
            {"bulk_wishes", sync.bulk_wishes},
            {"bulk_failures", sync.bulk_failures},
            {"bulk_pulls_begun", bulk.pulls_begun},
            {"bulk_pulls_done", bulk.pulls_done},
            {"bulk_pulls_failed", bulk.pulls_failed},
            {"bulk_served", bulk.served},
            {"bulk_frames_in", bulk.frames_in},
            {"bulk_frames_out", bulk.frames_out},
            {"bulk_frames_refused", bulk.frames_refused}};
}

void add_messages(std::vector<PacketCount>& packets, const std::string& direction,
                  const std::map<std::string, std::uint64_t>& messages) {
    for (const auto& [type, count] : messages) {
        packets.push_back({direction, type, count});
    }
}

}  // namespace

QuotaFigures to_figures(const limiter::DefinitionStatistics& statistics) {
    QuotaFigures figures{.name = std::string(statistics.quota),
                         .offered = statistics.offered,
                         .admitted = statistics.admitted,
                         .refused = statistics.refused,
                         .shadow_refused = statistics.shadow_refused,
                         .refunded = statistics.refunded,
                         .discard_probability = statistics.discard_probability_mean,
                         .discard_probability_max = statistics.discard_probability_max,
                         .level_ratio = statistics.level_ratio_mean,
                         .level_ratio_max = statistics.level_ratio_max,
                         .instances = statistics.live_instances,
                         .overflowed = statistics.overflowed,
                         .waited = statistics.waited,
                         .limits = {}};
    WEIR_ASSERT(statistics.limits.size() <= statistics.counted.size());
    for (std::size_t i = 0; i < statistics.limits.size(); ++i) {
        const limiter::RateLimit& limit = statistics.limits[i];
        switch (limit.kind) {
            case limiter::LimitKind::rate:
                figures.limits.push_back(limit_figures(limit));
                break;
            case limiter::LimitKind::window:
                figures.windows.push_back({.unit = std::string(to_string(limit.unit)),
                                           .period = config::format_window_length(limit.period),
                                           .amount = limit.amount,
                                           .here = statistics.counted[i]});
                break;
            case limiter::LimitKind::concurrency:
                figures.concurrency = limit.amount;
                figures.in_flight = statistics.counted[i];
                break;
        }
    }
    return figures;
}

LimiterFigures to_figures(const limiter::Limiter& limiter, Instant now) {
    const auto memory = limiter.memory();
    const auto counters = limiter.counters();
    LimiterFigures figures{.quotas = {},
                           .definitions = memory.definitions,
                           .live_instances = memory.instances,
                           .memory_bytes = memory.bytes + memory.name_bytes,
                           .created_instances = counters.created,
                           .replaced_instances = counters.replaced,
                           .idle_instances_dropped = counters.dropped_idle,
                           .instances_awaiting_room = memory.awaiting_room,
                           .events = {{"overflowed", counters.overflowed},
                                      {"contended", counters.contended},
                                      {"active_dropped", counters.active_dropped},
                                      {"clamped_weights", counters.clamped_weights},
                                      {"bad_views", counters.bad_views},
                                      {"without_fair_place", counters.without_fair_place}}};
    limiter.for_each_statistics(now, [&](const limiter::DefinitionStatistics& statistics) {
        figures.quotas.push_back(to_figures(statistics));
    });
    return figures;
}

ClusterFigures to_figures(const engine::EngineStatistics& statistics) {
    ClusterFigures figures{.peers = statistics.peers_by_state,
                           .packets = {},
                           .datagrams_in = statistics.datagrams_in,
                           .datagrams_out = statistics.datagrams_out,
                           .bytes_in = statistics.bytes_in,
                           .bytes_out = statistics.bytes_out,
                           .counter_bytes_out = statistics.counter_bytes_out,
                           .rejected_packets = statistics.rejected,
                           .refused_values = {},
                           .second_key_packets = statistics.opened_with_second_key,
                           .keys = {},
                           .staleness_seconds = to_seconds(statistics.staleness),
                           .pace_asked = statistics.pace_asked,
                           .pace_followed = statistics.pace_followed,
                           .synced_limits = statistics.synced_limits,
                           .owned_limits = statistics.owned_limits,
                           .awake_synced_limits = statistics.awake_synced_limits,
                           .awake_owned_limits = statistics.awake_owned_limits,
                           .quiet_synced_limits = statistics.quiet_synced_limits,
                           .quiet_owned_limits = statistics.quiet_owned_limits,
                           .fair_parents = statistics.fair_parents,
                           .fair_children = statistics.fair_children,
                           .told_allowances = statistics.told_allowances,
                           .used_windows = statistics.used_windows,
                           .kept_windows = statistics.kept_windows,
                           .uncertain_windows = statistics.uncertain_windows,
                           .clock_difference_seconds = to_seconds(statistics.clock_difference),
                           .divided_limits = statistics.divided_limits,
                           .cells = statistics.cells,
                           .hot_limits = statistics.hot_limits,
                           .isolated_limits = statistics.isolated_limits,
                           .hears_most = statistics.hears_most,
                           .is_anchor = statistics.is_anchor,
                           .anchors = statistics.anchors,
                           .sync_events = sync_events(statistics.sync),
                           .definition_events = definition_events(statistics),
                           .driver_events = {}};
    // A state without peers is shown as 0, so that alerts have a series to compare with.
    for (const auto* state : {"alive", "suspect", "dead", "left", "replaced"}) {
        figures.peers[state];
    }
    for (const auto& refusals : statistics.refused_by_peer) {
        figures.refused_values[to_string(refusals.peer)] = refusals.count;
    }
    add_messages(figures.packets, "in", statistics.messages_in);
    add_messages(figures.packets, "out", statistics.messages_out);
    return figures;
}

ClusterFigures to_figures(engine::Engine& engine) {
    ClusterFigures figures = to_figures(engine.statistics());
    for (const std::uint32_t key : engine.key_ids()) {
        figures.keys.push_back(key_text(key));
    }
    return figures;
}

QuotaSetFigures to_figures(const definitions::SetStatus& set) {
    const bool automatic = set.generation && definitions::is_automatic(*set.generation);
    const bool numbered = set.generation && !automatic;
    return {.name = set.set,
            .generation = numbered ? *set.generation : 0,
            .has_generation = numbered,
            .automatic = automatic,
            .epoch = automatic ? definitions::epoch_of(*set.generation) : 0,
            .hash = hash_text(set.content_hash),
            .quotas = set.quotas,
            .conflict = set.conflict,
            .loading_generation =
                set.loading && !definitions::is_automatic(*set.loading) ? *set.loading : 0};
}

std::string_view role_word(bool anchor) { return anchor ? "anchor" : "sidecar"; }

std::string key_text(std::uint32_t id) { return hash_text(id).substr(8); }

std::string hash_text(std::uint64_t hash) {
    std::string text(16, '0');
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
    const auto count = static_cast<std::size_t>(end - digits.data());
    text.replace(text.size() - count, count, digits.data(), count);
    return text;
}

}  // namespace weir::admin
