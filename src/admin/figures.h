#pragma once
// Turns what engine and limiter count into the plain figures that /metrics and the admin API show.
// For the control thread, because it reads engine and limiter. The figures are copies, which hold
// no reference to either.

#include "admin/sources.h"
#include "base/instant.h"
#include "engine/statistics.h"
#include "limiter/limiter.h"

namespace weir::admin {

[[nodiscard]] QuotaFigures to_figures(const limiter::DefinitionStatistics& statistics);
[[nodiscard]] LimiterFigures to_figures(const limiter::Limiter& limiter, Instant now);
/// Leaves driver_events empty, which the engine does not know.
[[nodiscard]] ClusterFigures to_figures(engine::Engine& engine);
[[nodiscard]] ClusterFigures to_figures(const engine::EngineStatistics& statistics);
[[nodiscard]] QuotaSetFigures to_figures(const definitions::SetStatus& set);

/// The id of a gossip key as 8 hexadecimal digits.
[[nodiscard]] std::string key_text(std::uint32_t id);
/// The hash as 16 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);
/// The role of a member as the setting `role` says it: "anchor" or "sidecar".
[[nodiscard]] std::string_view role_word(bool anchor);

}  // namespace weir::admin
