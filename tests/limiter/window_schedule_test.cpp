// Windows of real time zones. The instants at which clocks were changed are those of tzdata, looked
// at with `zdump -v ZONE` and `TZ=ZONE date -d @SECOND`.
#include "limiter/window_schedule.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weir::limiter {
namespace {

using namespace std::chrono_literals;
constexpr Duration kOneDay = std::chrono::days(1);
constexpr Duration kOneWeek = std::chrono::weeks(1);

/// The second of "2024-10-27 01:00:00" in UTC.
std::int64_t utc_second(const char* text) {
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    REQUIRE(std::sscanf(text, "%d-%u-%u %d:%d:%d", &year, &month, &day, &hour, &minute, &second) ==
            6);
    const std::chrono::sys_days date =
        std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
    return std::chrono::sys_seconds(date).time_since_epoch().count() + hour * 3600 + minute * 60 +
           second;
}

std::shared_ptr<const WindowSchedule> calendar_of(const char* zone, Duration period) {
    RateLimit limit = RateLimit::in_window(10, period);
    limit.from = WindowStart::calendar;
    limit.timezone = zone;
    return WindowSchedule::make(limit);
}

std::shared_ptr<const WindowSchedule> windows_from(WindowStart start, Duration period) {
    RateLimit limit = RateLimit::in_window(10, period);
    limit.from = start;
    return WindowSchedule::make(limit);
}

/// Windows that follow one another, by their borders in UTC.
struct CalendarCase {
    const char* what;
    const char* zone;
    Duration period;
    std::vector<const char*> borders;
};

void check_borders(const CalendarCase& one) {
    CAPTURE(one.what);
    CHECK(knows_time_zone(one.zone));
    const auto schedule = calendar_of(one.zone, one.period);
    for (std::size_t i = 0; i + 1 < one.borders.size(); ++i) {
        CAPTURE(one.borders[i]);
        const WindowSpan expected{utc_second(one.borders[i]), utc_second(one.borders[i + 1])};
        CHECK(schedule->at(expected.begin, 0) == expected);
        CHECK(schedule->at(expected.begin + (expected.end - expected.begin) / 2, 0) == expected);
        CHECK(schedule->at(expected.end - 1, 7) == expected);
        CHECK(expected.end - expected.begin <= schedule->longest());
    }
}

TEST_CASE("without a time zone windows are those of UTC") {
    check_borders({"a minute", "", 1min, {"1970-01-01 00:00:00", "1970-01-01 00:01:00"}});
    check_borders({"5 minutes", "", 5min, {"2024-02-29 23:55:00", "2024-03-01 00:00:00"}});
    check_borders({"hours", "UTC", 1h, {"2024-02-29 23:00:00", "2024-03-01 00:00:00"}});
    check_borders({"6 hours", "", 6h, {"2024-02-29 18:00:00", "2024-03-01 00:00:00"}});
    check_borders({"days", "", kOneDay, {"2024-02-29 00:00:00", "2024-03-01 00:00:00"}});
    check_borders({"a week begins on Monday",
                   "",
                   kOneWeek,
                   {"1969-12-29 00:00:00", "1970-01-05 00:00:00", "1970-01-12 00:00:00"}});
    check_borders(
        {"a week across a year", "", kOneWeek, {"2024-12-30 00:00:00", "2025-01-06 00:00:00"}});
    check_borders({"months", "", kMonth, {"2024-02-01 00:00:00", "2024-03-01 00:00:00"}});
    check_borders({"December", "", kMonth, {"2037-12-01 00:00:00", "2038-01-01 00:00:00"}});
}

TEST_CASE("days, weeks and months of a zone last longer and shorter when clocks are changed") {
    const char* berlin = "Europe/Berlin";
    check_borders({"23 hours",
                   berlin,
                   kOneDay,
                   {"2024-03-29 23:00:00", "2024-03-30 23:00:00", "2024-03-31 22:00:00",
                    "2024-04-01 22:00:00"}});
    check_borders({"25 hours",
                   berlin,
                   kOneDay,
                   {"2024-10-25 22:00:00", "2024-10-26 22:00:00", "2024-10-27 23:00:00",
                    "2024-10-28 23:00:00"}});
    check_borders({"a week and an hour",
                   berlin,
                   kOneWeek,
                   {"2024-10-20 22:00:00", "2024-10-27 23:00:00", "2024-11-03 23:00:00"}});
    check_borders({"31 days and an hour",
                   berlin,
                   kMonth,
                   {"2024-09-30 22:00:00", "2024-10-31 23:00:00", "2024-11-30 23:00:00"}});
    check_borders({"the hour of midnight is skipped",
                   "Asia/Beirut",
                   kOneDay,
                   {"2024-03-29 22:00:00", "2024-03-30 22:00:00", "2024-03-31 21:00:00"}});
    check_borders({"the hour before midnight is repeated",
                   "Asia/Beirut",
                   kOneDay,
                   {"2024-10-25 21:00:00", "2024-10-26 22:00:00", "2024-10-27 22:00:00"}});
    check_borders({"the hour of midnight is skipped on a Friday",
                   "Africa/Cairo",
                   kOneDay,
                   {"2024-04-24 22:00:00", "2024-04-25 22:00:00", "2024-04-26 21:00:00"}});
    check_borders({"the hour after midnight is repeated, and the day is one",
                   "America/Havana",
                   kOneDay,
                   {"2024-11-02 04:00:00", "2024-11-03 04:00:00", "2024-11-04 05:00:00"}});
    check_borders({"clocks are set back behind a midnight that they have shown",
                   "America/St_Johns",
                   kOneDay,
                   {"2010-11-06 02:30:00", "2010-11-07 02:30:00", "2010-11-08 03:30:00"}});
    check_borders({"there was no 30 December",
                   "Pacific/Apia",
                   kOneDay,
                   {"2011-12-29 10:00:00", "2011-12-30 10:00:00", "2011-12-31 10:00:00"}});
    check_borders({"a week of six days",
                   "Pacific/Apia",
                   kOneWeek,
                   {"2011-12-19 10:00:00", "2011-12-26 10:00:00", "2012-01-01 10:00:00"}});
    check_borders({"half an hour more",
                   "Australia/Lord_Howe",
                   kOneDay,
                   {"2024-04-06 13:00:00", "2024-04-07 13:30:00"}});
}

TEST_CASE("windows of several hours are like days") {
    check_borders({"4 hours become 3",
                   "Europe/Berlin",
                   4h,
                   {"2024-03-30 19:00:00", "2024-03-30 23:00:00", "2024-03-31 02:00:00",
                    "2024-03-31 06:00:00"}});
    check_borders({"4 hours become 5",
                   "Europe/Berlin",
                   4h,
                   {"2024-10-26 18:00:00", "2024-10-26 22:00:00", "2024-10-27 03:00:00"}});
    check_borders({"2 hours become 3: the second is repeated",
                   "Europe/Berlin",
                   2h,
                   {"2024-10-26 22:00:00", "2024-10-27 00:00:00", "2024-10-27 03:00:00"}});
    check_borders({"2 hours of which the first was skipped",
                   "Europe/Berlin",
                   2h,
                   {"2024-03-30 23:00:00", "2024-03-31 01:00:00", "2024-03-31 02:00:00"}});
    check_borders({"clocks are set back by more than the window",
                   "Antarctica/Casey",
                   2h,
                   {"2010-03-04 11:00:00", "2010-03-04 13:00:00", "2010-03-04 18:00:00",
                    "2010-03-04 20:00:00"}});
    check_borders({"12 hours of a zone with half an hour",
                   "Asia/Kolkata",
                   12h,
                   {"2024-05-01 06:30:00", "2024-05-01 18:30:00", "2024-05-02 06:30:00"}});
}

TEST_CASE("windows up to an hour end where the clock is changed") {
    check_borders({"each real hour is a window: 02:00 comes twice",
                   "Europe/Berlin",
                   1h,
                   {"2024-10-26 23:00:00", "2024-10-27 00:00:00", "2024-10-27 01:00:00",
                    "2024-10-27 02:00:00", "2024-10-27 03:00:00"}});
    check_borders({"and 02:00 does not come at all",
                   "Europe/Berlin",
                   1h,
                   {"2024-03-31 00:00:00", "2024-03-31 01:00:00", "2024-03-31 02:00:00"}});
    check_borders({"quarters go on",
                   "Europe/Berlin",
                   15min,
                   {"2024-10-27 00:30:00", "2024-10-27 00:45:00", "2024-10-27 01:00:00",
                    "2024-10-27 01:15:00"}});
    check_borders({"hours begin at half past",
                   "Asia/Kolkata",
                   1h,
                   {"2024-05-01 06:30:00", "2024-05-01 07:30:00", "2024-05-01 08:30:00"}});
    check_borders({"hours begin at a quarter past",
                   "Asia/Kathmandu",
                   1h,
                   {"2024-05-01 06:15:00", "2024-05-01 07:15:00"}});
    check_borders({"half an hour is repeated",
                   "Australia/Lord_Howe",
                   1h,
                   {"2024-04-06 14:00:00", "2024-04-06 15:00:00", "2024-04-06 15:30:00",
                    "2024-04-06 16:30:00"}});
    check_borders({"half an hour is skipped",
                   "Australia/Lord_Howe",
                   1h,
                   {"2024-10-05 14:30:00", "2024-10-05 15:30:00", "2024-10-05 16:00:00",
                    "2024-10-05 17:00:00"}});
    check_borders({"clocks are set back a minute past the hour",
                   "America/St_Johns",
                   1h,
                   {"2010-11-07 01:30:00", "2010-11-07 02:30:00", "2010-11-07 02:31:00",
                    "2010-11-07 03:30:00", "2010-11-07 04:30:00"}});
    check_borders({"only the name of the time changes",
                   "America/Asuncion",
                   1h,
                   {"2024-10-15 02:00:00", "2024-10-15 03:00:00", "2024-10-15 04:00:00"}});
}

TEST_CASE("windows by name and by the first request have their whole period") {
    const auto by_name = windows_from(WindowStart::name, 1h);
    CHECK(by_name->at(7200, 0) == WindowSpan{7200, 10800});
    CHECK(by_name->at(7200, 3601) == WindowSpan{3601, 7201});
    CHECK(by_name->at(7201, 3601) == WindowSpan{7201, 10801});
    CHECK(by_name->at(0, 1) == WindowSpan{-3599, 1});
    CHECK(by_name->longest() == 3600);
    const auto first = windows_from(WindowStart::first, 90s);
    CHECK(first->at(12'345, 99) == WindowSpan{12'345, 12'435});
    CHECK(first->longest() == 90);
}

TEST_CASE("a zone that is not known counts as UTC") {
    const auto schedule = calendar_of("Mars/Olympus", kOneDay);
    CHECK(schedule->at(86'400, 0) == WindowSpan{86'400, 172'800});
    CHECK(schedule->longest() == 86'400);
}

/// One of the instants at which clocks were changed.
std::int64_t near_a_change() {
    const char* change = *rc::gen::element(
        "2024-03-31 01:00:00", "2024-10-27 01:00:00", "2024-04-06 15:00:00", "2024-10-05 15:30:00",
        "2024-11-03 05:00:00", "2024-03-30 22:00:00", "2024-10-26 21:00:00", "2011-12-30 10:00:00",
        "2010-11-07 02:31:00", "2010-03-04 15:00:00", "1972-01-07 00:44:30", "2037-10-25 01:00:00",
        "2018-05-04 15:00:00", "1970-01-01 00:00:00", "1993-08-21 12:00:00");
    return utc_second(change) + *rc::gen::inRange<std::int64_t>(-200'000, 200'000);
}

constexpr const char* kSomeZones[] = {"UTC",
                                      "Europe/Berlin",
                                      "Europe/Dublin",
                                      "Europe/London",
                                      "Europe/Moscow",
                                      "Africa/Cairo",
                                      "Africa/Casablanca",
                                      "Africa/Monrovia",
                                      "America/Havana",
                                      "America/New_York",
                                      "America/Nuuk",
                                      "America/Sao_Paulo",
                                      "America/St_Johns",
                                      "Antarctica/Casey",
                                      "Antarctica/Troll",
                                      "Asia/Beirut",
                                      "Asia/Gaza",
                                      "Asia/Kathmandu",
                                      "Asia/Kolkata",
                                      "Asia/Pyongyang",
                                      "Asia/Tehran",
                                      "Australia/Lord_Howe",
                                      "Pacific/Apia",
                                      "Pacific/Chatham",
                                      "Pacific/Kwajalein"};

/// The window contains the instant, follows its neighbours, and is the same whoever asks.
void check_at(const WindowSchedule& schedule, const WindowSchedule& twin, std::int64_t second,
              std::uint64_t name) {
    const WindowSpan span = schedule.at(second, name);
    RC_ASSERT(span.begin <= second);
    RC_ASSERT(second < span.end);
    RC_ASSERT(span.end - span.begin <= schedule.longest());
    RC_ASSERT(schedule.at(span.begin, name) == span);
    RC_ASSERT(schedule.at(span.end - 1, name) == span);
    RC_ASSERT(schedule.at(span.end, name).begin == span.end);
    RC_ASSERT(schedule.at(span.begin - 1, name).end == span.begin);
    RC_ASSERT(schedule.at(second, name) == span);
    RC_ASSERT(twin.at(second, name) == span);
}

TEST_CASE("windows contain the instant and follow one another in each zone") {
    CHECK(rc::check("calendar", [] {
        const std::int64_t second = *rc::gen::arbitrary<bool>()
                                        ? near_a_change()
                                        : *rc::gen::inRange<std::int64_t>(0, 2'145'916'800);
        const Duration period =
            *rc::gen::element<Duration>(1min, 2min, 5min, 15min, 20min, 30min, 1h, 2h, 3h, 4h, 6h,
                                        8h, 12h, kOneDay, kOneWeek, kMonth);
        for (const char* zone : kSomeZones) {
            RC_ASSERT(knows_time_zone(zone));
            const auto schedule = calendar_of(zone, period);
            check_at(*schedule, *calendar_of(zone, period), second, 0);
            RC_ASSERT(schedule->at(second, 0) == schedule->at(second, 1));
        }
    }));
    CHECK(rc::check("name", [] {
        const Duration period =
            std::chrono::seconds(*rc::gen::inRange<std::int64_t>(60, 31 * 86'400 + 1));
        const auto schedule = windows_from(WindowStart::name, period);
        check_at(*schedule, *windows_from(WindowStart::name, period),
                 *rc::gen::inRange<std::int64_t>(0, 2'145'916'800),
                 *rc::gen::arbitrary<std::uint64_t>());
    }));
}

TEST_CASE("names that are no time zone") {
    CHECK(knows_time_zone(""));
    CHECK(knows_time_zone("UTC"));
    CHECK(knows_time_zone("Etc/GMT+5"));
    CHECK(knows_time_zone("America/Argentina/Buenos_Aires"));
    CHECK(knows_time_zone("EST5EDT"));
    const std::string long_name = "Europe/" + std::string(64, 'x');
    const std::string with_zero("Europe/Berlin\0", 14);
    for (const std::string& name : {std::string("Europe"),
                                    std::string("Europe/"),
                                    std::string("/Europe/Berlin"),
                                    std::string("Europe//Berlin"),
                                    std::string("../zoneinfo/Europe/Berlin"),
                                    std::string("Europe/../Europe/Berlin"),
                                    std::string("./UTC"),
                                    std::string("tzdata.zi"),
                                    std::string("zone.tab"),
                                    std::string("leapseconds"),
                                    std::string("localtime"),
                                    std::string("posixrules"),
                                    std::string("posix/Europe/Berlin"),
                                    std::string("right/Europe/Berlin"),
                                    std::string("/usr/share/zoneinfo/Europe/Berlin"),
                                    std::string("/etc/passwd"),
                                    std::string("Fixed/UTC+01:00:00"),
                                    std::string("+01:00"),
                                    std::string("libc:localtime"),
                                    std::string("file:UTC"),
                                    std::string("Europe/Berlin "),
                                    std::string(" "),
                                    std::string("/"),
                                    std::string("CEST"),
                                    std::string("Nowhere/Land"),
                                    std::string("Europe/M\xc3\xbcnchen"),
                                    long_name,
                                    with_zero}) {
        CAPTURE(name);
        CHECK_FALSE(knows_time_zone(name));
    }
}

/// Says for a test that the database is in another folder.
class OtherZoneFolder {
  public:
    explicit OtherZoneFolder(const std::filesystem::path& folder) {
        const char* before = std::getenv("TZDIR");
        before_ = before != nullptr ? before : "";
        setenv("TZDIR", folder.c_str(), 1);
    }
    ~OtherZoneFolder() {
        if (before_.empty()) {
            unsetenv("TZDIR");
        } else {
            setenv("TZDIR", before_.c_str(), 1);
        }
    }
    OtherZoneFolder(const OtherZoneFolder&) = delete;
    OtherZoneFolder& operator=(const OtherZoneFolder&) = delete;

  private:
    std::string before_;
};

TEST_CASE("the database may be elsewhere, or not there, and hold files that are no zones") {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-zones-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    const std::filesystem::path folder = pattern;
    std::filesystem::create_directories(folder / "Folder");
    std::ofstream(folder / "Text") << "This is a text.\n";
    std::ofstream(folder / "Short") << "TZ";
    std::ofstream(folder / "Broken") << "TZif2 and no more";
    const char* before = std::getenv("TZDIR");
    std::filesystem::copy_file(
        std::filesystem::path(before != nullptr ? before : "/usr/share/zoneinfo") / "Asia/Tokyo",
        folder / "Folder" / "Own");
    {
        const OtherZoneFolder other(folder);
        for (const char* name : {"Text", "Short", "Broken", "Folder", "Asia/Samarkand"}) {
            CAPTURE(name);
            CHECK_FALSE(knows_time_zone(name));
        }
        CHECK(knows_time_zone(""));
        CHECK(knows_time_zone("UTC"));
        CHECK(knows_time_zone("Folder/Own"));
    }
    std::filesystem::remove_all(folder);
    // What is known stays known; what was not there may come.
    CHECK(knows_time_zone("Folder/Own"));
    CHECK(calendar_of("Folder/Own", kOneDay)->at(0, 0) == WindowSpan{-32'400, 54'000});
    CHECK(knows_time_zone("Asia/Samarkand"));
}

}  // namespace
}  // namespace weir::limiter
