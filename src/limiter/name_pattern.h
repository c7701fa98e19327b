#pragma once
// A quota name as a pattern: segments between slashes, each a literal or a literal prefix, one
// capture and a literal suffix. A capture matches any non-empty text without '/'.
// Immutable after parse(); thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weir::limiter {

struct Segment {
    std::string prefix;  // the whole text of a literal
    std::string capture;
    std::string suffix;
    bool literal = true;

    /// The captured text, or nothing; an empty view for a literal that matches.
    [[nodiscard]] std::optional<std::string_view> match(std::string_view text) const;
    [[nodiscard]] std::size_t literal_bytes() const { return prefix.size() + suffix.size(); }
};

using Captures = std::vector<std::pair<std::string_view, std::string_view>>;  // name, value

class NamePattern {
  public:
    /// Errors are messages for a person ("capture without a name").
    [[nodiscard]] static Result<NamePattern> parse(std::string_view text);

    [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
    [[nodiscard]] bool has_captures() const;
    [[nodiscard]] std::vector<std::string_view> capture_names() const;
    /// Views into this pattern and into `name`.
    [[nodiscard]] std::optional<Captures> match(std::string_view name) const;
    /// The name with the captures filled in; every capture must be among them.
    [[nodiscard]] std::string expand(const Captures& captures) const;

  private:
    std::vector<Segment> segments_;
};

/// Splits off what comes before the first '/'; true if there was one (rest = what follows).
inline bool next_segment(std::string_view& rest, std::string_view& segment) {
    const std::size_t slash = rest.find('/');
    segment = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    return slash != std::string_view::npos;
}

}  // namespace weir::limiter
