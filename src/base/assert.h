#pragma once
// A broken invariant ends the process: going on with a wrong state would be worse than a restart.
// Input from outside is never asserted on; it is refused with an Error.

namespace weir {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

// A macro for the sake of the expression's text and place.
#define WEIR_ASSERT(expression)                           \
    (static_cast<bool>(expression) ? static_cast<void>(0) \
                                   : ::weir::assertion_failed(#expression, __FILE__, __LINE__))
