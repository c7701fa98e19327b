#pragma once
// Expected failures are values: Result<T> is a T or an Error (boost::system::result).

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace weir {

enum class ErrorCode {
    invalid_argument,
    not_found,
    conflict,
    too_large,
    truncated,
    unauthenticated,
    unsupported,
    exhausted,
    io,
};

/// What went wrong, for a program (code) and for a person (message: place, reason, suggestion).
struct Error {
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;
};

/// Lets Result<T>::value() throw at start-up, the only time that exceptions are allowed.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
    throw std::runtime_error(error.message);
}

template <class T>
using Result = boost::system::result<T, Error>;

[[nodiscard]] inline Error error(ErrorCode code, std::string message) {
    return Error{code, std::move(message)};
}

}  // namespace weir
