#pragma once
// What the commands about quotas need to talk to the admin API: targets of requests, definitions in
// answers, and differences and histories as text. Internal to app; pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/remote.h"
#include "app/remote_session.h"
#include "limiter/definition.h"

namespace weir::app {

/// The target /v1/quotas/<name>.
[[nodiscard]] std::string target_of(const std::string& name);
/// The target with who, why and expiry as parameters.
[[nodiscard]] std::string with_note(std::string target, const ChangeNote& note);
/// The definition in a row of an answer.
[[nodiscard]] std::optional<limiter::QuotaDefinition> definition_of(const Json& row);

/// The differences of two definitions, field by field in the words of documents: "~ limits[0].rate:
/// 100r/s -> 200r/s", "+ mode: shadow", "- parent: s3". If one side is nothing, there is no such
/// quota. Empty if both are equal.
[[nodiscard]] std::vector<std::string> differences(
    const std::optional<limiter::QuotaDefinition>& before,
    const std::optional<limiter::QuotaDefinition>& after);

/// The lines that `weir quota get --history` adds: one for each change, with its differences.
/// `unix_now` is in seconds, for the dates.
[[nodiscard]] std::string history_text(const Json& report, std::int64_t unix_now);

/// From an answer to GET /v1/config: the reasons why files of sets are not in force.
[[nodiscard]] std::vector<std::string> set_problems(const Json& config);

}  // namespace weir::app
