#include "admin/quota_series.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

using namespace weir::admin;

namespace {

QuotaFigures quota(std::string name, double offered, double probability = 0) {
    QuotaFigures figures;
    figures.name = std::move(name);
    figures.offered = offered;
    figures.admitted = offered;
    figures.discard_probability = probability;
    figures.discard_probability_max = probability;
    figures.level_ratio = probability;
    figures.instances = 1;
    return figures;
}

const QuotaFigures& named(const std::vector<QuotaFigures>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const QuotaFigures& one) { return one.name == name; });
    REQUIRE(found != all.end());
    return *found;
}

}  // namespace

TEST_CASE("within the bound every quota has its own series") {
    QuotaSeries series(2);
    const auto result = series.bound({quota("a", 1), quota("b", 2)});
    REQUIRE(result.size() == 2);
    CHECK(named(result, "b").offered == 2);
    CHECK(series.dropped() == 0);
}

TEST_CASE("one more than the bound is summed up and counted once") {
    QuotaSeries series(2);
    std::vector<QuotaFigures> all{quota("a", 1), quota("b", 2), quota("c", 3, 0.5),
                                  quota("d", 1, 0.1)};
    auto result = series.bound(all);
    REQUIRE(result.size() == 3);
    const auto& other = named(result, kOtherQuotas);
    CHECK(other.offered == 4);
    CHECK(other.instances == 2);
    CHECK(other.discard_probability == doctest::Approx((3 * 0.5 + 0.1) / 4));
    CHECK(other.discard_probability_max == 0.5);
    CHECK(other.limits.empty());
    CHECK(series.dropped() == 2);
    result = series.bound(all);
    CHECK(named(result, kOtherQuotas).offered == 4);
    CHECK(named(result, kOtherQuotas).discard_probability == doctest::Approx(0.3));  // plain mean
    CHECK(series.dropped() == 2);
}

TEST_CASE("who has a series keeps it, whatever the order") {
    QuotaSeries series(1);
    static_cast<void>(series.bound({quota("m", 1), quota("z", 1)}));
    const auto result = series.bound({quota("a", 5), quota("z", 2), quota("m", 1)});
    CHECK(named(result, "m").offered == 1);
    CHECK(named(result, kOtherQuotas).offered == 7);
}

TEST_CASE("a quota that goes frees its place; the others' counter does not fall with them") {
    QuotaSeries series(1);
    static_cast<void>(series.bound({quota("a", 1), quota("b", 10), quota("c", 20)}));
    auto result = series.bound({quota("b", 11)});  // a and c are gone, b stays among the others
    CHECK(named(result, kOtherQuotas).offered == 31);
    result = series.bound({quota("b", 11), quota("d", 3)});
    CHECK(named(result, "d").offered == 3);
    result = series.bound({quota("b", 2), quota("d", 3)});  // b was removed and made anew
    CHECK(named(result, kOtherQuotas).offered == 33);
}

TEST_CASE("a quota that is called __other__ joins the others") {
    QuotaSeries series(10);
    const auto result = series.bound({quota(std::string(kOtherQuotas), 4), quota("a", 1)});
    CHECK(result.size() == 2);
    CHECK(named(result, kOtherQuotas).offered == 4);
}

TEST_CASE("a bound of zero leaves only the sum") {
    QuotaSeries series(0);
    const auto result = series.bound({quota("a", 1), quota("b", 1)});
    REQUIRE(result.size() == 1);
    CHECK(result.front().offered == 2);
}

TEST_CASE("law: names are unique, bounded, and no counter ever falls while its quota lives") {
    CHECK(rc::check([] {
        const auto bound = *rc::gen::inRange<std::size_t>(0, 4);
        QuotaSeries series(bound);
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
            for (const auto& [name, value] : counters) given.push_back(quota(name, value));
            const auto result = series.bound(given);
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
