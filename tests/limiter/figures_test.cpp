// What a decision and the figures say of several levels or instances, against models that know
// nothing but the documented rules: the linear law, the product of chances, a weighted mean.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "limiter/fixture.h"
#include "tolerance.h"

namespace weir::limiter {
namespace {

using namespace testing;
using weir::testing::plus_minus;

RateLimit linear(double rate, double low, double high) {
    RateLimit limit = borders(rate, low, high);
    limit.law = Law::linear;
    return limit;
}

/// A chain whose levels refuse the next request with just these chances, the leaf's first.
struct Chain {
    static constexpr double kLevel = 300;
    static constexpr double kWidth = 200;

    explicit Chain(const std::vector<double>& chances, std::size_t shadow = 99)
        : fixture(definitions(chances, shadow)) {
        Weights weights;
        weights.requests = kLevel;
        REQUIRE(fixture.errors.empty());
        REQUIRE(fixture.check(name(0), weights, CheckMode::charge_without_judging).admitted);
    }

    static std::string name(std::size_t i) { return "level-" + std::to_string(i); }
    static std::vector<QuotaDefinition> definitions(const std::vector<double>& chances,
                                                    std::size_t shadow) {
        std::vector<QuotaDefinition> all;
        for (std::size_t i = 0; i < chances.size(); ++i) {
            // A request of 1 is judged at kLevel + 1.
            const double low = kLevel + 1 - chances[i] * kWidth;
            auto one = quota(name(i), {linear(1, low, low + kWidth)});
            if (i + 1 < chances.size()) {
                one.parent = name(i + 1);
            }
            if (i == shadow) {
                one.mode = Mode::shadow;
            }
            all.push_back(one);
        }
        return all;
    }

    /// Who is named in each of so many refusals; nothing is charged meanwhile.
    std::map<std::string, int> refusals(int count, double chance) {
        std::map<std::string, int> named;
        int asked = 0;
        for (int refused = 0; refused < count && asked < 100 * count; ++asked) {
            const Decision decision = fixture.check(name(0), {}, CheckMode::peek);
            CHECK(decision.discard_probability == doctest::Approx(chance));
            fixture.limiter.quiescent(fixture.thread);
            if (decision.admitted) {
                continue;
            }
            ++named[std::string(decision.quota)];
            ++refused;
        }
        CHECK(asked < 100 * count);
        return named;
    }

    Fixture fixture;
};

TEST_CASE("of two levels that may both refuse the one that is likelier to is named, always") {
    for (int leaf = 5; leaf <= 45; leaf += 4) {
        for (int parent = 3; parent <= 47; parent += 4) {
            const double p = leaf / 50.0;
            const double q = parent / 50.0;
            CAPTURE(p);
            CAPTURE(q);
            Chain chain({p, q});
            const auto named = chain.refusals(20, 1 - (1 - p) * (1 - q));
            if (leaf == parent) {
                continue;  // either
            }
            CHECK(named == std::map<std::string, int>{{Chain::name(p > q ? 0 : 1), 20}});
        }
    }
}

TEST_CASE("of three levels the likeliest is named wherever it stands; one in shadow never is") {
    const std::vector<std::vector<double>> orders = {
        {0.6, 0.2, 0.4}, {0.2, 0.6, 0.4}, {0.2, 0.4, 0.6}, {0.4, 0.6, 0.2}};
    for (const auto& chances : orders) {
        const auto largest = std::max_element(chances.begin(), chances.end()) - chances.begin();
        const auto place = static_cast<std::size_t>(largest);
        CAPTURE(place);
        Chain chain(chances);
        CHECK(chain.refusals(30, 1 - 0.4 * 0.8 * 0.6) ==
              std::map<std::string, int>{{Chain::name(place), 30}});
        // In shadow it does not count: the next one is named.
        Chain shadowed(chances, place);
        const auto next = std::find(chances.begin(), chances.end(), 0.4) - chances.begin();
        CHECK(shadowed.refusals(30, 1 - 0.8 * 0.6) ==
              std::map<std::string, int>{{Chain::name(static_cast<std::size_t>(next)), 30}});
    }
}

/// One instance of the template, as anybody would write it down.
struct Model {
    double offered = 0;  // a second
    double next = 0;     // arrives
    double level = 0;
    double last = 0;

    void drain(double now, double rate) {
        level = std::max(0.0, level - rate * (now - last));
        last = now;
    }
};

struct Means {
    double p = 0;
    double ratio = 0;
    double p_max = 0;
    double ratio_max = 0;
    double plain_p = 0;
    double plain_ratio = 0;
};

Means means_of(const std::vector<Model>& models, double low, double high) {
    Means means;
    double weight = 0;
    for (const Model& model : models) {
        const double p = std::clamp((model.level + 1 - low) / (high - low), 0.0, 1.0);
        const double ratio = model.level / low;
        weight += model.offered;
        means.p += model.offered * p;
        means.ratio += model.offered * ratio;
        means.p_max = std::max(means.p_max, p);
        means.ratio_max = std::max(means.ratio_max, ratio);
        means.plain_p += p / static_cast<double>(models.size());
        means.plain_ratio += ratio / static_cast<double>(models.size());
    }
    means.p /= weight;
    means.ratio /= weight;
    return means;
}

TEST_CASE("a template's gauges are the mean of its instances, weighted by what they are offered") {
    constexpr double kRate = 300;
    constexpr double kLow = 60;
    constexpr double kHigh = 360;
    constexpr double kEnd = 5;
    Fixture fixture({quota("k/{key}", {linear(kRate, kLow, kHigh)})});
    std::vector<Model> models(15);
    for (std::size_t i = 0; i < models.size(); ++i) {
        models[i].offered = 100 * static_cast<double>(i + 1);
        models[i].next = 1 / models[i].offered;
    }
    double now = 0;
    const auto earlier = [](const Model& left, const Model& right) {
        return left.next < right.next;
    };
    for (;;) {
        const auto model = std::min_element(models.begin(), models.end(), earlier);
        if (model->next > kEnd) {
            break;
        }
        fixture.wait(model->next - now);
        now = model->next;
        model->next += 1 / model->offered;
        model->drain(now, kRate);
        const auto key = std::to_string(model - models.begin());
        if (fixture.admits("k/" + key)) {
            model->level += 1;
        }
    }
    fixture.wait(kEnd - now);
    for (Model& model : models) {
        model.drain(kEnd, kRate);
    }
    const Means expected = means_of(models, kLow, kHigh);
    const auto seen = fixture.limiter.statistics_of("k/{key}", fixture.now);
    DefinitionStatistics scanned;
    fixture.limiter.for_each_statistics(
        fixture.now, [&](const DefinitionStatistics& figures) { scanned = figures; });
    REQUIRE(seen.has_value());
    for (const DefinitionStatistics& figures : {*seen, scanned}) {
        CHECK(figures.live_instances == models.size());
        CHECK(figures.discard_probability_mean == plus_minus(expected.p, 0.02 * expected.p));
        CHECK(figures.level_ratio_mean == plus_minus(expected.ratio, 0.02 * expected.ratio));
        CHECK(figures.discard_probability_max == doctest::Approx(expected.p_max).epsilon(1e-4));
        CHECK(figures.level_ratio_max == doctest::Approx(expected.ratio_max).epsilon(1e-4));
    }
    // A mean that weighs all alike is far from it.
    CHECK(expected.p > 1.2 * expected.plain_p);
    CHECK(expected.ratio > 1.2 * expected.plain_ratio);
}

}  // namespace
}  // namespace weir::limiter
