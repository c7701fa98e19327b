// Replaces src/base/next_version.cpp in weir_next, the stand-in for the next version.
#include "base/next_version.h"

namespace weir {

bool is_next_version() { return true; }

}  // namespace weir
