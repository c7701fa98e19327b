#pragma once
// The boundary between C++ and C: it turns results and exceptions into codes and messages, so that
// no exception reaches the embedding program. Stateless.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "base/result.h"
#include "weir/weir.h"

namespace weir::embed {

[[nodiscard]] inline weir_code to_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::not_found:
            return WEIR_NOT_FOUND;
        case ErrorCode::conflict:
            return WEIR_CONFLICT;
        case ErrorCode::exhausted:
            return WEIR_EXHAUSTED;
        case ErrorCode::io:
            return WEIR_IO;
        default:
            return WEIR_INVALID;
    }
}

/// Writes code and message to the caller's struct, as far as its size allows, and returns the code.
inline std::int32_t tell(weir_error* error, weir_code code, std::string_view message) noexcept {
    constexpr std::size_t kText = offsetof(weir_error, message);
    if (error == nullptr || error->size <= kText) {
        return code;
    }
    error->code = code;
    const std::size_t room = std::min<std::size_t>(error->size, sizeof(weir_error)) - kText - 1;
    const std::size_t length = std::min(message.size(), room);
    /// Unlike memcpy it allows the null data() of an empty text.
    std::copy_n(message.data(), length, error->message);
    error->message[length] = '\0';
    constexpr std::string_view kCut = "...";
    if (length < message.size() && length >= kCut.size()) {
        std::memcpy(error->message + length - kCut.size(), kCut.data(), kCut.size());
    }
    return code;
}

inline std::int32_t tell(weir_error* error, const Error& failure) noexcept {
    return tell(error, to_code(failure.code), failure.message);
}

inline std::int32_t succeed(weir_error* error) noexcept { return tell(error, WEIR_OK, {}); }

inline std::int32_t tell(weir_error* error, const Result<void>& result) noexcept {
    return result ? succeed(error) : tell(error, result.error());
}

/// Runs `function`, which returns a code. An exception that it throws becomes a code, too.
template <class Function>
std::int32_t guarded(weir_error* error, Function function) noexcept {
    try {
        return function();
    } catch (const std::bad_alloc&) {
        return tell(error, WEIR_EXHAUSTED, "out of memory");
    } catch (const std::exception& failure) {
        return tell(error, WEIR_INTERNAL, failure.what());
    } catch (...) {
        return tell(error, WEIR_INTERNAL, "an unknown exception");
    }
}

}  // namespace weir::embed
