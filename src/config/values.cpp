#include "config/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/characters.h"
#include "config/guesses.h"

namespace weir::config {
namespace {

Error bad(std::string message) { return error(ErrorCode::invalid_argument, std::move(message)); }

std::string quoted(std::string_view text) {
    constexpr std::size_t kShown = 80;
    const std::string shown(text.substr(0, kShown));
    return "'" + shown + (text.size() > kShown ? "…'" : "'");
}

/// The length of the number at the front of the text: digits, then perhaps a point and digits.
std::size_t number_length(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && is_digit(text[at])) {
        ++at;
    }
    if (at == 0 || at + 1 >= text.size() || text[at] != '.' || !is_digit(text[at + 1])) {
        return at;
    }
    ++at;
    while (at < text.size() && is_digit(text[at])) {
        ++at;
    }
    return at;
}

/// A number and the letters behind it.
struct Quantity {
    double number = 0;
    std::string_view unit;
    bool valid = false;
};

Quantity split_quantity(std::string_view text) {
    const std::size_t length = number_length(text);
    if (length == 0) {
        return {};
    }
    Quantity quantity;
    const auto [end, code] = std::from_chars(text.data(), text.data() + length, quantity.number,
                                             std::chars_format::fixed);
    quantity.unit = text.substr(length);
    quantity.valid =
        code == std::errc{} && end == text.data() + length && std::isfinite(quantity.number);
    return quantity;
}

struct NamedScale {
    std::string_view name;
    double scale;
};

/// Units of time in nanoseconds, so that whole numbers of any unit stay exact.
constexpr std::array<NamedScale, 6> kTimes = {
    {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"w", 604800e9}}};

constexpr std::array<NamedScale, 7> kBytes = {{{"B", 1},
                                               {"KiB", 1024},
                                               {"MiB", 1048576},
                                               {"GiB", 1073741824},
                                               {"kB", 1e3},
                                               {"MB", 1e6},
                                               {"GB", 1e9}}};

template <std::size_t count>
const NamedScale* find_scale(const std::array<NamedScale, count>& scales, std::string_view name) {
    for (const NamedScale& scale : scales) {
        if (scale.name == name) {
            return &scale;
        }
    }
    return nullptr;
}

/// An amount and what it measures; Measure::none when the unit is unknown.
struct Amount {
    double value = 0;
    Measure measure = Measure::none;
};

Amount read_amount(const Quantity& quantity) {
    if (quantity.unit == "r") {
        return {quantity.number, Measure::requests};
    }
    if (quantity.unit == "c") {
        return {quantity.number, Measure::cost};
    }
    const NamedScale* scale = find_scale(kBytes, quantity.unit);
    if (scale == nullptr) {
        return {};
    }
    return {quantity.number * scale->scale, Measure::bytes};
}

/// Reads the part of a rate or window behind the slash ("s", "m" or "10s"), in nanoseconds.
std::optional<double> read_period(std::string_view text) {
    if (const NamedScale* scale = find_scale(kTimes, text)) {
        return scale->scale;
    }
    const Quantity quantity = split_quantity(text);
    const NamedScale* scale = find_scale(kTimes, quantity.unit);
    if (!quantity.valid || scale == nullptr) {
        return std::nullopt;
    }
    return quantity.number * scale->scale;
}

/// The same for a window, which may last a month.
std::optional<double> read_window_period(std::string_view text) {
    const bool month = text == "month" || text == "1month";
    return month ? static_cast<double>(limiter::kMonth.count()) : read_period(text);
}

/// The shortest text that is read as the same number again, never with an exponent.
std::string format_number(double number) {
    std::array<char, 400> buffer{};
    const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                           std::chars_format::fixed);
    return code == std::errc{} ? std::string(buffer.data(), end) : "0";
}

bool is_multiple(double number, double of) { return std::fmod(number, of) == 0; }

std::string format_bytes(double bytes) {
    for (const std::string_view name : {"GiB", "MiB", "KiB"}) {
        const double scale = find_scale(kBytes, name)->scale;
        if (bytes >= scale && is_multiple(bytes, scale)) {
            return format_number(bytes / scale) + std::string(name);
        }
    }
    return format_number(bytes) + "B";
}

std::string format_amount(double amount, limiter::Unit unit) {
    switch (measure_of(unit)) {
        case Measure::bytes:
            return format_bytes(amount);
        case Measure::cost:
            return format_number(amount) + "c";
        case Measure::requests:
        case Measure::none:
            break;
    }
    return format_number(amount) + "r";
}

/// What an amount per time is in one place: a rate, or a window.
struct PerTime {
    const char* grammar;
    const char* like;  // what may stand behind the slash
    const char* bounds;
    Duration shortest;
    Duration longest;
    std::optional<double> (*read_period)(std::string_view text);
    /// What may have been meant by a wrong text; empty = nothing is known.
    std::string (*meant)(std::string_view text);
};

std::string meant_by_rate(std::string_view text) {
    const std::string window = window_meant(text);
    return window.empty() ? guess_rate(text) : "window: " + window;
}

constexpr PerTime kRate = {
    "a rate is an amount and a unit per time, like 100r/s, 30r/m, 1500r/10s, 5MiB/s or 20c/s",
    "s, m, h, d or 10s",
    "from 1ms to 366d",
    std::chrono::milliseconds(1),
    std::chrono::hours(24 * 366),
    &read_period,
    &meant_by_rate};
constexpr PerTime kWindow = {
    "a window is an amount and a unit per time, like 1000r/h, 5000c/d, 1GiB/w or 100000r/month",
    "m, h, d, w, month, 30d or 5m",
    "from 1m to 31d, or month; for a shorter time, say 'rate'",
    limiter::kShortestWindow,
    limiter::kLongestWindow,
    &read_window_period,
    &guess_window};

Error wrong_amount(std::string_view unit, std::string_view text, const PerTime& form) {
    if (unit == "k" || unit == "K" || unit == "kr" || unit == "Kr" || unit == "Mr") {
        return bad(quoted(text) + ": write thousands out, as 20000r/s");
    }
    return bad(quoted(text) + ": " + form.grammar + did_you_mean(form.meant(text)));
}

Result<Rate> parse_per_time(std::string_view text, const PerTime& form) {
    const Quantity quantity = split_quantity(text.substr(0, text.find('/')));
    const Amount amount = read_amount(quantity);
    if (!quantity.valid || amount.measure == Measure::none) {
        return wrong_amount(quantity.unit, text, form);
    }
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
        return bad(quoted(text) + " lacks its time: " + form.grammar +
                   did_you_mean(form.meant(text)));
    }
    const auto period = form.read_period(text.substr(slash + 1));
    if (!period) {
        return bad(quoted(text) + ": the time behind the slash is like " + form.like +
                   did_you_mean(form.meant(text)));
    }
    const auto nanoseconds = [](Duration time) { return static_cast<double>(time.count()); };
    if (!(*period >= nanoseconds(form.shortest) && *period <= nanoseconds(form.longest))) {
        return bad(quoted(text) + ": the time behind the slash must be " + form.bounds);
    }
    return Rate{amount.value, Duration(static_cast<Duration::rep>(std::llround(*period))),
                amount.measure};
}

/// A token that a setting may be: a name of a field or protocol.
bool is_short_token(std::string_view text) {
    constexpr std::size_t kMostBytes = 64;
    return is_token(text) && text.size() <= kMostBytes;
}

}  // namespace

Result<double> parse_number(std::string_view text) {
    const Quantity quantity = split_quantity(text);
    if (!quantity.valid || !quantity.unit.empty()) {
        return bad(quoted(text) + " is not a number like 3 or 0.5");
    }
    return quantity.number;
}

Result<Duration> parse_duration(std::string_view text) {
    const Quantity quantity = split_quantity(text);
    const NamedScale* scale = find_scale(kTimes, quantity.unit);
    if (!quantity.valid || scale == nullptr) {
        return bad(quoted(text) + " is not a duration like 250ms, 10s, 5m or 2h" +
                   did_you_mean(guess_duration(text)));
    }
    const double nanoseconds = quantity.number * scale->scale;
    constexpr double kLongest = 100.0 * 366 * 86400e9;
    if (!(nanoseconds <= kLongest)) {
        return bad(quoted(text) + " is longer than a hundred years");
    }
    return Duration(static_cast<Duration::rep>(std::llround(nanoseconds)));
}

Result<std::uint64_t> parse_size(std::string_view text) {
    const Quantity quantity = split_quantity(text);
    const NamedScale* scale = find_scale(kBytes, quantity.unit);
    if (!quantity.valid || scale == nullptr) {
        return bad(quoted(text) + " is not a size like 4096B, 32KiB or 1MiB" +
                   did_you_mean(guess_size(text)));
    }
    const double bytes = std::round(quantity.number * scale->scale);
    constexpr double kLargest = 9e18;
    if (!(bytes <= kLargest)) {
        return bad(quoted(text) + " is too large");
    }
    return static_cast<std::uint64_t>(bytes);
}

Result<bool> parse_boolean(std::string_view text) {
    if (text == "true" || text == "false") {
        return text == "true";
    }
    return bad(quoted(text) + " is neither true nor false");
}

Result<std::uint64_t> parse_unsigned(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || end != text.data() + text.size() || code == std::errc::invalid_argument) {
        return bad(quoted(text) + " is not a whole number");
    }
    if (code != std::errc{}) {
        return bad(quoted(text) + " is too large");
    }
    return number;
}

namespace {
constexpr double kPercentageSteps = 1e4;  // steps in one percent

std::optional<unsigned> parse_status(std::string_view text) {
    const auto status = parse_unsigned(text);
    const bool fits = text.size() == 3 && status && *status >= 100 && *status <= 599;
    return fits ? std::optional(static_cast<unsigned>(*status)) : std::nullopt;
}
}  // namespace

Result<routing::StatusRange> parse_status_range(std::string_view text) {
    if (text.size() == 3 && text.substr(1) == "xx" && text[0] >= '1' && text[0] <= '5') {
        const unsigned first = 100 * static_cast<unsigned>(text[0] - '0');
        return routing::StatusRange{first, first + 99};
    }
    const std::size_t dash = text.find('-');
    const auto first = parse_status(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_status(text.substr(dash + 1));
    if (!first || !last || *first > *last) {
        return bad(quoted(text) + " is not a status like 304, 5xx or 500-504");
    }
    return routing::StatusRange{*first, *last};
}

Result<http::Method> parse_cancelled_method(std::string_view text) {
    const auto method = http::method_of(text);
    if (method != http::Method::get && method != http::Method::head) {
        return bad(quoted(text) + " is neither GET nor HEAD");
    }
    return method;
}

Result<std::string> parse_upgrade(std::string_view text) {
    std::string protocol(text);
    std::ranges::transform(protocol, protocol.begin(), to_lower);
    const auto name = std::string_view(protocol).substr(0, protocol.find('/'));
    const auto version = std::string_view(protocol).substr(std::min(name.size() + 1, text.size()));
    const bool versioned = name.size() < protocol.size();
    if (!is_short_token(name) || (versioned && !is_short_token(version))) {
        return bad(quoted(text) + " is not the name of a protocol");
    }
    if (name == "h2c" || name == "h2" || name == "http" || name == "tls") {
        return bad(quoted(text) + " would carry requests that no limit could see");
    }
    return protocol;
}

Result<std::string> parse_field_name(std::string_view text) {
    if (text == "none") {
        return std::string();
    }
    if (!is_short_token(text)) {
        return bad(quoted(text) + " is not the name of a header field");
    }
    return std::string(text);
}

Result<double> parse_percentage(std::string_view text) {
    const Quantity quantity = split_quantity(text);
    if (!quantity.valid || quantity.unit != "%" || quantity.number > 100) {
        return bad(quoted(text) + " is not a percentage from 0% to 100%");
    }
    return std::round(quantity.number * kPercentageSteps) / (100 * kPercentageSteps);
}

std::string format_percentage(double share) {
    return format_number(std::round(share * 100 * kPercentageSteps) / kPercentageSteps) + "%";
}

Measure measure_of(limiter::Unit unit) {
    switch (unit) {
        case limiter::Unit::requests:
            return Measure::requests;
        case limiter::Unit::request_bytes:
        case limiter::Unit::response_bytes:
            return Measure::bytes;
        case limiter::Unit::cost:
            return Measure::cost;
    }
    return Measure::none;
}

Result<Rate> parse_rate(std::string_view text) {
    if (text == "0") {
        return Rate{};
    }
    return parse_per_time(text, kRate);
}

Result<Rate> parse_window(std::string_view text) { return parse_per_time(text, kWindow); }

Result<Burst> parse_burst(std::string_view text) {
    const Quantity quantity = split_quantity(text);
    if (quantity.valid && quantity.unit.empty()) {
        if (quantity.number == 0) {
            return Burst{};
        }
        return bad(quoted(text) + " lacks its unit: an amount is like " + std::string(text) +
                   "r, seconds of the rate are like " + std::string(text) + "s");
    }
    const NamedScale* time = find_scale(kTimes, quantity.unit);
    if (quantity.valid && time != nullptr) {
        return Burst{{limiter::BurstSpec::Kind::seconds, quantity.number * (time->scale / 1e9)},
                     Measure::none};
    }
    const Amount amount = read_amount(quantity);
    if (!quantity.valid || amount.measure == Measure::none) {
        return bad(quoted(text) +
                   " is neither an amount like 50r, 10MiB or 20c nor seconds of the rate like 2s");
    }
    return Burst{{limiter::BurstSpec::Kind::amount, amount.value}, amount.measure};
}

std::string format_duration(Duration duration) {
    using namespace std::chrono_literals;
    const auto whole = [&](Duration unit, const char* name) -> std::string {
        return std::to_string(duration / unit) + name;
    };
    if (duration.count() == 0) {
        return "0s";
    }
    if (duration % 24h == 0s) {
        return whole(24h, "d");
    }
    if (duration % 1h == 0s) {
        return whole(1h, "h");
    }
    if (duration % 1min == 0s) {
        return whole(1min, "m");
    }
    if (duration % 1s == 0s) {
        return whole(1s, "s");
    }
    if (duration % 1ms == 0s) {
        return whole(1ms, "ms");
    }
    return format_number(to_seconds(duration)) + "s";
}

std::string format_size(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::string format_rate(const limiter::RateLimit& limit) {
    std::string period = format_duration(limit.period);
    if (period.size() == 2 && period[0] == '1') {
        period.erase(0, 1);
    }
    return format_amount(limit.amount, limit.unit) + "/" + period;
}

std::string format_window_length(Duration length) {
    if (length == limiter::kMonth) {
        return "month";
    }
    return length == std::chrono::weeks(1) ? "1w" : format_duration(length);
}

std::string format_window(const limiter::RateLimit& limit) {
    std::string length = format_window_length(limit.period);
    if (length.size() == 2 && length[0] == '1') {
        length.erase(0, 1);
    }
    return format_amount(limit.amount, limit.unit) + "/" + length;
}

std::string format_in_flight(const limiter::RateLimit& limit) {
    return format_number(limit.amount);
}

std::string format_capacity(double per_second, limiter::Unit unit) {
    limiter::RateLimit rate;
    rate.unit = unit;
    rate.amount = per_second;
    return format_rate(rate);
}

std::string format_burst(const limiter::BurstSpec& burst, limiter::Unit unit) {
    if (burst.kind == limiter::BurstSpec::Kind::seconds) {
        return format_number(burst.value) + "s";
    }
    return format_amount(burst.value, unit);
}

}  // namespace weir::config
