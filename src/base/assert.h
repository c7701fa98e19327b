#pragma once
// Assertions of invariants, on in every build. A broken invariant ends the process, because going
// on with a wrong state would be worse than a restart. Input from outside is never asserted; a
// function that reads it refuses it with an Error. Thread-safe. They keep nothing.

namespace weir {
/// Writes the expression and its place to standard error and aborts the process.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}  // namespace weir

// A macro, because only a macro knows the expression's text, file and line.
#define WEIR_ASSERT(expression)                           \
    (static_cast<bool>(expression) ? static_cast<void>(0) \
                                   : ::weir::assertion_failed(#expression, __FILE__, __LINE__))
