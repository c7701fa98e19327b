#include "engine/reports.h"

#include <utility>

#include "definitions/exchange.h"
#include "definitions/store.h"
#include "limiter/limiter.h"
#include "membership/transport.h"
#include "sync/counter_exchange.h"

namespace weir::engine {
namespace {

/// The definitions that a peer said it has, compared with those here.
PeerReport::Definitions describe(const definitions::PeerDefinitions& said,
                                 const definitions::DefinitionStore& store, Instant now) {
    PeerReport::Definitions result;
    result.age = now - said.at;
    result.overrides_hash = said.overrides;
    result.same = said.overrides == store.overrides().root_hash();
    std::size_t own = 0;
    for (const definitions::SetStatus& set : store.sets()) {
        if (set.generation) {
            ++own;
        }
    }
    result.same = result.same && own == said.sets.size();
    for (const definitions::PeerDefinitions::Set& set : said.sets) {
        result.sets.push_back({set.name, set.generation, set.content, set.on_disk});
        bool equal = false;
        for (const definitions::SetStatus& here : store.sets()) {
            equal = equal || (here.set == set.name && here.generation == set.generation &&
                              here.content_hash == set.content);
        }
        // What is in force may be the same although the peer has another file.
        const std::uint64_t file = set.on_disk.value_or(definitions::kForInForce);
        const bool same_file = file == definitions::kForInForce || file == set.content;
        result.same = result.same && equal && same_file;
    }
    return result;
}

void count_members(const membership::Membership& members, Instant now,
                   EngineStatistics& statistics) {
    statistics.is_anchor = members.flags().anchor;
    statistics.anchors = members.live_anchors() + (statistics.is_anchor ? 1U : 0U);
    for (const membership::Member& member : members.live()) {
        ++statistics.peers_by_state[std::string(membership::to_string(member.state))];
    }
    for (const membership::Member& member : members.recently_gone(now)) {
        ++statistics.peers_by_state[std::string(membership::to_string(member.state))];
    }
}

}  // namespace

std::vector<PeerReport> report_peers(const ReportSources& from, Instant now) {
    std::vector<PeerReport> peers;
    const auto add = [&](const membership::Member& member, Instant heard) -> PeerReport& {
        PeerReport peer;
        peer.address = member.id.address;
        peer.incarnation = member.id.incarnation;
        peer.state = membership::to_string(member.state);
        peer.anchor = member.flags.anchor;
        peer.silence = now - heard;
        peer.refused_values = from.counters.silence().refusals(member.id);
        return peers.emplace_back(peer);
    };
    const std::vector<gossip::KeyId> keys = from.transport.key_ids();
    PeerReport& self =
        add({from.counters.self(), {}, from.transport.membership().flags(), 0, {}, {}, {}}, now);
    self.self = true;
    self.key = keys.empty() ? 0 : keys.front();
    for (const membership::Member& member : from.transport.membership().live()) {
        PeerReport& peer = add(member, member.last_heard);
        peer.key = from.transport.key_of(member.id);
        if (member.round_trip > Duration::zero()) {
            peer.round_trip = member.round_trip;
        }
        if (const definitions::PeerDefinitions* said = from.exchange.said(member.id)) {
            peer.definitions = describe(*said, from.store, now);
        }
    }
    for (const membership::Member& member : from.transport.membership().recently_gone(now)) {
        add(member, member.since);
    }
    return peers;
}

SealStatus report_seal(const membership::Transport& transport, Instant now) {
    SealStatus status{transport.key_ids(), {}};
    for (const gossip::Stranger& stranger : transport.strangers().recent(now)) {
        status.strangers.push_back({stranger.from, gossip::to_string(stranger.reason), stranger.key,
                                    stranger.datagrams, now - stranger.last});
    }
    return status;
}

std::optional<InstanceReport> report_quota(const ReportSources& from, limiter::Limiter& limiter,
                                           std::string_view name, Instant now) {
    const std::vector<limiter::LimitStatus> limits = limiter.inspect(name, now);
    if (limits.empty()) {
        return std::nullopt;
    }
    InstanceReport quota{std::string(name), limiter.waiting(name), {}};
    for (const limiter::LimitStatus& each : limits) {
        LimitReport status;
        status.unit = limiter::to_string(each.limit.unit);
        status.period = each.limit.period;
        status.amount_per_second = each.parameters.rate;
        status.low = each.parameters.low;
        status.high = each.parameters.high;
        status.level = each.level;
        status.kind = each.limit.kind;
        if (!each.limit.is_rate()) {
            status.counted = each.counted;
            status.window_end = each.window_end;
            status.window_left = each.window_left;
        }
        status.offered_rate = each.fleet_offered_rate;
        status.local_offered_rate = each.offered_rate;
        status.discard_probability = each.discard_probability;
        status.water_line = each.water_line;
        status.fleet_wide = each.limit.scope == limiter::Scope::fleet;
        const sync::LimitKey key = sync::key_of(name, each.limit.unit, each.limit.period);
        // Each member knows its part of a limit that only counts by itself.
        const bool owned = status.fleet_wide && !status.counted;
        const sync::SyncedLimit* synced = owned ? from.counters.reporter().find(key) : nullptr;
        status.quiet = owned && from.counters.quiet().find(key) != nullptr;
        if (owned) {
            for (const gossip::MemberId& owner :
                 from.transport.owners().of(membership::shard_of(key.quota))) {
                status.owners.push_back(owner.address);
            }
        }
        if (synced != nullptr) {
            status.origins = synced->origins();
            status.isolated = synced->isolated;
            for (const sync::OwnerView& view : synced->views) {
                if (view.fresh(from.settings, now)) {
                    status.heard.push_back(view.owner().address);
                }
            }
        }
        quota.limits.push_back(std::move(status));
    }
    return quota;
}

EngineStatistics report_statistics(const ReportSources& from, Instant now) {
    EngineStatistics statistics;
    statistics.sync = from.counters.counters();
    statistics.synced_limits = from.counters.reporter().size();
    statistics.owned_limits = from.counters.owner().size();
    statistics.awake_synced_limits = from.counters.reporter().awake();
    statistics.awake_owned_limits = from.counters.owner().awake();
    statistics.quiet_synced_limits = from.counters.quiet().size();
    statistics.quiet_owned_limits = from.counters.owner().quiet();
    statistics.fair_parents = from.counters.fair().parents();
    statistics.fair_children = from.counters.fair().children();
    statistics.told_allowances = from.counters.allowances().told();
    statistics.used_windows = from.counters.windows().size();
    statistics.kept_windows = from.counters.owned_windows().size();
    statistics.uncertain_windows = from.counters.uncertain_windows();
    statistics.clock_difference = from.counters.clock().difference();
    statistics.divided_limits = from.counters.divided().size();
    statistics.cells = from.counters.owner().cells();
    statistics.hot_limits = from.counters.hot().size();
    statistics.isolated_limits = from.counters.reporter().isolated();
    statistics.hears_most = from.counters.silence().side().majority;
    const membership::TransportCounters& counters = from.transport.counters();
    statistics.datagrams_in = counters.datagrams_in;
    statistics.datagrams_out = counters.datagrams_out;
    statistics.bytes_in = counters.bytes_in;
    statistics.bytes_out = counters.bytes_out;
    statistics.sync.dropped_datagrams =
        counters.dropped.at(static_cast<std::size_t>(gossip::Lane::counters));
    statistics.counter_bytes_out =
        counters.lane_bytes_out.at(static_cast<std::size_t>(gossip::Lane::counters));
    for (std::size_t i = 0; i < counters.messages_in.size(); ++i) {
        const std::string type(gossip::to_string(static_cast<gossip::MessageType>(i)));
        if (counters.messages_in[i] > 0) {
            statistics.messages_in[type] += counters.messages_in[i];
        }
        if (counters.messages_out[i] > 0) {
            statistics.messages_out[type] += counters.messages_out[i];
        }
    }
    for (std::size_t i = 0; i < gossip::kRejections; ++i) {
        const auto reason = static_cast<gossip::DatagramRejection>(i);
        // Zeros are shown, too: an alert on the increase would miss a series that begins above 0.
        statistics.rejected[std::string(gossip::to_string(reason))] = counters.rejected[reason];
    }
    statistics.opened_with_second_key = counters.opened_with_second_key;
    count_members(from.transport.membership(), now, statistics);
    statistics.refused_by_peer = from.counters.silence().refusals();
    statistics.definitions = from.exchange.counters();
    statistics.definition_store = from.store.counters();
    statistics.staleness = from.counters.reporter().staleness(from.counters.owner(), now);
    statistics.pace_asked = 1 + 0.1 * from.counters.owner().pace();
    statistics.pace_followed = 1 + 0.1 * from.counters.reporter().pace();
    return statistics;
}

}  // namespace weir::engine
