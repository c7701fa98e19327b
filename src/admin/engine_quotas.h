#pragma once
// The real QuotaDirectory: the engine's definition store with what engine and limiter know of the
// live quotas. Control thread only; engine and limiter must outlive it.

#include <functional>

#include "admin/sources.h"
#include "base/instant.h"

namespace weir::limiter {
class Limiter;
}

namespace weir::admin {

class EngineQuotas : public QuotaDirectory {
  public:
    /// `clock` is net::now but in tests; `changed` is called after every accepted change, so that
    /// it can be given to the limiter at once (the engine would do it at its next tick); it may be
    /// empty.
    EngineQuotas(engine::Engine& engine, limiter::Limiter& limiter, std::function<Instant()> clock,
                 std::function<void()> changed);

    [[nodiscard]] std::vector<QuotaRow> page(std::string_view prefix, std::string_view after,
                                             std::size_t count) const override;
    [[nodiscard]] std::optional<QuotaRow> find(std::string_view name) const override;
    [[nodiscard]] QuotaReport report(std::string_view name) const override;
    [[nodiscard]] ChangeOutcome put(const limiter::QuotaDefinition& definition,
                                    const engine::Edit& edit) override;
    [[nodiscard]] ChangeOutcome hide(std::string_view name, const engine::Edit& edit) override;
    [[nodiscard]] ChangeOutcome remove(std::string_view name, const engine::Edit& edit) override;

  private:
    [[nodiscard]] ChangeOutcome outcome(Result<crdt::Version> result) const;

    engine::Engine* engine_;
    limiter::Limiter* limiter_;
    std::function<Instant()> clock_;
    std::function<void()> changed_;
};

}  // namespace weir::admin
