#include "admin/report_json.h"

#include <cmath>
#include <string>

#include "admin/definition_json.h"
#include "config/values.h"

namespace weir::admin {
namespace {

/// JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json addresses(const std::vector<Endpoint>& endpoints) {
    Json list = Json::array();
    for (const auto& endpoint : endpoints) list.push_back(to_string(endpoint));
    return list;
}

Json to_json(const QuotaSetFigures& set) {
    return {{"name", set.name},
            {"generation", set.has_generation ? Json(set.generation) : Json(nullptr)},
            {"hash", set.hash},
            {"quotas", set.quotas},
            {"conflict", set.conflict}};
}

Json to_json(const engine::LimitStatus& limit) {
    return {{"unit", limit.unit},
            {"period", config::format_duration(limit.period)},
            {"rate", finite(limit.amount_per_second)},
            {"low", finite(limit.low)},
            {"high", finite(limit.high)},
            {"level", finite(limit.level)},
            {"offered_rate", finite(limit.offered_rate)},
            {"local_offered_rate", finite(limit.local_offered_rate)},
            {"discard_probability", finite(limit.discard_probability)},
            {"fleet_wide", limit.fleet_wide},
            {"origins", limit.origins},
            {"owners", addresses(limit.owners)},
            {"heard_owners", addresses(limit.heard)}};
}

Json to_json(const engine::QuotaStatus& status) {
    Json limits = Json::array();
    for (const auto& limit : status.limits) limits.push_back(to_json(limit));
    return {{"name", status.name}, {"limits", std::move(limits)}};
}

Json to_json(const QuotaFigures& figures) {
    return {{"offered", finite(figures.offered)},
            {"admitted", finite(figures.admitted)},
            {"refused", finite(figures.refused)},
            {"shadow_refused", finite(figures.shadow_refused)},
            {"overflow_requests", figures.overflowed},
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
    for (const auto& set : config.quota_sets) sets.push_back(to_json(set));
    Json settings = Json::parse(config.settings_json, nullptr, false);
    if (settings.is_discarded()) settings = nullptr;
    return {{"file", config.file},
            {"hash", config.hash},
            {"last_reload_successful", config.last_reload_successful},
            {"last_success_unix_seconds", config.last_success_seconds},
            {"reloads", config.reloads},
            {"reload_failures", config.reload_failures},
            {"errors", config.errors},
            {"quotas_hash", config.quotas_hash},
            {"quota_sets", std::move(sets)},
            {"settings", std::move(settings)}};
}

Json to_json(const engine::PeerStatus& peer) {
    return {{"address", to_string(peer.address)},
            // As text: JavaScript's numbers have 53 bits.
            {"incarnation", std::to_string(peer.incarnation)},
            {"state", peer.self ? "self" : peer.state},
            {"silent_seconds", peer.silence ? Json(to_seconds(*peer.silence)) : Json(nullptr)}};
}

Json to_json(const Health& health) {
    return {{"ready", health.ready()},
            {"listening", health.listening},
            {"configured", health.configured},
            {"draining", health.draining}};
}

Json to_json(const QuotaRow& row) {
    Json value{{"name", row.name}, {"source", row.source}, {"in_force", row.in_force}};
    if (!row.problem.empty()) value["problem"] = row.problem;
    if (!row.who.empty()) value["who"] = row.who;
    if (!row.why.empty()) value["why"] = row.why;
    if (row.expires_in) value["expires_in_seconds"] = to_seconds(*row.expires_in);
    value["definition"] = row.definition ? definition_to_json(*row.definition) : Json(nullptr);
    return value;
}

Json to_json(const QuotaReport& report) {
    Json value = report.row ? to_json(*report.row) : Json::object();
    value["figures"] = or_null(report.figures);
    value["live"] = or_null(report.instance);
    return value;
}

Json to_json(const std::vector<limiter::DefinitionError>& errors) {
    Json list = Json::array();
    for (const auto& one : errors) {
        Json value{{"quota", one.quota}, {"path", one.field}, {"message", one.message}};
        if (!one.suggestion.empty()) value["suggestion"] = one.suggestion;
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
        if (!one.suggestion.empty()) value["suggestion"] = one.suggestion;
        list.push_back(std::move(value));
    }
    return list;
}

}  // namespace weir::admin
