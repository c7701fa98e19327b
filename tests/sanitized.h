#pragma once
// Whether a test runs under a sanitizer, which makes code ten to fifty times slower. A test that
// takes long then repeats less; what it checks stays the same.

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

}  // namespace weir
