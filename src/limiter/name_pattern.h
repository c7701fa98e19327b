#pragma once
// A quota name as a pattern: segments between slashes, each a literal or a literal prefix, one
// capture and a literal suffix. A capture matches any non-empty text without '/'. At the end of a
// name may stand a catch-all such as "{rest**}", which matches any non-empty text, slashes
// included. Immutable after parse(); thread-safe. It owns its text.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weir::limiter {

struct NameSegment {
    std::string prefix;  // the whole text of a literal
    std::string capture;
    std::string suffix;
    bool literal = true;
    bool catch_all = false;  // the last segment; it stands for one segment or more

    /// The text that the capture matches; for a literal that matches, an empty text. Nothing if the
    /// segment does not match.
    [[nodiscard]] std::optional<std::string_view> match(std::string_view text) const;
    [[nodiscard]] std::size_t literal_bytes() const { return prefix.size() + suffix.size(); }
};

using NamedCaptures = std::vector<std::pair<std::string_view, std::string_view>>;  // name, value

class NamePattern {
  public:
    /// Parses a name. Errors are messages for people ("capture without a name").
    [[nodiscard]] static Result<NamePattern> parse(std::string_view text);

    [[nodiscard]] const std::vector<NameSegment>& segments() const { return segments_; }
    [[nodiscard]] bool has_captures() const;
    [[nodiscard]] bool has_catch_all() const { return segments_.back().catch_all; }
    [[nodiscard]] std::vector<std::string_view> capture_names() const;
    /// The captures if the name matches, else nothing. They point into this pattern and into
    /// `name`.
    [[nodiscard]] std::optional<NamedCaptures> match(std::string_view name) const;
    /// The name with the captures filled in; `captures` must hold every capture of this pattern.
    [[nodiscard]] std::string expand(const NamedCaptures& captures) const;

  private:
    std::vector<NameSegment> segments_;
};

/// Moves the text before the first '/' of `rest` to `segment` and leaves the text behind that '/'
/// in `rest`. False if there was no '/'; then `segment` has the whole text and `rest` is empty.
inline bool next_segment(std::string_view& rest, std::string_view& segment) {
    const std::size_t slash = rest.find('/');
    segment = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    return slash != std::string_view::npos;
}

}  // namespace weir::limiter
