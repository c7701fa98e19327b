#include "admin/report_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "admin/definition_json.h"
#include "admin/figures.h"
#include "config/values.h"

namespace weir::admin {
namespace {

/// The value, or null, because JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json seconds_or_null(const std::optional<Duration>& duration) {
    return duration ? Json(to_seconds(*duration)) : Json(nullptr);
}

Json addresses(const std::vector<Endpoint>& endpoints) {
    Json list = Json::array();
    for (const auto& endpoint : endpoints) {
        list.push_back(to_string(endpoint));
    }
    return list;
}

Json to_json(const QuotaSetFigures& set) {
    return {{"name", set.name},
            {"generation", set.has_generation ? Json(set.generation) : Json(nullptr)},
            {"automatic", set.automatic},
            {"epoch", set.automatic ? Json(set.epoch) : Json(nullptr)},
            {"hash", set.hash},
            {"quotas", set.quotas},
            {"conflict", set.conflict},
            {"loading_generation",
             set.loading_generation != 0 ? Json(set.loading_generation) : Json(nullptr)},
            {"problem", set.problem.empty() ? Json(nullptr) : Json(set.problem)}};
}

Json to_json(const SnapshotFigures& snapshot) {
    return {{"file", snapshot.file},
            {"found_at_start", snapshot.found},
            {"loaded", snapshot.loaded},
            {"saves", snapshot.saves},
            {"failures", snapshot.failures},
            {"bytes", snapshot.bytes},
            {"overrides", snapshot.overrides},
            {"loaded_counts", snapshot.loaded_counts},
            {"counts", snapshot.counts},
            {"loaded_levels", snapshot.loaded_levels},
            {"levels", snapshot.levels},
            {"last_success_unix_seconds", snapshot.last_success_seconds},
            {"unsaved", snapshot.unsaved},
            {"unsaved_counts", snapshot.unsaved_counts},
            {"unsaved_levels", snapshot.unsaved_levels},
            {"problem", snapshot.problem.empty() ? Json(nullptr) : Json(snapshot.problem)}};
}

Json to_json(const engine::PeerReport::Definitions& definitions) {
    Json sets = Json::array();
    for (const auto& set : definitions.sets) {
        const bool automatic = definitions::is_automatic(set.generation);
        const std::uint64_t file = set.on_disk.value_or(definitions::kForInForce);
        sets.push_back(
            {{"name", set.name},
             {"generation", automatic ? Json(nullptr) : Json(set.generation)},
             {"epoch", automatic ? Json(definitions::epoch_of(set.generation)) : Json(nullptr)},
             {"hash", hash_text(set.content_hash)},
             {"file_hash",
              file == definitions::kForInForce ? Json(nullptr) : Json(hash_text(file))}});
    }
    return {{"same", definitions.same},
            {"quota_sets", std::move(sets)},
            {"overrides_hash", hash_text(definitions.overrides_hash)},
            {"age_seconds", to_seconds(definitions.age)}};
}

Json to_json(const QuotaHistoryRow& row) {
    Json value{{"epoch", row.version.epoch},
               {"writer", hash_text(row.version.writer)},
               {"state", row.state},
               {"kind", row.kind},
               {"who", row.who},
               {"why", row.why},
               {"age_seconds", to_seconds(row.age)}};
    value["expires_after_seconds"] = row.lifetime ? Json(to_seconds(*row.lifetime)) : Json(nullptr);
    value["definition"] = row.definition ? definition_to_json(*row.definition) : Json(nullptr);
    return value;
}

/// What bounds the limit: a rate, a number of requests in flight, or an amount in each window.
Json bounds_of(const engine::LimitReport& limit) {
    if (limit.kind == limiter::LimitKind::concurrency) {
        return {{"unit", limit.unit},
                {"concurrency", finite(limit.high)},
                {"in_flight", finite(limit.counted->count)},
                {"allowance", finite(limit.counted->allowance)}};
    }
    if (limit.kind == limiter::LimitKind::window) {
        return {{"unit", limit.unit},
                {"period", config::format_window_length(limit.period)},
                {"window", finite(limit.high)},
                {"admitted_here", finite(limit.counted->count)},
                {"allowance", finite(limit.counted->allowance)},
                {"window_end", limit.window_end == 0 ? Json(nullptr) : Json(limit.window_end)},
                {"ends_in_seconds", to_seconds(limit.window_left)}};
    }
    return {{"unit", limit.unit},
            {"period", config::format_duration(limit.period)},
            {"rate", finite(limit.amount_per_second)},
            {"low", finite(limit.low)},
            {"high", finite(limit.high)}};
}

Json to_json(const engine::LimitReport& limit) {
    Json report = bounds_of(limit);
    report.update({{"level", finite(limit.level)},
                   {"offered_rate", finite(limit.offered_rate)},
                   {"local_offered_rate", finite(limit.local_offered_rate)},
                   {"discard_probability", finite(limit.discard_probability)},
                   {"water_line", finite(limit.water_line)},
                   {"fleet_wide", limit.fleet_wide},
                   {"isolated", limit.isolated},
                   {"origins", limit.origins},
                   {"owners", addresses(limit.owners)},
                   {"heard_owners", addresses(limit.heard)}});
    return report;
}

Json to_json(const engine::InstanceReport& status) {
    Json limits = Json::array();
    for (const auto& limit : status.limits) {
        limits.push_back(to_json(limit));
    }
    return {{"name", status.name},
            {"waiting_requests", status.waiting_requests},
            {"limits", std::move(limits)}};
}

Json to_json(const QuotaFigures& figures) {
    return {{"offered", finite(figures.offered)},
            {"admitted", finite(figures.admitted)},
            {"refused", finite(figures.refused)},
            {"shadow_refused", finite(figures.shadow_refused)},
            {"refunded", finite(figures.refunded)},
            {"overflow_requests", figures.overflowed},
            {"waited_requests", figures.waited},
            {"instances", figures.instances},
            {"discard_probability", finite(figures.discard_probability)},
            {"discard_probability_max", finite(figures.discard_probability_max)},
            {"level_ratio", finite(figures.level_ratio)},
            {"level_ratio_max", finite(figures.level_ratio_max)}};
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? to_json(*value) : Json(nullptr);
}

}  // namespace

Json to_json(const ConfigFigures& config) {
    Json sets = Json::array();
    for (const auto& set : config.quota_sets) {
        sets.push_back(to_json(set));
    }
    Json settings = Json::parse(config.settings_json, nullptr, false);
    if (settings.is_discarded()) {
        settings = nullptr;
    }
    return {{"file", config.file},
            {"hash", config.hash},
            {"last_reload_successful", config.last_reload_successful},
            {"last_success_unix_seconds", config.last_success_seconds},
            {"reloads", config.reloads},
            {"reload_failures", config.reload_failures},
            {"errors", config.errors},
            {"quotas_hash", config.quotas_hash},
            {"quotas", config.quotas},
            {"quotas_waiting", config.quotas_waiting},
            {"quotas_incomplete", config.quotas_incomplete},
            {"quota_sets", std::move(sets)},
            {"after_restart", config.after_restart},
            {"snapshot", or_null(config.snapshot)},
            {"settings", std::move(settings)}};
}

Json to_json(const engine::PeerReport& peer) {
    return {{"address", to_string(peer.address)},
            // As a text, because JavaScript's numbers have only 53 bits.
            {"incarnation", std::to_string(peer.incarnation)},
            {"state", peer.self ? "self" : peer.state},
            {"role", role_word(peer.anchor)},
            {"silent_seconds", seconds_or_null(peer.silence)},
            {"round_trip_seconds", seconds_or_null(peer.round_trip)},
            {"key", peer.key == 0 ? Json(nullptr) : Json(key_text(peer.key))},
            {"refused_values", peer.refused_values},
            {"definitions", or_null(peer.definitions)}};
}

std::string_view describe_refusal(std::string_view reason) {
    using Row = std::pair<std::string_view, std::string_view>;
    constexpr std::array<Row, 7> kRows{
        Row{"unknown_key", "sealed with a key that this sidecar does not have"},
        Row{"forged", "altered on their way, or sealed with another key of the same id"},
        Row{"unsealed", "not sealed, while this sidecar has a key"},
        Row{"sealed", "sealed, while this sidecar runs without a key (insecure: true)"},
        Row{"version", "of a protocol version that this sidecar does not speak"},
        Row{"other_cluster", "of another cluster.name"},
        Row{"address_conflict", "from an address that two processes claim (cluster.advertise)"},
    };
    const auto* const found = std::find_if(kRows.begin(), kRows.end(),
                                           [&](const Row& row) { return row.first == reason; });
    return found == kRows.end() ? reason : found->second;
}

Json to_json(const GossipTrouble& gossip) {
    Json keys = Json::array();
    for (const std::uint32_t key : gossip.seal.keys) {
        keys.push_back(key_text(key));
    }
    Json strangers = Json::array();
    for (const engine::StrangerStatus& one : gossip.seal.strangers) {
        strangers.push_back({{"address", to_string(one.from)},
                             {"reason", one.reason},
                             {"problem", describe_refusal(one.reason)},
                             {"key", one.key == 0 ? Json(nullptr) : Json(key_text(one.key))},
                             {"datagrams", one.datagrams},
                             {"silent_seconds", to_seconds(one.silence)}});
    }
    Json seeds = Json::array();
    for (const Endpoint& seed : gossip.silent_seeds) {
        seeds.push_back(to_string(seed));
    }
    Json limits = Json::array();
    for (const sync::LimitSilence& one : gossip.limits) {
        limits.push_back({{"quota", one.quota},
                          {"unit", one.unit},
                          {"period", config::format_duration(one.period)},
                          {"silent_seconds", to_seconds(one.silence)},
                          {"owners", one.owners},
                          {"believed", one.believed},
                          {"isolated", one.isolated}});
    }
    Json kinds = Json::array();
    for (const sync::LaterKind& one : gossip.later_kinds) {
        kinds.push_back({{"address", to_string(one.peer)}, {"kind", one.kind}});
    }
    return {{"clustered", gossip.clustered},    {"sealed", !gossip.seal.keys.empty()},
            {"keys", std::move(keys)},          {"strangers", std::move(strangers)},
            {"silent_seeds", std::move(seeds)}, {"limits", std::move(limits)},
            {"later_kinds", std::move(kinds)}};
}

Json to_json(const Health& health) {
    return {{"ready", health.ready()},
            {"listening", health.listening},
            {"configured", health.configured},
            {"draining", health.draining},
            {"loading", health.loading}};
}

Json to_json(const ProblemList& list) {
    Json problems = Json::array();
    for (const Problem& one : list.problems) {
        problems.push_back({{"kind", row_of(one.kind).label},
                            {"subject", one.subject},
                            {"problem", one.text},
                            {"suggestion", one.suggestion},
                            {"seconds", to_seconds(one.age)}});
    }
    Json counts = Json::object();
    for (const ProblemKindRow& row : problem_kinds()) {
        counts[std::string(row.label)] = list.counts.at(static_cast<std::size_t>(row.kind));
    }
    return {{"problems", std::move(problems)}, {"counts", std::move(counts)}};
}

Json to_json(const QuotaRow& row) {
    Json value{{"name", row.name}, {"source", row.source}, {"in_force", row.in_force}};
    if (!row.problem.empty()) {
        value["problem"] = row.problem;
    }
    if (!row.who.empty()) {
        value["who"] = row.who;
    }
    if (!row.why.empty()) {
        value["why"] = row.why;
    }
    if (row.expires_in) {
        value["expires_in_seconds"] = to_seconds(*row.expires_in);
    }
    if (!row.tag.empty()) {
        value["etag"] = row.tag;
    }
    value["definition"] = row.definition ? definition_to_json(*row.definition) : Json(nullptr);
    if (row.definition && row.definition->options->limits_of_later_version > 0) {
        value["limits_of_later_version"] = row.definition->options->limits_of_later_version;
    }
    if (row.file_definition) {
        value["file_definition"] = definition_to_json(*row.file_definition);
    }
    return value;
}

Json to_json(const QuotaReport& report) {
    Json value = report.row ? to_json(*report.row) : Json::object();
    value["figures"] = or_null(report.figures);
    value["live"] = or_null(report.instance);
    return value;
}

Json to_json(const std::vector<QuotaHistoryRow>& history) {
    Json list = Json::array();
    for (const auto& row : history) {
        list.push_back(to_json(row));
    }
    return list;
}

Json to_json(const std::vector<definitions::DefinitionError>& errors) {
    Json list = Json::array();
    for (const auto& one : errors) {
        Json value{{"quota", one.quota}, {"path", one.field}, {"message", one.message}};
        if (!one.suggestion.empty()) {
            value["suggestion"] = one.suggestion;
        }
        list.push_back(std::move(value));
    }
    return list;
}

Json to_json(const std::vector<config::Diagnostic>& errors) {
    Json list = Json::array();
    for (const auto& one : errors) {
        Json value{{"path", one.path}, {"message", one.what}};
        if (one.place.line != 0) {
            value["line"] = one.place.line;
            value["column"] = one.place.column;
        }
        if (!one.suggestion.empty()) {
            value["suggestion"] = one.suggestion;
        }
        list.push_back(std::move(value));
    }
    return list;
}

}  // namespace weir::admin
