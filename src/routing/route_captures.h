#pragma once
// The captures of one route while it is compiled: those of its path and hosts, those of the values
// of fields in match.headers, and the sources that names of quotas use. Not thread-safe. It owns
// copies of the names.

#include <string_view>
#include <variant>
#include <vector>

#include "routing/capture_source.h"
#include "routing/pattern.h"

namespace weir::routing {

/// A source and the index of its capture.
struct NumberedSource {
    std::size_t capture = 0;
    CaptureSource source;
};

class RouteCaptures {
  public:
    /// The captures of path and hosts, to which others are added.
    CaptureNames names;

    /// The index of the capture with this text between its braces, which is one that exists or a
    /// source. `column` is that of the brace.
    [[nodiscard]] std::variant<std::size_t, PatternError> find(std::string_view text,
                                                               std::size_t column);
    /// Adds the captures of a field's value, such as "Bearer {token}". The result is the place in
    /// sources() of the capture; nothing if the value captures nothing and is compared as it is.
    [[nodiscard]] std::variant<std::optional<std::size_t>, PatternError> add_field(
        std::string_view field, std::string_view value);

    [[nodiscard]] const std::vector<NumberedSource>& sources() const { return sources_; }

  private:
    [[nodiscard]] std::variant<std::size_t, PatternError> add(std::string_view name,
                                                              std::size_t column,
                                                              CaptureSource source);
    [[nodiscard]] PatternError unknown(std::string_view text, std::size_t column) const;

    std::vector<NumberedSource> sources_;
};

}  // namespace weir::routing
