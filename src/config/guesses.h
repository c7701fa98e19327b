#pragma once
// Guesses what somebody meant who wrote a rate, a duration, a size or an address as other programs
// write it: "100/s", "100rps" and "100 req/sec" are 100r/s, "5min" is 5m, "64k" is 64KiB, "8080" is
// :8080. The guesses are only shown in error messages, and never taken as the value. Pure
// functions, thread-safe. Internal to config.

#include <string>
#include <string_view>

namespace weir::config {

// Each returns a text that the parser of such values accepts, or an empty one without a guess.
[[nodiscard]] std::string guess_rate(std::string_view text);
[[nodiscard]] std::string guess_window(std::string_view text);
[[nodiscard]] std::string guess_duration(std::string_view text);
[[nodiscard]] std::string guess_size(std::string_view text);
[[nodiscard]] std::string guess_listen_address(std::string_view text);

/// The window that a rate should be, because its time is a month: "1000r/month" for "1000/month".
/// Empty for every other text.
[[nodiscard]] std::string window_meant(std::string_view rate);

/// The end of an error message: ", did you mean '…'?", or nothing without a guess.
[[nodiscard]] std::string did_you_mean(const std::string& guess);

}  // namespace weir::config
