#include "node/version.h"

// Written by the build (cmake/revision.cmake). Only this file includes it, so that a new commit
// compiles nothing else anew.
#include "weir_revision.h"

namespace weir::node {

std::string_view revision() { return WEIR_REVISION; }
std::string_view build() { return WEIR_BUILD; }

}  // namespace weir::node
