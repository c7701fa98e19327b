#include "admin/engine_quotas.h"

#include <algorithm>
#include <utility>

#include "admin/figures.h"
#include "engine/engine.h"
#include "limiter/limiter.h"

namespace weir::admin {
namespace {

/// The errors that a definition would cause in the set in force, one by one: the store tells them
/// in one message only. Others' errors (a child that would lose its parent's capture) count too.
std::vector<limiter::DefinitionError> errors_with(std::vector<limiter::QuotaDefinition> all,
                                                  const limiter::QuotaDefinition& definition) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const auto& one) { return one.name == definition.name; });
    if (same == all.end()) {
        all.push_back(definition);
    } else {
        *same = definition;
    }
    return limiter::validate(all);
}

std::optional<QuotaFigures> figures_of(const limiter::Limiter& limiter, std::string_view definition,
                                       Instant now) {
    std::optional<QuotaFigures> found;
    limiter.for_each_statistics(now, [&](const limiter::DefinitionStatistics& statistics) {
        if (statistics.quota == definition) found = to_figures(statistics);
    });
    return found;
}

ChangeOutcome outcome_of(const Result<crdt::Version>& result) {
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
    std::vector<QuotaRow> rows = engine_->definitions().list(clock_());
    std::erase_if(rows, [&](const QuotaRow& row) {
        return !row.name.starts_with(prefix) || (!after.empty() && row.name <= after);
    });
    if (rows.size() > count) rows.resize(count);
    return rows;
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
        if (definition) report.row = engine_->definitions().find(definition->name, now);
    }
    report.instance = engine_->quota_status(name, now);
    if (report.row) report.figures = figures_of(*limiter_, report.row->name, now);
    return report;
}

ChangeOutcome EngineQuotas::put(const limiter::QuotaDefinition& definition,
                                const engine::Edit& edit) {
    auto result = outcome_of(engine_->definitions().set(definition, edit, clock_()));
    if (!result.version) result.errors = errors_with(engine_->definitions().in_force(), definition);
    return result;
}

ChangeOutcome EngineQuotas::hide(std::string_view name, const engine::Edit& edit) {
    return outcome_of(engine_->definitions().set_absent(name, edit, clock_()));
}

ChangeOutcome EngineQuotas::remove(std::string_view name, const engine::Edit& edit) {
    return outcome_of(engine_->definitions().remove(name, edit, clock_()));
}

}  // namespace weir::admin
