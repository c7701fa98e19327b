#pragma once
// The lists of quota names of a route, and those of one request. Of each list the first quota that
// exists applies to the request; all that apply decide about it together.
//
// Thread-safety: that of any value. A NameLists owns nothing: its names are valid as long as the
// result of which they are a part.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "routing/route_settings.h"

namespace weir::routing {

inline constexpr std::size_t kMaxNameLists = 4;    ///< of one request
inline constexpr std::size_t kMaxQuotaNames = 16;  ///< of one request, in all of its lists

/// The names of one request, in lists.
struct NameLists {
    std::span<const std::string_view> names;  ///< of all lists, one list after the other
    std::span<const std::uint8_t> ends;       ///< where in them each list ends

    [[nodiscard]] std::size_t size() const { return ends.size(); }
    [[nodiscard]] std::span<const std::string_view> operator[](std::size_t list) const {
        const std::size_t begin = list == 0 ? 0 : ends[list - 1];
        return names.subspan(begin, ends[list] - begin);
    }
};

/// The lists of a route as its settings have them; those of the preset if they name no quota.
[[nodiscard]] std::vector<std::vector<std::string>> name_lists(const RouteSettings& route);

}  // namespace weir::routing
