#pragma once
// Comma-separated lists of RFC 9110, 5.6.1. Pure functions, thread-safe.

#include <string_view>

#include "base/characters.h"

namespace weir::http {

/// Calls visit(element) for each element of a comma-separated list, without the blanks around it.
/// Empty elements are skipped (RFC 9110, 5.6.1.2).
template <class Visit>
constexpr void for_each_element(std::string_view list, Visit visit) {
    while (!list.empty()) {
        const auto comma = list.find(',');
        const auto element = trim(list.substr(0, comma));
        if (!element.empty()) {
            visit(element);
        }
        if (comma == std::string_view::npos) {
            return;
        }
        list.remove_prefix(comma + 1);
    }
}

}  // namespace weir::http
