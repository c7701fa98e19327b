#pragma once
// A limiter's charge in the form in which programs keep it: packed into a weir_charge, with a tag
// that tells whose charge it is.
//
// Thread-safety and ownership: pure functions and plain values.
// Invariant: a charge that is all 0 says that nothing was charged, and belongs to every fleet.

#include <cstdint>

#include "limiter/decision.h"
#include "weir/weir.h"

namespace weir::embed {

[[nodiscard]] weir_charge seal(const limiter::Charge& charge, std::uint64_t tag);
/// False if the charge has another tag.
[[nodiscard]] bool unseal(const weir_charge& sealed, std::uint64_t tag, limiter::Charge& charge);

}  // namespace weir::embed
