#pragma once
// YAML or JSON text to document trees, bounded: size, depth, number of values, what aliases may
// unfold to. Duplicate keys, control characters and what the readers could never use (tags, keys
// that are not text) are errors here. Pure; parse off the data threads, large sets take a while.

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/document.h"

namespace weir::config {

struct ParseLimits {
    std::size_t json_bytes = 256U * 1024 * 1024;
    std::size_t yaml_bytes = 16U * 1024 * 1024;  ///< its parser is the slower one
    std::size_t depth = 32;
    std::size_t nodes = 32'000'000;
    std::size_t alias_nodes = 100'000;  ///< values copied for aliases, all together
    std::size_t scalar_bytes = 64U * 1024;
};

/// The documents of a text: several in YAML ("---" between them), one in JSON. A `.json` file is
/// JSON; other text is, too, when it looks like it. Whatever is wrong goes to `diagnostics`; a
/// document with a syntax error is left out, one with a duplicate key is not.
[[nodiscard]] std::vector<Document> parse_documents(std::string_view text, const std::string& file,
                                                    const ParseLimits& limits,
                                                    Diagnostics& diagnostics);

}  // namespace weir::config
