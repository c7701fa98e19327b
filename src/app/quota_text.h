#pragma once
// Describes a quota in one line or in a cell of a table. Internal to app; pure.

#include <string>

#include "app/remote_session.h"
#include "limiter/definition.h"

namespace weir::app {

/// The limits: "100r/s low=50r; 10MiB/s of request-bytes"; "none" if there are none.
[[nodiscard]] std::string limits_text(const limiter::QuotaDefinition& definition);
/// The mode: "shadow", or "enforce 25% by header:x-client".
[[nodiscard]] std::string mode_text(const limiter::QuotaDefinition& definition);
/// All other options that are set, in the words of documents: "when_isolated optimistic, headers
/// hidden"; may be empty.
[[nodiscard]] std::string options_text(const limiter::QuotaDefinition& definition);
/// The whole definition, as `weir quota set` shows it before and after a change.
[[nodiscard]] std::string definition_text(const limiter::QuotaDefinition& definition);

/// A duration in its two largest units, rounded up: "6s", "1m 30s", "1d 23h".
[[nodiscard]] std::string time_left(double seconds);
/// How long the change in a row of an answer still holds; empty if it does not end.
[[nodiscard]] std::string expires_text(const Json& row);

}  // namespace weir::app
