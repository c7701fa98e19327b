#pragma once
// Expected failures are values: a Result<T> (boost::system::result) holds a T or an Error. Plain
// values, thread-safe like any value.

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace weir {

/// What kind of failure an Error is. The C interface and the admin API turn it into their own
/// codes.
enum class ErrorCode {
    invalid_argument,  ///< a text, setting, definition or argument breaks a rule
    not_found,         ///< there is no quota, file, address or host of that name
    conflict,   ///< it contradicts what is there: an outdated change, a port in use, a foreign file
    too_large,  ///< a file, document or message is longer than its bound
    truncated,  ///< bytes end too early or cannot be decoded
    exhausted,  ///< a bound is reached: no room for another worker or override
    io,         ///< the system refused an operation on a file or a socket
};

/// What went wrong: a code for programs, and a message for people with place, reason and, where
/// there is one, a suggestion.
struct Error {
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;
};

/// Makes Result<T>::value() throw when there is no value. Only code that runs at start-up may let
/// it.
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
