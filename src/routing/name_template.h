#pragma once
// The name of a route's quota with its captures, such as "api/{tenant}/read", compiled once.
// Immutable, thread-safe. It owns its text.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "routing/pattern.h"
#include "routing/route_captures.h"

namespace weir::routing {

class NameTemplate {
  public:
    /// Compiles the text. Every capture must be one of `captures`, or a source, which is added.
    [[nodiscard]] static std::variant<NameTemplate, PatternError> compile(std::string_view text,
                                                                          RouteCaptures& captures);

    /// Writes the name to `out`, at most max_size() bytes, and returns where it ends; nullptr if
    /// one of the name's captures is empty. `safe` holds the captures as append_safe() writes them.
    [[nodiscard]] char* write(char* out, const Captures& safe) const;
    [[nodiscard]] std::size_t max_size() const;

    /// Indexes of the captures that the name uses.
    [[nodiscard]] std::vector<std::size_t> captures() const;

  private:
    struct Piece {
        std::string literal;
        std::optional<std::size_t> capture;  // follows the literal
    };
    std::vector<Piece> pieces_;
};

}  // namespace weir::routing
