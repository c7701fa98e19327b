#pragma once
// A QuotaDirectory that writes each change which another one makes to the audit log, with who made
// it and why. Changes that were made at other sidecars are in the logs there.
//
// Thread-safety: none; for the control thread. Ownership: directory and log must outlive it.

#include "admin/sources.h"
#include "app/audit_log.h"

namespace weir::app {

class AuditedQuotas final : public admin::QuotaDirectory {
  public:
    AuditedQuotas(admin::QuotaDirectory& quotas, AuditLog& log) : quotas_(quotas), log_(log) {}

    [[nodiscard]] std::vector<admin::QuotaRow> page(std::string_view prefix, std::string_view after,
                                                    std::size_t count) const override {
        return quotas_.page(prefix, after, count);
    }
    [[nodiscard]] std::optional<admin::QuotaRow> find(std::string_view name) const override {
        return quotas_.find(name);
    }
    [[nodiscard]] admin::QuotaReport report(std::string_view name) const override {
        return quotas_.report(name);
    }
    [[nodiscard]] std::vector<admin::QuotaHistoryRow> history(
        std::string_view name) const override {
        return quotas_.history(name);
    }
    [[nodiscard]] admin::ChangeOutcome put(const limiter::QuotaDefinition& definition,
                                           const definitions::Edit& edit) override;
    [[nodiscard]] definitions::TogetherReport put_together(
        std::span<const definitions::WantedDefinition> wanted,
        const definitions::Edit& edit) override;
    [[nodiscard]] admin::ChangeOutcome hide(std::string_view name,
                                            const definitions::Edit& edit) override;
    [[nodiscard]] admin::ChangeOutcome remove(std::string_view name,
                                              const definitions::Edit& edit) override;

  private:
    void note(std::string_view message, std::string_view name, const definitions::Edit& edit);

    admin::QuotaDirectory& quotas_;
    AuditLog& log_;
};

}  // namespace weir::app
