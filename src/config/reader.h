#pragma once
// Functions that turn nodes of a document into values. When a node is no such value, the function
// reports the error and returns nothing. For the readers of config, and for those of other texts
// that are written in the same way.
//
// Thread-safety: none; each reading has diagnostics of its own. A MapReader borrows the node that
// it reads and the diagnostics, which must outlive it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "config/diagnostics.h"
#include "config/document.h"

namespace weir::config {

/// The text of a scalar; a map, a list or null is an error.
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
/// The index in `words` of the node's word. Any other word is an error, which lists `words`.
[[nodiscard]] std::optional<std::size_t> read_word(NodeRef node,
                                                   const std::vector<std::string_view>& words,
                                                   Diagnostics& diagnostics);

/// The value of a scalar, read by one of the functions of values.h.
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

/// What to say of a key that does not exist here and that people look for: a sentence.
struct KeyHint {
    std::string_view key;
    std::string_view advice;
};

/// Reads a map strictly: a member that nobody took before finish() is unknown, which is an error
/// with a suggestion.
class MapReader {
  public:
    /// If the node is not a map, reports that error and goes on as with an empty map.
    MapReader(NodeRef map, Diagnostics& diagnostics);

    [[nodiscard]] bool is_map() const { return is_map_; }
    /// The value of the member, or nothing if there is none. The key is known from then on.
    [[nodiscard]] std::optional<NodeRef> take(std::string_view key);
    /// The same, but a missing member is an error.
    [[nodiscard]] std::optional<NodeRef> require(std::string_view key);
    /// If the map has this key, which is planned but no part of this version, reports that.
    bool refuse_later(std::string_view key);
    /// A key that is, or is nearest to, the key of a hint gets that in place of the nearest name.
    void finish(std::span<const KeyHint> hints = {});

  private:
    NodeRef map_;
    Diagnostics& diagnostics_;
    std::vector<NodeRef> members_;
    std::vector<std::string_view> known_;
    std::vector<std::string_view> later_;  ///< keys of later versions: known, but never suggested
    bool is_map_ = false;
};

/// The elements of a list. A node that is no list is an error.
[[nodiscard]] std::vector<NodeRef> read_list(NodeRef node, Diagnostics& diagnostics);

/// The node at a path such as "limits[0].low" below `from`, or the deepest node on the way to it
/// that exists.
[[nodiscard]] NodeRef find_field(NodeRef from, std::string_view path);

/// "a list", "a map", "text" and so on, for messages.
[[nodiscard]] std::string_view describe(NodeKind kind);

}  // namespace weir::config
