#include "app/audited_quotas.h"

#include "net/clock.h"

namespace weir::app {

void AuditedQuotas::note(std::string_view message, std::string_view name,
                         const definitions::Edit& edit) {
    if (!edit.dry_run) {
        log_.note(AuditKind::quota, message,
                  {{"quota", std::string(name)}, {"who", edit.who}, {"why", edit.why}}, net::now());
    }
}

admin::ChangeOutcome AuditedQuotas::put(const limiter::QuotaDefinition& definition,
                                        const definitions::Edit& edit) {
    admin::ChangeOutcome outcome = quotas_.put(definition, edit);
    if (outcome.version) {
        note("a quota was set by the API", definition.name, edit);
    }
    return outcome;
}

definitions::TogetherReport AuditedQuotas::put_together(
    std::span<const definitions::WantedDefinition> wanted, const definitions::Edit& edit) {
    definitions::TogetherReport report = quotas_.put_together(wanted, edit);
    if (!report.versions.empty()) {
        for (const definitions::WantedDefinition& one : wanted) {
            note("a quota was set by the API", one.definition.name, edit);
        }
    }
    return report;
}

admin::ChangeOutcome AuditedQuotas::hide(std::string_view name, const definitions::Edit& edit) {
    admin::ChangeOutcome outcome = quotas_.hide(name, edit);
    if (outcome.version) {
        note("a quota was hidden by the API", name, edit);
    }
    return outcome;
}

admin::ChangeOutcome AuditedQuotas::remove(std::string_view name, const definitions::Edit& edit) {
    admin::ChangeOutcome outcome = quotas_.remove(name, edit);
    if (outcome.version) {
        note("an override of the API was removed", name, edit);
    }
    return outcome;
}

}  // namespace weir::app
