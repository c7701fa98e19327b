#pragma once
// Helpers that turn located nodes into values: each returns nothing after having reported what is
// wrong. Not thread-safe; live as long as one reading. Internal to config.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "config/diagnostics.h"
#include "config/document.h"

namespace weir::config {

/// Any scalar's text; maps, lists and null are errors.
[[nodiscard]] std::optional<std::string_view> read_text(NodeRef node, Diagnostics& diagnostics);
[[nodiscard]] std::optional<bool> read_boolean(NodeRef node, Diagnostics& diagnostics);
[[nodiscard]] std::optional<std::uint64_t> read_unsigned(NodeRef node, std::uint64_t least,
                                                         std::uint64_t most,
                                                         Diagnostics& diagnostics);
[[nodiscard]] std::optional<double> read_number(NodeRef node, double least, double most,
                                                Diagnostics& diagnostics);
[[nodiscard]] std::optional<Duration> read_duration(NodeRef node, Duration least, Duration most,
                                                    Diagnostics& diagnostics);
[[nodiscard]] std::optional<std::uint64_t> read_size(NodeRef node, std::uint64_t least,
                                                     std::uint64_t most, Diagnostics& diagnostics);
/// One of the words; else an error that lists them. Gives the word's position.
[[nodiscard]] std::optional<std::size_t> read_word(NodeRef node,
                                                   const std::vector<std::string_view>& words,
                                                   Diagnostics& diagnostics);

/// A scalar through one of the grammars of values.h.
template <class T>
[[nodiscard]] std::optional<T> read_parsed(NodeRef node, Result<T> (*parse)(std::string_view),
                                           Diagnostics& diagnostics) {
    const auto text = read_text(node, diagnostics);
    if (!text) {
        return std::nullopt;
    }
    auto value = parse(*text);
    if (!value) {
        diagnostics.error(node, value.error().message);
        return std::nullopt;
    }
    return std::move(*value);
}

/// Reads a map strictly: what was not taken at the end is unknown, an error with a suggestion.
class MapReader {
  public:
    /// A node that is not a map is an error here, and empty from then on.
    MapReader(NodeRef map, Diagnostics& diagnostics);

    [[nodiscard]] bool is_map() const { return is_map_; }
    /// The member's value if it is there. Its key counts as known either way.
    [[nodiscard]] std::optional<NodeRef> take(std::string_view key);
    /// The same, an error when it is missing.
    [[nodiscard]] std::optional<NodeRef> require(std::string_view key);
    /// Known to the design, but no part of this version: an error that says so, if it is there.
    bool refuse_later(std::string_view key);
    void finish();

  private:
    NodeRef map_;
    Diagnostics& diagnostics_;
    std::vector<NodeRef> members_;
    std::vector<std::string_view> known_;
    std::vector<std::string_view> later_;  ///< known, but never suggested
    bool is_map_ = false;
};

/// The elements of a list; anything else is an error.
[[nodiscard]] std::vector<NodeRef> read_list(NodeRef node, Diagnostics& diagnostics);

/// The node behind "limits[0].low" below `from`, or the deepest one on the way that exists.
[[nodiscard]] NodeRef find_field(NodeRef from, std::string_view path);

/// "a list", "a map", "text" …: for messages.
[[nodiscard]] std::string_view describe(NodeKind kind);

}  // namespace weir::config
