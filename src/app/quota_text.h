#pragma once
// What a quota is, in one line or in a cell of a table. Internal to app; pure.

#include <string>

#include "app/remote_session.h"
#include "limiter/definition.h"

namespace weir::app {

/// "100r/s low=50r; 10MiB/s of request-bytes", "none" without any.
[[nodiscard]] std::string limits_text(const limiter::QuotaDefinition& definition);
/// "shadow", or "enforce 25% by header:x-client".
[[nodiscard]] std::string mode_text(const limiter::QuotaDefinition& definition);
/// What else is set, in the words of documents: "when_isolated optimistic, headers hidden"; may be
/// empty.
[[nodiscard]] std::string options_text(const limiter::QuotaDefinition& definition);
/// All of it: what `set` shows before and after.
[[nodiscard]] std::string definition_text(const limiter::QuotaDefinition& definition);

/// "6s", "1m 30s", "1d 23h": the two largest units, rounded up.
[[nodiscard]] std::string time_left(double seconds);
/// Of an answer's row: how long its change holds; empty: for good.
[[nodiscard]] std::string expires_text(const Json& row);

}  // namespace weir::app
