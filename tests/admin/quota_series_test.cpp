#include "admin/quota_series.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

using namespace weir::admin;

namespace {

constexpr std::size_t kPlenty = 100'000'000;

QuotaFigures quota(std::string name, double offered, double probability = 0) {
    QuotaFigures figures;
    figures.name = std::move(name);
    figures.offered = offered;
    figures.admitted = offered;
    figures.refunded = offered / 2;
    figures.discard_probability = probability;
    figures.discard_probability_max = probability;
    figures.level_ratio = probability;
    figures.instances = 1;
    return figures;
}

std::vector<QuotaFigures> bound_all(QuotaSeries& series, std::vector<QuotaFigures> quotas) {
    const std::size_t count = quotas.size();
    return series.bound(std::move(quotas), count);
}

const QuotaFigures& named(const std::vector<QuotaFigures>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const QuotaFigures& one) { return one.name == name; });
    REQUIRE(found != all.end());
    return *found;
}

}  // namespace

TEST_CASE("within the bound every quota has its own series") {
    QuotaSeries series(2, kPlenty);
    const auto result = bound_all(series, {quota("a", 1), quota("b", 2)});
    REQUIRE(result.size() == 2);
    CHECK(named(result, "b").offered == 2);
    CHECK(series.dropped() == 0);
}

TEST_CASE("what the limiter has summed up already is counted by definitions") {
    QuotaSeries series(2, kPlenty);
    std::vector<QuotaFigures> all{quota("a", 1), quota(std::string(kOtherQuotas), 7)};
    auto result = series.bound(all, 100);
    CHECK(named(result, kOtherQuotas).offered == 7);
    CHECK(series.dropped() == 99);
    result = series.bound({quota("a", 1)}, 1);
    CHECK(series.dropped() == 99);
    CHECK(named(result, kOtherQuotas).offered == 7);
}

TEST_CASE("one more than the bound is summed up and counted once") {
    QuotaSeries series(2, kPlenty);
    std::vector<QuotaFigures> all{quota("a", 1, 0.9), quota("b", 2, 0.9), quota("c", 3, 0.5),
                                  quota("d", 1, 0.1)};
    auto result = bound_all(series, all);
    REQUIRE(result.size() == 3);
    const auto& other = named(result, kOtherQuotas);
    CHECK(other.offered == 4);
    CHECK(other.refunded == 2);
    CHECK(other.instances == 2);
    CHECK(other.discard_probability == doctest::Approx((3 * 0.5 + 0.1) / 4));
    CHECK(other.discard_probability_max == 0.5);
    CHECK(other.limits.empty());
    CHECK(series.dropped() == 2);
    result = bound_all(series, all);
    CHECK(named(result, kOtherQuotas).offered == 4);
    CHECK(named(result, kOtherQuotas).discard_probability == doctest::Approx(0.3));  // plain mean
    CHECK(series.dropped() == 2);
}

TEST_CASE("who has a series keeps it, whatever the order") {
    QuotaSeries series(1, kPlenty);
    static_cast<void>(bound_all(series, {quota("m", 1), quota("z", 1)}));
    const auto result = bound_all(series, {quota("a", 5), quota("z", 2), quota("m", 1)});
    CHECK(named(result, "m").offered == 1);
    CHECK(named(result, kOtherQuotas).offered == 7);
}

TEST_CASE("a quota that goes frees its place; the others' counter does not fall with them") {
    QuotaSeries series(1, kPlenty);
    static_cast<void>(bound_all(series, {quota("a", 1), quota("b", 10), quota("c", 20)}));
    auto result =
        bound_all(series, {quota("b", 11)});  // a and c are gone, b stays among the others
    CHECK(named(result, kOtherQuotas).offered == 31);
    result = bound_all(series, {quota("b", 11), quota("d", 3)});
    CHECK(named(result, "d").offered == 3);
    result = bound_all(series, {quota("b", 2), quota("d", 3)});  // b was removed and made anew
    CHECK(named(result, kOtherQuotas).offered == 33);
}

TEST_CASE("a quota that is called __other__ joins the others") {
    QuotaSeries series(10, kPlenty);
    const auto result = bound_all(series, {quota(std::string(kOtherQuotas), 4), quota("a", 1)});
    CHECK(result.size() == 2);
    CHECK(named(result, kOtherQuotas).offered == 4);
}

TEST_CASE("a bound of zero leaves only the sum") {
    QuotaSeries series(0, kPlenty);
    const auto result = bound_all(series, {quota("a", 1), quota("b", 1)});
    REQUIRE(result.size() == 1);
    CHECK(result.front().offered == 2);
}

TEST_CASE("places are given to those that refuse first, then to those in use") {
    QuotaSeries series(2, kPlenty);
    const auto result =
        bound_all(series, {quota("idle", 0), quota("used", 5), quota("refuses", 1, 0.2)});
    CHECK(named(result, "refuses").offered == 1);
    CHECK(named(result, "used").offered == 5);
    CHECK(named(result, kOtherQuotas).instances == 1);
}

TEST_CASE("one that refuses takes the place of one that was never used, and begins with 0") {
    QuotaSeries series(2, kPlenty);
    static_cast<void>(bound_all(series, {quota("a", 0), quota("b", 3)}));
    static_cast<void>(bound_all(series, {quota("a", 0), quota("b", 3), quota("c", 10)}));
    // c gets its place only when it refuses.
    auto result = bound_all(series, {quota("a", 0), quota("b", 3), quota("c", 20)});
    CHECK(named(result, "a").offered == 0);
    CHECK(named(result, kOtherQuotas).offered == 20);
    result = bound_all(series, {quota("a", 0), quota("b", 3), quota("c", 25, 0.5)});
    CHECK(named(result, "c").offered == 5);
    CHECK(named(result, "c").refunded == 2.5);
    CHECK(named(result, "b").offered == 3);
    CHECK(named(result, kOtherQuotas).offered == 20);
    CHECK(series.dropped() == 2);
    // a comes back when it refuses and a place is free: what it was is in no sum twice.
    result = bound_all(series, {quota("a", 4, 0.5), quota("c", 30)});
    CHECK(named(result, "a").offered == 4);
    CHECK(named(result, "c").offered == 10);
    CHECK(named(result, kOtherQuotas).offered == 20);
    // Made anew: its own counter counts from there.
    result = bound_all(series, {quota("a", 4), quota("c", 1)});
    CHECK(named(result, "c").offered == 1);
}

TEST_CASE("one that was used gives its place after sixty quiet scrapes, not before") {
    QuotaSeries series(1, kPlenty);
    static_cast<void>(bound_all(series, {quota("a", 7), quota("b", 10)}));
    for (std::uint32_t i = 1; i < QuotaSeries::kQuietScrapes; ++i) {
        CAPTURE(i);
        const auto result = bound_all(series, {quota("a", 7), quota("b", 10, 0.5)});
        CHECK(named(result, "a").offered == 7);
    }
    auto result = bound_all(series, {quota("a", 7), quota("b", 12, 0.5)});
    CHECK(named(result, "b").offered == 2);
    CHECK(named(result, kOtherQuotas).offered == 10);
    result = bound_all(series, {quota("a", 9), quota("b", 12)});
    CHECK(named(result, kOtherQuotas).offered == 12);
    // Whoever refuses or is used is not quiet.
    for (int i = 0; i < 100; ++i) {
        result = bound_all(series, {quota("a", 9, 0.5), quota("b", 13 + i % 2)});
    }
    CHECK(named(result, "b").offered == 4);
}

namespace {

std::string long_name(int i, std::size_t size) {
    std::string name = "tenant-" + std::to_string(i) + "/";
    name.resize(size, 'x');
    return name;
}

std::size_t named_count(const std::vector<QuotaFigures>& result) {
    return static_cast<std::size_t>(
        std::count_if(result.begin(), result.end(),
                      [](const QuotaFigures& one) { return one.name != kOtherQuotas; }));
}

}  // namespace

TEST_CASE("long names, quotes and limits: as many as the bytes hold, the rest is summed") {
    constexpr std::size_t kBytes = 200'000;
    std::size_t before = 1'000;
    for (const std::size_t size : {20U, 60U, 250U, 500U}) {
        CAPTURE(size);
        QuotaSeries series(1'000, kBytes);
        std::vector<QuotaFigures> all;
        for (int i = 0; i < 1'000; ++i) {
            all.push_back(quota(long_name(i, size), 1));
        }
        const auto result = bound_all(series, all);
        std::size_t bytes = 0;
        for (const auto& figures : result) {
            bytes += page_bytes(figures, label_bytes(figures.name));
        }
        CHECK(bytes < kBytes);
        CHECK(bytes > kBytes * 9 / 10);
        CHECK(named_count(result) < before);
        CHECK(series.dropped() == 1'000 - named_count(result));
        CHECK(named(result, kOtherQuotas).offered == static_cast<double>(series.dropped()));
        before = named_count(result);
    }
    CHECK(label_bytes("a\"b\\c\n") == 9);
    CHECK(label_bytes(std::string(600, 'x')) == 512);
}

TEST_CASE("when the values grow beyond the bytes the quietest make room, the hot ones stay") {
    constexpr std::size_t kBytes = 64 * 1024;
    QuotaSeries series(1'000, kBytes);
    std::vector<QuotaFigures> all;
    for (int i = 0; i < 200; ++i) {
        all.push_back(quota(long_name(i, 30), 1));
    }
    const auto first = bound_all(series, all);
    const std::size_t count = named_count(first);
    REQUIRE(count > 40);
    REQUIRE(count < 200);
    // Every other one grows, and refuses; each has two more limits.
    for (int i = 0; i < 200; ++i) {
        auto& one = all[static_cast<std::size_t>(i)];
        if (i % 2 == 0) {
            one = quota(one.name, 1e9 + i, 0.123456789);
        }
        one.limits = {{"requests", "1s", 10}, {"requests", "1m", 0.123456789}};
    }
    const auto result = bound_all(series, all);
    std::size_t bytes = 0;
    for (const auto& figures : result) {
        bytes += page_bytes(figures, label_bytes(figures.name));
    }
    CHECK(bytes <= kBytes);
    CHECK(named_count(result) < count);
    for (const auto& figures : first) {
        if (figures.name == kOtherQuotas) {
            continue;
        }
        const auto same = [&](const QuotaFigures& one) { return one.name == figures.name; };
        const bool refuses = std::find_if(all.begin(), all.end(), same)->discard_probability > 0;
        const bool kept = std::any_of(result.begin(), result.end(), same);
        if (refuses) {
            CHECK(kept);
        }
    }
}

namespace {

/// What Prometheus would take for growth between two scrapes: of series that are in both.
double told_growth(const std::map<std::string, double>& before,
                   const std::map<std::string, double>& now) {
    double growth = 0;
    for (const auto& [name, value] : now) {
        const auto place = before.find(name);
        if (place == before.end()) {
            continue;
        }
        growth += value >= place->second ? value - place->second : value;
    }
    return growth;
}

}  // namespace

TEST_CASE("law: whatever changes places, within the bytes, and no growth that was not is told") {
    CHECK(rc::check([] {
        constexpr std::size_t kBytes = 6'000;
        QuotaSeries series(*rc::gen::inRange<std::size_t>(0, 8), kBytes);
        std::map<std::string, double> truth;
        std::map<std::string, double> before;
        for (int scrape = 0; scrape < 30; ++scrape) {
            double growth = 0;
            std::vector<QuotaFigures> given;
            for (int i = 0; i < 12; ++i) {
                const std::string name = long_name(i, 20 + 10 * static_cast<std::size_t>(i));
                const double more = *rc::gen::elementOf(std::vector<double>{0, 0, 1, 1e9});
                growth += more;
                truth[name] += more;
                const bool refuses = *rc::gen::inRange(0, 4) == 0;
                given.push_back(quota(name, truth[name], refuses ? 0.25 : 0));
                const auto limits = *rc::gen::inRange<std::size_t>(0, 3);
                given.back().limits.resize(limits, {"requests", "1s", 10});
            }
            std::size_t bytes = 0;
            std::map<std::string, double> now;
            for (const auto& figures : bound_all(series, given)) {
                bytes += page_bytes(figures, label_bytes(figures.name));
                RC_ASSERT(now.emplace(figures.name, figures.offered).second);
                RC_ASSERT(figures.offered >= 0);
                const auto place = truth.find(figures.name);
                if (place != truth.end()) {
                    RC_ASSERT(figures.offered <= place->second);
                }
            }
            RC_ASSERT(bytes <= kBytes);
            RC_ASSERT(told_growth(before, now) <= growth);
            if (before.contains(std::string(kOtherQuotas))) {
                RC_ASSERT(now.at(std::string(kOtherQuotas)) >=
                          before.at(std::string(kOtherQuotas)));
            }
            before = std::move(now);
        }
    }));
}

TEST_CASE("law: names are unique, bounded, and no counter ever falls while its quota lives") {
    CHECK(rc::check([] {
        const auto bound = *rc::gen::inRange<std::size_t>(0, 4);
        QuotaSeries series(bound, kPlenty);
        std::map<std::string, double> counters;
        std::map<std::string, double> last;
        double everything = 0;
        double retired = 0;
        for (int scrape = 0; scrape < 20; ++scrape) {
            for (const char letter : std::string("abcdef")) {
                const std::string name(1, letter);
                switch (*rc::gen::inRange(0, 4)) {
                    case 0:
                        if (counters.contains(name)) {
                            retired += counters[name];
                            counters.erase(name);
                        }
                        break;
                    case 1:
                    case 2: {
                        const double growth = *rc::gen::inRange(0, 5);
                        counters[name] += growth;
                        everything += growth;
                        break;
                    }
                    default:
                        break;
                }
            }
            std::vector<QuotaFigures> given;
            for (const auto& [name, value] : counters) {
                given.push_back(quota(name, value));
            }
            const auto result = bound_all(series, given);
            RC_ASSERT(result.size() <= bound + 1);
            std::set<std::string> names;
            double shown = 0;
            for (const auto& figures : result) {
                RC_ASSERT(names.insert(figures.name).second);
                shown += figures.offered;
                if (figures.name == kOtherQuotas) {
                    RC_ASSERT(figures.offered >= last[figures.name]);
                    last[figures.name] = figures.offered;
                }
            }
            // Nothing is counted twice; only what was retired may be missing.
            RC_ASSERT(shown <= everything);
            RC_ASSERT(shown >= everything - retired);
        }
    }));
}
