#include "base/next_version.h"

namespace weir {

bool is_next_version() { return false; }

}  // namespace weir
