#include "admin/engine_quotas.h"

#include <array>
#include <utility>

#include "admin/figures.h"
#include "definitions/codec.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "limiter/limiter.h"

namespace weir::admin {
namespace {

std::string_view state_of(const definitions::HistoryEntry& known, Instant now) {
    switch (known.fate) {
        case definitions::HistoryFate::current:
            return known.entry.expired(now) ? "expired" : "current";
        case definitions::HistoryFate::replaced:
            return "replaced";
        case definitions::HistoryFate::overruled:
            return "overruled";
    }
    return "";
}

std::string_view kind_of(definitions::EntryKind kind) {
    constexpr std::array<std::string_view, 3> kWords = {"set", "absent", "removed"};
    return kWords[static_cast<std::size_t>(kind)];
}

ChangeOutcome outcome_of(const Result<definitions::Version>& result) {
    ChangeOutcome outcome;
    if (result) {
        outcome.version = *result;
    } else {
        outcome.code = result.error().code;
        outcome.message = result.error().message;
    }
    return outcome;
}

}  // namespace

EngineQuotas::EngineQuotas(engine::Engine& engine, limiter::Limiter& limiter,
                           std::function<Instant()> clock)
    : engine_(&engine), limiter_(&limiter), clock_(std::move(clock)) {}

std::vector<QuotaRow> EngineQuotas::page(std::string_view prefix, std::string_view after,
                                         std::size_t count) const {
    return engine_->definitions().page(prefix, after, count, clock_());
}

std::optional<QuotaRow> EngineQuotas::find(std::string_view name) const {
    return engine_->definitions().find(name, clock_());
}

QuotaReport EngineQuotas::report(std::string_view name) const {
    const Instant now = clock_();
    QuotaReport report;
    report.row = engine_->definitions().find(name, now);
    if (!report.row) {
        const auto definition = limiter_->definition_for(name);
        if (definition) {
            report.row = engine_->definitions().find(definition->name, now);
        }
    }
    report.instance = engine_->quota_status(name, now);
    if (report.row) {
        const auto statistics = limiter_->statistics_of(report.row->name, now);
        if (statistics) {
            report.figures = to_figures(*statistics);
        }
    }
    return report;
}

std::vector<QuotaHistoryRow> EngineQuotas::history(std::string_view name) const {
    const Instant now = clock_();
    std::vector<QuotaHistoryRow> rows;
    for (const definitions::HistoryEntry& known : engine_->definitions().history(name)) {
        const definitions::DefinitionEntry& entry = known.entry;
        QuotaHistoryRow row{.version = entry.version,
                            .state = state_of(known, now),
                            .kind = kind_of(entry.kind),
                            .who = entry.who,
                            .why = entry.why,
                            .age = now - entry.written,
                            .lifetime = entry.lifetime,
                            .definition = std::nullopt};
        if (entry.kind == definitions::EntryKind::set) {
            if (auto decoded = definitions::decode_definition(entry.name, entry.value)) {
                row.definition = std::move(*decoded);
            }
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// Whoever made a change may send a request as soon as the API has answered.
void EngineQuotas::apply(const definitions::Edit& edit) {
    if (!edit.dry_run) {
        engine_->apply_definitions(clock_());
    }
}

ChangeOutcome EngineQuotas::put(const limiter::QuotaDefinition& definition,
                                const definitions::Edit& edit) {
    auto result = outcome_of(engine_->definitions().set(definition, edit, clock_()));
    if (!result.version && result.code == ErrorCode::invalid_argument) {
        result.errors = engine_->definitions().check(definition);
    }
    apply(edit);
    return result;
}

definitions::TogetherReport EngineQuotas::put_together(
    std::span<const definitions::WantedDefinition> wanted, const definitions::Edit& edit) {
    auto report = engine_->definitions().set_together(wanted, edit, clock_());
    apply(edit);
    return report;
}

ChangeOutcome EngineQuotas::hide(std::string_view name, const definitions::Edit& edit) {
    auto result = outcome_of(engine_->definitions().set_absent(name, edit, clock_()));
    apply(edit);
    return result;
}

ChangeOutcome EngineQuotas::remove(std::string_view name, const definitions::Edit& edit) {
    auto result = outcome_of(engine_->definitions().remove(name, edit, clock_()));
    apply(edit);
    return result;
}

}  // namespace weir::admin
