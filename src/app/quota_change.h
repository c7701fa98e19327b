#pragma once
// Quotas between the admin API and the command line: targets, definitions of answers, differences
// and histories as text. Internal to app; pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/remote.h"
#include "app/remote_session.h"
#include "limiter/definition.h"

namespace weir::app {

/// /v1/quotas/<name>
[[nodiscard]] std::string target_of(const std::string& name);
/// With who, why and expiry as parameters.
[[nodiscard]] std::string with_note(std::string target, const ChangeNote& note);
/// The definition of an answer's row.
[[nodiscard]] std::optional<limiter::QuotaDefinition> definition_of(const Json& row);

/// Field by field, in the words of documents: "~ limits[0].rate: 100r/s -> 200r/s", "+ mode:
/// shadow", "- parent: s3". Nothing on a side: there is no such quota. Empty if both are equal.
[[nodiscard]] std::vector<std::string> differences(
    const std::optional<limiter::QuotaDefinition>& before,
    const std::optional<limiter::QuotaDefinition>& after);

/// What `weir quota get --history` adds: one line per change with what it changed; `unix_now` in
/// seconds, for the dates.
[[nodiscard]] std::string history_text(const Json& report, std::int64_t unix_now);

/// Of GET /v1/config: why sets' files are not what is in force.
[[nodiscard]] std::vector<std::string> set_problems(const Json& config);

}  // namespace weir::app
