#include "proxy/wall_clock.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>

#include "net/clock.h"

namespace weir::proxy {
namespace {

/// A date as of RFC 9110, 5.6.7, in English whatever the locale.
std::string imf_fixdate(std::chrono::seconds since_1970) {
    static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                         "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> kMonths = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto time = static_cast<std::time_t>(since_1970.count());
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    std::array<char, 40> text{};
    const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                   kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                                   kMonths[static_cast<std::size_t>(parts.tm_mon)],
                                   parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

Duration WallClock::at(Instant now) {
    constexpr Duration kReadAgainAfter = std::chrono::seconds(1);
    if (!has_read_ || now - read_at_ >= kReadAgainAfter) {
        read_at_ = net::now();
        ahead_ = net::unix_ahead();
        has_read_ = true;
    }
    return now.time_since_epoch() + ahead_;
}

std::string_view WallClock::date(Instant now) {
    const auto second = std::chrono::floor<std::chrono::seconds>(at(now));
    if (second != shown_) {
        date_ = imf_fixdate(second);
        shown_ = second;
    }
    return date_;
}

}  // namespace weir::proxy
