// Wakes the planted bug that WEIR_PLANTED names, before the first input; none without it.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/planted.h"

namespace {

using weir::Planted;

constexpr std::array<std::pair<std::string_view, Planted>, 11> kBugs{{
    {"clear_header", Planted::clear_header},
    {"safe_index", Planted::safe_index},
    {"entry_age", Planted::entry_age},
    {"request_version", Planted::request_version},
    {"head_cut", Planted::head_cut},
    {"name_blank", Planted::name_blank},
    {"chunk_trailer", Planted::chunk_trailer},
    {"yaml_alias", Planted::yaml_alias},
    {"other_name", Planted::other_name},
    {"frame_replay", Planted::frame_replay},
    {"snapshot_sum", Planted::snapshot_sum},
}};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    const char* const wanted = std::getenv("WEIR_PLANTED");
    if (wanted == nullptr) {
        return 0;
    }
    for (const auto& [name, bug] : kBugs) {
        if (name == wanted) {
            weir::planted_bug = bug;
            return 0;
        }
    }
    std::fprintf(stderr, "WEIR_PLANTED=%s: there is no such bug\n", wanted);
    std::exit(2);
}
