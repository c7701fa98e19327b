#include "membership/member.h"

#include <array>

#include "base/assert.h"

namespace weir::membership {

std::string_view to_string(MemberState state) {
    constexpr std::array<std::string_view, kMemberStates> names{"alive", "suspect", "dead", "left",
                                                                "replaced"};
    WEIR_ASSERT(static_cast<std::size_t>(state) < names.size());
    return names[static_cast<std::size_t>(state)];
}

}  // namespace weir::membership
