#pragma once
// Parses and formats the small values of settings and quota documents: durations, sizes, rates,
// bursts and addresses. Pure functions, thread-safe. The message of an error says what was expected
// and fits after a place in a file. Blanks, signs and exponents are refused everywhere, because
// people misread them.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "config/settings.h"
#include "limiter/definition.h"

namespace weir::config {

/// A duration: "250ms", "1.5s", "10m", "2h", "30d".
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
/// A size in bytes: "32KiB", "1MiB", "500kB", "4096B".
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);
/// A truth value: "true" or "false".
[[nodiscard]] Result<bool> parse_boolean(std::string_view text);
/// A whole number: digits only.
[[nodiscard]] Result<std::uint64_t> parse_unsigned(std::string_view text);
/// A finite number: digits with or without a decimal fraction.
[[nodiscard]] Result<double> parse_number(std::string_view text);

/// A percentage such as "25%", as a share of 1. Its smallest step is a ten-thousandth of a percent.
[[nodiscard]] Result<double> parse_percentage(std::string_view text);
[[nodiscard]] std::string format_percentage(double share);

/// What a rate or an amount counts.
enum class Measure { none, requests, bytes, cost };
[[nodiscard]] Measure measure_of(limiter::Unit unit);

/// An amount per period.
struct Rate {
    double amount = 0;
    Duration period = std::chrono::seconds(1);
    Measure measure = Measure::none;  ///< none: 0 without a unit

    [[nodiscard]] double per_second() const {
        return amount * 1e9 / static_cast<double>(period.count());
    }
};

/// A rate: "100r/s", "30r/m", "5MiB/s", "1500r/10s", "250c/s" (cost), "0".
[[nodiscard]] Result<Rate> parse_rate(std::string_view text);

/// The amount of a window and its length: "1000r/h", "5000c/d", "1GiB/w", "100000r/month",
/// "1000000r/30d". A month is limiter::kMonth.
[[nodiscard]] Result<Rate> parse_window(std::string_view text);

/// A border as it was written.
struct Burst {
    limiter::BurstSpec spec;
    Measure measure = Measure::none;  ///< none: seconds, or 0 without a unit
};

/// A burst: "50r", "10MiB", "20c" (an amount) or "2s", "500ms" (seconds of the rate).
[[nodiscard]] Result<Burst> parse_burst(std::string_view text);

/// The format functions write a value so that the parse function for it reads it again.
[[nodiscard]] std::string format_rate(const limiter::RateLimit& limit);
/// Formats the length of a window: "1h", "1w", "month".
[[nodiscard]] std::string format_window_length(Duration length);
/// Formats the amount and the length of a window.
[[nodiscard]] std::string format_window(const limiter::RateLimit& limit);
/// Formats the amount of a limit of requests in flight: a whole number, if it is a valid one.
[[nodiscard]] std::string format_in_flight(const limiter::RateLimit& limit);
/// Formats a rate that is given as weight per second.
[[nodiscard]] std::string format_capacity(double per_second, limiter::Unit unit);
[[nodiscard]] std::string format_burst(const limiter::BurstSpec& burst, limiter::Unit unit);
[[nodiscard]] std::string format_duration(Duration duration);
[[nodiscard]] std::string format_size(std::uint64_t bytes);

/// An address to listen at: "0.0.0.0:8080", "[::]:8080", ":8080", "localhost:8080" or
/// "unix:/run/weir.sock".
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);
/// An address for UDP: the same without unix sockets.
[[nodiscard]] Result<Endpoint> parse_udp_address(std::string_view text);
/// The address of an upstream: "http://127.0.0.1:3000", "http://app" (port 80), "app:3000" or
/// "unix:/run/app.sock".
[[nodiscard]] Result<UpstreamAddress> parse_upstream_address(std::string_view text);
/// A seed: "dns://weir-peers:7946" or "10.0.0.7:7946". Without a port it is 7946.
[[nodiscard]] Result<Seed> parse_seed(std::string_view text);
/// A method that changes nothing, so that its requests may be cancelled: "GET" or "HEAD".
[[nodiscard]] Result<http::Method> parse_cancelled_method(std::string_view text);
/// The name of a protocol for `Upgrade`, in lower case. Forms of HTTP are errors.
[[nodiscard]] Result<std::string> parse_upgrade(std::string_view text);
/// A range of status codes: "304", "5xx" or "500-504".
[[nodiscard]] Result<routing::StatusRange> parse_status_range(std::string_view text);
/// The name of a header field, at most 64 bytes; empty for the word "none".
[[nodiscard]] Result<std::string> parse_field_name(std::string_view text);
/// A block of addresses: "10.0.0.0/8", "2001:db8::/32" or a single address.
[[nodiscard]] Result<AddressBlock> parse_address_block(std::string_view text);

}  // namespace weir::config
