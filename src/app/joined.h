#pragma once
// Several texts as one. A pure function.

#include <string>
#include <string_view>

namespace weir::app {

/// The parts in their order, with `between` between them.
template <class Parts>
[[nodiscard]] std::string joined(const Parts& parts, std::string_view between) {
    std::string text;
    for (const auto& part : parts) {
        text += text.empty() ? std::string() : std::string(between);
        text += part;
    }
    return text;
}

}  // namespace weir::app
