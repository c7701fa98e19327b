#pragma once
// Reads a long set of quotas from JSON one quota at a time, into its encoded form, and its text in
// pieces. A million quotas as a tree of values, and then as definitions, take more than ten times
// the memory of the encoded set. Only what has no errors is read in this way: who gets nothing
// reads the text as a whole (quota_document.h), which finds all errors with their places.
//
// Not for a thread for which requests wait. Any other thread may call it. What it returns belongs
// to the caller; the source is read only during the call.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/quota_document.h"

namespace weir::config {

/// A text that is read once, from its beginning to its end.
struct LongSource {
    std::string file;       ///< for messages; what is to be parsed as JSON ends with ".json"
    std::size_t bytes = 0;  ///< of the text, at most
    /// Fills the front of the buffer with the next bytes, and returns how many. 0: the text is
    /// over.
    std::function<std::size_t(std::span<char> buffer)> read;
};

/// A source for a text that is in memory, and has to stay there.
[[nodiscard]] LongSource long_source(const SourceText& text);

/// The one set that these texts are parts of, encoded, as parse_quota_sets() and encode_document()
/// make it; nothing if they are not all JSON, or of several sets, or have any error.
[[nodiscard]] std::optional<QuotaSet> read_long_set(const std::vector<LongSource>& sources);

}  // namespace weir::config
