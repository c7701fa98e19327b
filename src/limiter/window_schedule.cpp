#include "limiter/window_schedule.h"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"

namespace weir::limiter {
namespace {

using ZoneTime = cctz::time_point<cctz::seconds>;

constexpr std::int64_t kMinuteSeconds = 60;
constexpr std::int64_t kHourSeconds = 60 * kMinuteSeconds;
constexpr std::int64_t kDaySeconds = 24 * kHourSeconds;
constexpr std::int64_t kWeekSeconds = 7 * kDaySeconds;
constexpr std::int64_t kLongestMonthSeconds = 31 * kDaySeconds;
constexpr std::size_t kMostZoneNameBytes = 64;

ZoneTime time_of(std::int64_t second) {
    return std::chrono::time_point_cast<cctz::seconds>(std::chrono::system_clock::from_time_t(0)) +
           cctz::seconds(second);
}

std::int64_t second_of(ZoneTime time) { return (time - time_of(0)).count(); }

/// The instant at which the clock was changed.
ZoneTime instant_of(const cctz::time_zone& zone, const cctz::time_zone::civil_transition& change) {
    return zone.lookup(change.to).trans;
}

/// A time zone, and by how much its clock differs from UTC in summer and in winter, or before and
/// after a country chose another time: the most minus the least, since 1970.
struct ZoneRecord {
    cctz::time_zone zone;
    std::int64_t spread = 0;
};

ZoneRecord record_of(const cctz::time_zone& zone) {
    // From where the first windows may begin.
    ZoneTime time = time_of(-kLongestMonthSeconds - kDaySeconds);
    int least = zone.lookup(time).offset;
    int most = least;
    cctz::time_zone::civil_transition change;
    while (zone.next_transition(time, &change)) {
        WEIR_ASSERT(instant_of(zone, change) > time);
        time = instant_of(zone, change);
        const int offset = zone.lookup(time).offset;
        least = std::min(least, offset);
        most = std::max(most, offset);
    }
    WEIR_ASSERT(most - least < 2 * kDaySeconds);  // cctz takes no zone a day from UTC
    return {zone, most - least};
}

/// Whether the text may be the name of a zone, so that it can be a path below the database. What
/// differs from machine to machine ("localtime"), or is there a second time or with leap seconds
/// ("posix/…", "right/…"), is no name of the IANA.
bool is_zone_name(std::string_view name) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    return !name.empty() && name.size() <= kMostZoneNameBytes &&
           name.find_first_not_of(kLetters) == std::string_view::npos && !name.starts_with('/') &&
           !name.ends_with('/') && name.find("//") == std::string_view::npos &&
           name != "localtime" && name != "posixrules" && !name.starts_with("posix/") &&
           !name.starts_with("right/");
}

/// Whether the database has a file for the name that begins as those of zones do. It is looked for
/// where cctz does.
bool has_zone_file(const std::string& name) {
    const char* folder = std::getenv("TZDIR");
    const std::filesystem::path path =
        std::filesystem::path(folder != nullptr && *folder != '\0' ? folder
                                                                   : "/usr/share/zoneinfo") /
        name;
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) {
        return false;
    }
    std::ifstream file(path, std::ios::binary);
    std::array<char, 4> begin{};
    file.read(begin.data(), begin.size());
    return file && std::string_view(begin.data(), begin.size()) == "TZif";
}

/// The zones that were asked for and exist. cctz remembers each name that it was asked for, and
/// frees none. So it is asked only for names that the database has a file for.
class KnownZones {
  public:
    static KnownZones& of_process() {
        static KnownZones zones;
        return zones;
    }

    std::optional<ZoneRecord> find(std::string_view name) {
        if (name.empty() || name == "UTC") {
            return ZoneRecord{cctz::utc_time_zone(), 0};
        }
        const std::lock_guard lock(mutex_);
        const auto known = zones_.find(name);
        if (known != zones_.end()) {
            return known->second;
        }
        const std::string text(name);
        cctz::time_zone zone;
        if (!is_zone_name(name) || !has_zone_file(text) || !cctz::load_time_zone(text, &zone)) {
            return std::nullopt;
        }
        const auto [added, is_new] = zones_.emplace(text, record_of(zone));
        WEIR_ASSERT(is_new);
        return added->second;
    }

  private:
    std::mutex mutex_;
    std::map<std::string, ZoneRecord, std::less<>> zones_;
};

/// WindowStart::name.
class EqualWindows final : public WindowSchedule {
  public:
    explicit EqualWindows(std::int64_t seconds) : seconds_(seconds) { WEIR_ASSERT(seconds_ > 0); }
    [[nodiscard]] WindowSpan at(std::int64_t second, std::uint64_t name) const override {
        const auto moved = static_cast<std::int64_t>(name % static_cast<std::uint64_t>(seconds_));
        const std::int64_t since = ((second - moved) % seconds_ + seconds_) % seconds_;
        return {second - since, second - since + seconds_};
    }
    [[nodiscard]] std::int64_t longest() const override { return seconds_; }

  private:
    const std::int64_t seconds_;
};

/// WindowStart::first.
class WindowsFromFirst final : public WindowSchedule {
  public:
    explicit WindowsFromFirst(std::int64_t seconds) : seconds_(seconds) {
        WEIR_ASSERT(seconds_ > 0);
    }
    [[nodiscard]] WindowSpan at(std::int64_t second, std::uint64_t) const override {
        return {second, second + seconds_};
    }
    [[nodiscard]] std::int64_t longest() const override { return seconds_; }

  private:
    const std::int64_t seconds_;
};

/// WindowStart::calendar, up to an hour: by the minutes that the clock shows. A window also ends
/// where the clock is changed, so that each window is a part of one real hour: an hour that is
/// repeated is a window of its own.
class ClockWindows final : public WindowSchedule {
  public:
    ClockWindows(const cctz::time_zone& zone, std::int64_t seconds)
        : zone_(zone), seconds_(seconds), minutes_(seconds / kMinuteSeconds) {
        WEIR_ASSERT(seconds % kMinuteSeconds == 0 && kHourSeconds % seconds == 0);
    }

    [[nodiscard]] WindowSpan at(std::int64_t second, std::uint64_t) const override {
        const cctz::civil_second shown = zone_.lookup(time_of(second)).cs;
        const cctz::civil_minute minute(shown);
        const cctz::civil_second border(minute - minute.minute() % minutes_);
        WindowSpan span;
        span.begin = second - (shown - border);
        span.end = span.begin + seconds_;
        cctz::time_zone::civil_transition change;
        // Some change only the zone's abbreviation, not the clock.
        for (std::int64_t from = second + 1;
             from > span.begin && zone_.prev_transition(time_of(from), &change);) {
            from = second_of(instant_of(zone_, change));
            span.begin = change.from == change.to ? span.begin : std::max(span.begin, from);
        }
        for (std::int64_t from = second;
             from < span.end && zone_.next_transition(time_of(from), &change);) {
            from = second_of(instant_of(zone_, change));
            span.end = change.from == change.to ? span.end : std::min(span.end, from);
        }
        WEIR_ASSERT(span.begin <= second && second < span.end);
        WEIR_ASSERT(span.end - span.begin <= seconds_);
        return span;
    }
    [[nodiscard]] std::int64_t longest() const override { return seconds_; }

  private:
    const cctz::time_zone zone_;
    const std::int64_t seconds_;
    const std::int64_t minutes_;
};

/// WindowStart::calendar, above an hour: a window ends where the clock shows the next border for
/// the first time, or goes past it when it is set forward. So a window lasts longer by what is
/// repeated in it, shorter by what is skipped, and a unit that is skipped as a whole has none.
template <class Unit>
class CivilWindows final : public WindowSchedule {
  public:
    CivilWindows(const ZoneRecord& record, const Unit& unit)
        : zone_(record.zone), unit_(unit), longest_(unit.longest() + record.spread) {
        WEIR_ASSERT(longest_ > kHourSeconds);
    }

    [[nodiscard]] WindowSpan at(std::int64_t second, std::uint64_t) const override {
        auto border = unit_.border_before(zone_.lookup(time_of(second)).cs);
        WindowSpan span{first_at(border), first_at(unit_.next(border))};
        // The clock was set back behind a border that it had shown.
        while (span.end <= second) {
            border = unit_.next(border);
            span = {span.end, first_at(unit_.next(border))};
        }
        WEIR_ASSERT(span.begin <= second);
        WEIR_ASSERT(span.end - span.begin <= longest_ || second < 0);
        return span;
    }
    [[nodiscard]] std::int64_t longest() const override { return longest_; }

  private:
    [[nodiscard]] std::int64_t first_at(const cctz::civil_second& border) const {
        return second_of(cctz::convert(border, zone_));
    }

    const cctz::time_zone zone_;
    const Unit unit_;
    const std::int64_t longest_;
};

struct HoursUnit {
    int count;
    [[nodiscard]] std::int64_t longest() const { return count * kHourSeconds; }
    [[nodiscard]] cctz::civil_hour border_before(const cctz::civil_second& shown) const {
        const cctz::civil_hour hour(shown);
        return hour - hour.hour() % count;
    }
    [[nodiscard]] cctz::civil_hour next(const cctz::civil_hour& border) const {
        return border + count;
    }
};

struct DayUnit {
    [[nodiscard]] std::int64_t longest() const { return kDaySeconds; }
    [[nodiscard]] cctz::civil_day border_before(const cctz::civil_second& shown) const {
        return cctz::civil_day(shown);
    }
    [[nodiscard]] cctz::civil_day next(const cctz::civil_day& border) const { return border + 1; }
};

struct WeekUnit {
    [[nodiscard]] std::int64_t longest() const { return kWeekSeconds; }
    [[nodiscard]] cctz::civil_day border_before(const cctz::civil_second& shown) const {
        return cctz::prev_weekday(cctz::civil_day(shown) + 1, cctz::weekday::monday);
    }
    [[nodiscard]] cctz::civil_day next(const cctz::civil_day& border) const { return border + 7; }
};

struct MonthUnit {
    [[nodiscard]] std::int64_t longest() const { return kLongestMonthSeconds; }
    [[nodiscard]] cctz::civil_month border_before(const cctz::civil_second& shown) const {
        return cctz::civil_month(shown);
    }
    [[nodiscard]] cctz::civil_month next(const cctz::civil_month& border) const {
        return border + 1;
    }
};

template <class Unit>
std::shared_ptr<const WindowSchedule> windows_of(const ZoneRecord& record, const Unit& unit) {
    return std::make_shared<CivilWindows<Unit>>(record, unit);
}

/// Nothing if the period is no whole part of an hour or a day and no unit of the calendar; such a
/// definition is refused (definitions/rules.h).
std::shared_ptr<const WindowSchedule> calendar_windows(const RateLimit& limit,
                                                       std::int64_t seconds) {
    const ZoneRecord record = KnownZones::of_process()
                                  .find(limit.timezone)
                                  .value_or(ZoneRecord{cctz::utc_time_zone(), 0});
    if (limit.period == kMonth) {
        return windows_of(record, MonthUnit{});
    }
    if (seconds == kWeekSeconds) {
        return windows_of(record, WeekUnit{});
    }
    if (seconds == kDaySeconds) {
        return windows_of(record, DayUnit{});
    }
    if (seconds % kHourSeconds == 0 && seconds > kHourSeconds && kDaySeconds % seconds == 0) {
        return windows_of(record, HoursUnit{static_cast<int>(seconds / kHourSeconds)});
    }
    if (seconds % kMinuteSeconds == 0 && kHourSeconds % seconds == 0) {
        return std::make_shared<ClockWindows>(record.zone, seconds);
    }
    return nullptr;
}

}  // namespace

std::shared_ptr<const WindowSchedule> WindowSchedule::make(const RateLimit& limit) {
    WEIR_ASSERT(limit.is_window());
    const std::int64_t seconds =
        std::max<std::int64_t>(1, std::chrono::floor<std::chrono::seconds>(limit.period).count());
    std::shared_ptr<const WindowSchedule> made;
    if (limit.from == WindowStart::calendar) {
        made = calendar_windows(limit, seconds);
    } else if (limit.from == WindowStart::first) {
        made = std::make_shared<WindowsFromFirst>(seconds);
    }
    return made != nullptr ? made : std::make_shared<EqualWindows>(seconds);
}

bool knows_time_zone(std::string_view name) {
    return KnownZones::of_process().find(name).has_value();
}

}  // namespace weir::limiter
