#pragma once
// Whether a test runs under a sanitizer, which makes code ten to fifty times slower. A test that
// takes long then repeats less; what it checks stays the same.

#include <concepts>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_SANITIZED
#endif
#endif

namespace weir {

#ifdef WEIR_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How often a test repeats something, or how many of a thing it makes: under a sanitizer an
/// eighth, and at least one. The sanitizer judges each step; what the size itself shows is judged
/// without it. An eighth, because tables that double are then as full as with the whole number.
template <std::integral Count>
[[nodiscard]] constexpr Count eighth_if_sanitized(Count count) {
    return kSanitized ? (count + 7) / 8 : count;
}

}  // namespace weir
