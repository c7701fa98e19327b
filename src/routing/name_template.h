#pragma once
// A quota's name with captures, "api/{tenant}/read", compiled once. Immutable, thread-safe.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "routing/pattern.h"

namespace weir::routing {

class NameTemplate {
  public:
    /// Captures must be among `names`.
    [[nodiscard]] static std::variant<NameTemplate, PatternError> compile(
        std::string_view text, const CaptureNames& names);

    /// Writes the name, at most max_size() bytes, and returns its end; nothing if one of its
    /// captures is empty. `safe` as append_safe() makes them.
    [[nodiscard]] char* write(char* out, const Captures& safe) const;
    [[nodiscard]] std::size_t max_size() const;

    /// Indexes of the captures in use.
    [[nodiscard]] std::vector<std::size_t> captures() const;

  private:
    struct Piece {
        std::string literal;
        std::optional<std::size_t> capture;  // behind the literal
    };
    std::vector<Piece> pieces_;
};

}  // namespace weir::routing
