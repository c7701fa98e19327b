#pragma once
// The edit that `weir quota set` makes: which fields of a definition change, and to which values.
// There is a flag for each field of definitions/fields.h that has a flag_help. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "limiter/definition.h"

namespace weir::app {

/// The texts of the flags. A field that is not given stays as it is. "default" removes a burst, a
/// safe capacity or a time zone, "none" a parent, all windows or the limit of requests in flight.
class QuotaEdit {
  public:
    /// The text of a field by its key, to which a parser of flags may write; the reference stays
    /// valid.
    [[nodiscard]] std::optional<std::string>& operator[](std::string_view key);
    /// The text that is given for the field, or null.
    [[nodiscard]] const std::string* find(std::string_view key) const;
    [[nodiscard]] bool empty() const;

  private:
    std::map<std::string, std::optional<std::string>, std::less<>> values_;
};

/// The flag of a field, without the hyphens before it: "when-isolated" for "when_isolated".
[[nodiscard]] std::string flag_of(std::string_view key);

/// The definition after the edit. A rate or a window is found by its unit and, among several, by
/// its period; of requests in flight a quota has one limit. A limit that does not exist yet is
/// added when `rate`, `window` or `concurrency` is given. Errors name the wrong flag.
[[nodiscard]] Result<limiter::QuotaDefinition> apply_edit(limiter::QuotaDefinition definition,
                                                          const QuotaEdit& edit);

}  // namespace weir::app
