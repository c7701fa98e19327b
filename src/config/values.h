#pragma once
// The small grammars of settings and quota documents: durations, sizes, rates, bursts, addresses.
// Pure functions from text to value; an error's message says what was expected, in words that fit
// behind a place. No blanks, no signs, no exponents anywhere: what a person would misread is
// refused.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "config/settings.h"
#include "limiter/definition.h"

namespace weir::config {

/// "250ms", "1.5s", "10m", "2h", "30d".
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
/// Bytes: "32KiB", "1MiB", "500kB", "4096B".
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);
/// "true" or "false".
[[nodiscard]] Result<bool> parse_boolean(std::string_view text);
/// Digits only.
[[nodiscard]] Result<std::uint64_t> parse_unsigned(std::string_view text);
/// Digits with or without a decimal fraction, finite.
[[nodiscard]] Result<double> parse_number(std::string_view text);

/// "25%" as a share of 1, to a ten-thousandth of a percent.
[[nodiscard]] Result<double> parse_percentage(std::string_view text);
[[nodiscard]] std::string format_percentage(double share);

/// What a rate or an amount is counted in.
enum class Measure { none, requests, bytes, cost };
[[nodiscard]] Measure measure_of(limiter::Unit unit);

struct Rate {
    double amount = 0;
    Duration period = std::chrono::seconds(1);
    Measure measure = Measure::none;  ///< none: a bare 0
};

/// "100r/s", "30r/m", "5MiB/s", "1500r/10s", "250c/s" (cost), "0".
[[nodiscard]] Result<Rate> parse_rate(std::string_view text);

struct Burst {
    limiter::BurstSpec spec;
    Measure measure = Measure::none;  ///< none: seconds, or a bare 0
};

/// "50r", "10MiB", "20c" (an amount) or "2s", "500ms" (seconds of the rate).
[[nodiscard]] Result<Burst> parse_burst(std::string_view text);

/// As parse_rate, parse_burst and parse_duration read them.
[[nodiscard]] std::string format_rate(const limiter::RateLimit& limit);
[[nodiscard]] std::string format_burst(const limiter::BurstSpec& burst, limiter::Unit unit);
[[nodiscard]] std::string format_duration(Duration duration);
[[nodiscard]] std::string format_size(std::uint64_t bytes);

/// "0.0.0.0:8080", "[::]:8080", ":8080", "localhost:8080" or "unix:/run/weir.sock".
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);
/// The same without unix sockets, for UDP.
[[nodiscard]] Result<Endpoint> parse_udp_address(std::string_view text);
/// "http://127.0.0.1:3000", "http://app" (port 80), "app:3000" or "unix:/run/app.sock".
[[nodiscard]] Result<UpstreamAddress> parse_upstream_address(std::string_view text);
/// "dns://weir-peers:7946" or "10.0.0.7:7946"; the port may be left out (7946).
[[nodiscard]] Result<Seed> parse_seed(std::string_view text);
/// "304", "5xx" or "500-504".
[[nodiscard]] Result<routing::StatusRange> parse_status_range(std::string_view text);
/// The name of a header field, at most 64 bytes; "none": empty.
[[nodiscard]] Result<std::string> parse_field_name(std::string_view text);
/// "10.0.0.0/8", "2001:db8::/32" or a single address.
[[nodiscard]] Result<AddressBlock> parse_address_block(std::string_view text);

}  // namespace weir::config
