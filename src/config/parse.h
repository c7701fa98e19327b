#pragma once
// Turns YAML or JSON text into document trees. The size of the text, its depth, its number of
// values, and the number of values that aliases copy are bounded. Duplicate keys, control
// characters, tags, and keys that are not text are errors. The function is pure. Large sets take
// long, so threads that serve requests must not parse.

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/document.h"

namespace weir::config {

/// A text may have so many values, and one more for every kBytesOfNode of its bytes. A value of a
/// real document takes more bytes, and time and memory go by values: reading nothing but "1,1,1"
/// would take several times as long as reading a real document of the same size.
inline constexpr std::size_t kFewNodes = 10'000;
inline constexpr std::size_t kBytesOfNode = 4;

struct ParseLimits {
    std::size_t json_bytes = 256U * 1024 * 1024;
    std::size_t yaml_bytes = 16U * 1024 * 1024;  ///< its parser is the slower one
    std::size_t depth = 32;
    std::size_t nodes = 32'000'000;     ///< at most; of a short text see kFewNodes
    std::size_t alias_nodes = 100'000;  ///< values that all aliases together may copy
    std::size_t scalar_bytes = 64U * 1024;
};

/// The text of the error about more values than `most`.
[[nodiscard]] std::string too_many_nodes(std::size_t most);

/// How many values a text of so many bytes may have.
[[nodiscard]] std::size_t values_allowed(std::size_t bytes, const ParseLimits& limits);

/// Whether the text of this file would be parsed as JSON. The text's first bytes are enough, if it
/// does not begin with very many blanks.
[[nodiscard]] bool is_json(std::string_view text, const std::string& file);

/// Whether a text of which this is a part has a byte here that no text may have. What may be the
/// first bytes of a character at its end is not looked at; it is left in `part`, to be put before
/// the next part.
[[nodiscard]] bool has_bad_byte(std::string_view& part);

/// The documents of a text: YAML may have several ("---" stands between them), JSON has one. The
/// text of a `.json` file is parsed as JSON, and so is other text that looks like JSON. All errors
/// go to `diagnostics`. A document with a syntax error is left out; one with a duplicate key is
/// not.
[[nodiscard]] std::vector<Document> parse_documents(std::string_view text, const std::string& file,
                                                    const ParseLimits& limits,
                                                    Diagnostics& diagnostics);

}  // namespace weir::config
