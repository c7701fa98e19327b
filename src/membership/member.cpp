#include "membership/member.h"

#include <array>

namespace weir::membership {

std::string_view to_string(MemberState state) {
    constexpr std::array<std::string_view, kMemberStates> names{"alive", "suspect", "dead", "left",
                                                                "replaced"};
    return names[static_cast<std::size_t>(state)];
}

}  // namespace weir::membership
