#pragma once
// `weir quota set`: which fields of a definition change, and to what. Pure.

#include <optional>
#include <string>

#include "base/result.h"
#include "limiter/definition.h"

namespace weir::app {

/// The flags as given; nothing means: stays as it is. "default" takes a burst away.
struct QuotaEdit {
    std::optional<std::string> rate;
    std::optional<std::string> of;
    std::optional<std::string> low;
    std::optional<std::string> high;
    std::optional<std::string> debt;
    std::optional<std::string> law;
    std::optional<std::string> scope;
    std::optional<std::string> safe;    ///< a rate; "default" takes it away
    std::optional<std::string> parent;  ///< "none" takes the parent away
    std::optional<std::string> mode;
    std::optional<std::string> enforce;     ///< "25%"
    std::optional<std::string> enforce_by;  ///< "quota" or "header:<name>"
    std::optional<std::string> when_isolated;
    std::optional<std::string> headers;
    std::optional<std::string> max_instances;

    [[nodiscard]] bool empty() const;
};

/// The definition with the edit in it. A limit is found by its unit, among several by its period;
/// one that does not exist yet is added when `rate` is given. Errors say which flag is wrong.
[[nodiscard]] Result<limiter::QuotaDefinition> apply_edit(limiter::QuotaDefinition definition,
                                                          const QuotaEdit& edit);

}  // namespace weir::app
