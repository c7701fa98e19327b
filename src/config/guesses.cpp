#include "config/guesses.h"

#include <algorithm>
#include <array>

#include "base/characters.h"
#include "config/values.h"

namespace weir::config {
namespace {

/// Words of other programs, and what is written here instead.
struct Meaning {
    std::string_view word;
    std::string_view meant;
};

constexpr std::array<Meaning, 28> kTimeWords = {
    {{"s", "s"},      {"sec", "s"},       {"secs", "s"},      {"second", "s"}, {"seconds", "s"},
     {"m", "m"},      {"min", "m"},       {"mins", "m"},      {"minute", "m"}, {"minutes", "m"},
     {"h", "h"},      {"hr", "h"},        {"hrs", "h"},       {"hour", "h"},   {"hours", "h"},
     {"d", "d"},      {"day", "d"},       {"days", "d"},      {"ms", "ms"},    {"msec", "ms"},
     {"msecs", "ms"}, {"millis", "ms"},   {"w", "w"},         {"week", "w"},   {"weeks", "w"},
     {"mo", "month"}, {"month", "month"}, {"months", "month"}}};

/// What is counted, and per which time if the word says so. The first fitting word is taken, so
/// longer words come before their beginnings.
constexpr std::array<Meaning, 14> kCounted = {{{"requests", "r"},
                                               {"request", "r"},
                                               {"reqs", "r"},
                                               {"req", "r"},
                                               {"rps", "r/s"},
                                               {"qps", "r/s"},
                                               {"rpm", "r/m"},
                                               {"rph", "r/h"},
                                               {"rpd", "r/d"},
                                               {"hits", "r"},
                                               {"calls", "r"},
                                               {"r", "r"},
                                               {"c", "c"},
                                               {"", "r"}}};

constexpr std::array<Meaning, 10> kSizeWords = {{{"", "B"},
                                                 {"b", "B"},
                                                 {"k", "KiB"},
                                                 {"m", "MiB"},
                                                 {"g", "GiB"},
                                                 {"ki", "KiB"},
                                                 {"mi", "MiB"},
                                                 {"gi", "GiB"},
                                                 {"mb", "MB"},
                                                 {"gb", "GB"}}};

template <std::size_t count>
std::string_view meaning_of(const std::array<Meaning, count>& words, std::string_view word) {
    const auto found = std::find_if(words.begin(), words.end(),
                                    [&](const Meaning& one) { return one.word == word; });
    return found == words.end() ? std::string_view() : found->meant;
}

/// The text in lower case without blanks.
std::string plain(std::string_view text) {
    std::string all;
    for (const char c : text) {
        if (!is_blank(c)) {
            all += to_lower(c);
        }
    }
    return all;
}

/// Cuts the digits and points at the front off.
std::string cut_number(std::string& text) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    std::string number = text.substr(0, end);
    text.erase(0, end);
    return number;
}

/// The time behind the slash of a rate: "sec", "10s".
std::string guess_period(std::string text) {
    const std::string number = cut_number(text);
    const std::string_view unit = meaning_of(kTimeWords, text);
    return unit.empty() ? std::string() : number + std::string(unit);
}

/// The guess if it can be read. The parser guesses what it cannot read, so a guess that is the text
/// itself must not come back to it.
template <class T>
std::string if_valid(const std::string& guess, std::string_view text,
                     Result<T> (*parse)(std::string_view)) {
    return guess != text && parse(guess) ? guess : std::string();
}

/// An amount per time. `usual_period` is what a text without a time means; empty = nothing.
std::string guess_per_time(std::string_view text, std::string_view usual_period) {
    constexpr std::size_t kLongest = 64;
    std::string rest = plain(text.substr(0, kLongest));
    const std::string number = cut_number(rest);
    if (const std::size_t per = rest.find("per"); per != std::string::npos) {
        rest.replace(per, 3, "/");
    }
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string counted = rest.substr(0, slash);
    std::string period = slash < rest.size() ? guess_period(rest.substr(slash + 1)) : "";
    std::string unit(meaning_of(kCounted, counted));
    if (unit.empty()) {
        unit = guess_size("1" + counted);  // "5mb/s"
        unit.erase(0, std::min<std::size_t>(1, unit.size()));
    }
    if (unit.empty() || number.empty()) {
        return {};
    }
    if (unit.find('/') == std::string::npos) {
        if (period.empty()) {
            period = usual_period;
        }
        unit += "/" + period;
    }
    return number + unit;
}

}  // namespace

std::string guess_rate(std::string_view text) {
    return if_valid(guess_per_time(text, "s"), text, &parse_rate);
}

std::string guess_window(std::string_view text) {
    return if_valid(guess_per_time(text, ""), text, &parse_window);
}

std::string window_meant(std::string_view rate) {
    const std::string guess = guess_per_time(rate, "");
    const auto window = guess.ends_with("month") ? parse_window(guess) : Result<Rate>(Rate{});
    return window && window->period == limiter::kMonth ? guess : std::string();
}

std::string guess_duration(std::string_view text) {
    constexpr std::size_t kLongest = 64;
    std::string rest = plain(text.substr(0, kLongest));
    const std::string number = cut_number(rest);
    const std::string_view unit = rest.empty() ? "s" : meaning_of(kTimeWords, rest);
    if (number.empty() || unit.empty()) {
        return {};
    }
    return if_valid(number + std::string(unit), text, &parse_duration);
}

std::string guess_size(std::string_view text) {
    constexpr std::size_t kLongest = 64;
    std::string rest = plain(text.substr(0, kLongest));
    const std::string number = cut_number(rest);
    std::string_view unit = meaning_of(kSizeWords, rest);
    unit = rest == "kb" ? "kB" : rest == "kib" ? "KiB" : rest == "mib" ? "MiB" : unit;
    if (number.empty() || unit.empty()) {
        return {};
    }
    return if_valid(number + std::string(unit), text, &parse_size);
}

std::string guess_listen_address(std::string_view text) {
    constexpr std::array<Meaning, 2> kHosts = {{{"localhost", "127.0.0.1"}, {"*", "0.0.0.0"}}};
    constexpr std::string_view kScheme = "://";
    if (text.starts_with('/')) {
        return if_valid("unix:" + std::string(text), text, &parse_listen_address);
    }
    if (const std::size_t scheme = text.find(kScheme); scheme != std::string_view::npos) {
        const std::string_view rest = text.substr(scheme + kScheme.size());
        return if_valid(std::string(rest.substr(0, rest.find('/'))), text, &parse_listen_address);
    }
    if (text.find(':') == std::string_view::npos) {
        return if_valid(":" + std::string(text), text, &parse_listen_address);
    }
    const std::size_t colon = text.rfind(':');
    const std::string_view host = meaning_of(kHosts, text.substr(0, colon));
    return host.empty() ? std::string()
                        : if_valid(std::string(host) + std::string(text.substr(colon)), text,
                                   &parse_listen_address);
}

std::string did_you_mean(const std::string& guess) {
    return guess.empty() ? std::string() : ", did you mean '" + guess + "'?";
}

}  // namespace weir::config
