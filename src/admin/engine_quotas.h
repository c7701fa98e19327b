#pragma once
// The QuotaDirectory of a running member: it reads and changes the engine's store of definitions,
// and shows what engine and limiter know of the live quotas.
//
// Thread-safety: none; control thread only. Ownership: engine and limiter must outlive it.

#include <functional>

#include "admin/sources.h"
#include "base/instant.h"

namespace weir::limiter {
class Limiter;
}

namespace weir::admin {

class EngineQuotas : public QuotaDirectory {
  public:
    /// `clock` is net::now, except in tests. A change is in force when its function returns, unless
    /// thousands of others wait before it.
    EngineQuotas(engine::Engine& engine, limiter::Limiter& limiter, std::function<Instant()> clock);

    [[nodiscard]] std::vector<QuotaRow> page(std::string_view prefix, std::string_view after,
                                             std::size_t count) const override;
    [[nodiscard]] std::optional<QuotaRow> find(std::string_view name) const override;
    [[nodiscard]] QuotaReport report(std::string_view name) const override;
    [[nodiscard]] std::vector<QuotaHistoryRow> history(std::string_view name) const override;
    [[nodiscard]] ChangeOutcome put(const limiter::QuotaDefinition& definition,
                                    const definitions::Edit& edit) override;
    [[nodiscard]] definitions::TogetherReport put_together(
        std::span<const definitions::WantedDefinition> wanted,
        const definitions::Edit& edit) override;
    [[nodiscard]] ChangeOutcome hide(std::string_view name, const definitions::Edit& edit) override;
    [[nodiscard]] ChangeOutcome remove(std::string_view name,
                                       const definitions::Edit& edit) override;

  private:
    void apply(const definitions::Edit& edit);

    engine::Engine* engine_;
    limiter::Limiter* limiter_;
    std::function<Instant()> clock_;
};

}  // namespace weir::admin
