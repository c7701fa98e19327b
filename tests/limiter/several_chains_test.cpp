#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fixture.h"

// Requests to which the chains of several quotas apply, compared with a model that knows nothing
// of records, quick ways and orders: a set of buckets, each once.

using namespace weir;
using namespace weir::limiter;
using namespace weir::limiter::testing;

namespace {

Leaves find_all(Fixture& fixture, const std::vector<std::string>& names) {
    Leaves leaves;
    for (const std::string& name : names) {
        fixture.limiter.find(fixture.thread, fixture.limiter.ask(fixture.thread, name), fixture.now,
                             leaves);
    }
    return leaves;
}
Decision check_all(Fixture& fixture, const std::vector<std::string>& names,
                   const Weights& weights = {}, CheckMode mode = CheckMode::charge) {
    return fixture.limiter.check(fixture.thread, find_all(fixture, names), weights, fixture.now,
                                 mode);
}

/// One quota of a random forest with one linear limit, and its bucket.
struct Bowl {
    std::string name;
    std::size_t parent = 0;  // its own place: it has none
    double rate = 0;
    double low = 0;
    double high = 0;
    Mode mode = Mode::enforce;
    double level = 0;

    [[nodiscard]] double chance(double weight) const {
        const double judged = level + std::min(weight, low);
        return std::clamp((judged - low) / (high - low), 0.0, 1.0);
    }
};

/// A number from these bytes for each of the things that a quota can be.
using Seeds = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>;

std::vector<Bowl> forest(const std::vector<Seeds>& seeds) {
    std::vector<Bowl> bowls;
    for (const auto& [parent, size, mode] : seeds) {
        if (bowls.size() == 12) {
            break;
        }
        Bowl bowl;
        const std::size_t place = bowls.size();
        bowl.name = "q" + std::to_string(place);
        bowl.parent = place > 0 && parent % 4 != 0 ? parent % place : place;
        bowl.rate = 1 + size % 8;
        bowl.low = 4 + size % 16;
        bowl.high = bowl.low + 4 + size % 32;
        bowl.mode = mode % 8 == 0 ? Mode::shadow : mode % 8 == 1 ? Mode::off : Mode::enforce;
        bowls.push_back(bowl);
    }
    return bowls;
}

std::vector<QuotaDefinition> definitions_of(const std::vector<Bowl>& bowls) {
    std::vector<QuotaDefinition> definitions;
    for (std::size_t i = 0; i < bowls.size(); ++i) {
        const Bowl& bowl = bowls[i];
        RateLimit limit = borders(bowl.rate, bowl.low, bowl.high);
        limit.law = Law::linear;
        definitions.push_back(
            quota(bowl.name, {limit},
                  bowl.parent == i ? std::nullopt : std::optional(bowls[bowl.parent].name)));
        definitions.back().mode = bowl.mode;
    }
    return definitions;
}

/// The quotas that apply to a request with these leaves, each once.
std::set<std::size_t> all_above(const std::vector<Bowl>& bowls,
                                const std::vector<std::size_t>& leaves) {
    std::set<std::size_t> all;
    for (std::size_t at : leaves) {
        while (all.insert(at).second && bowls[at].parent != at) {
            at = bowls[at].parent;
        }
    }
    return all;
}

/// One request of the law, as the model and the limiter see it.
struct Asked {
    std::vector<std::size_t> leaves;
    double weight = 1;
    bool peek = false;
    bool give_back = false;
};

Asked asked_by(const std::vector<Bowl>& bowls, std::uint32_t bits) {
    Asked asked;
    const std::size_t count = 1 + bits % 4;
    for (std::size_t i = 0; i < count; ++i) {
        asked.leaves.push_back((bits >> (2 + 4 * i)) % bowls.size());
    }
    asked.weight = 0.5 * (1 + (bits >> 18) % 6);
    asked.peek = (bits >> 24) % 4 == 0;
    asked.give_back = (bits >> 26) % 4 == 0;
    return asked;
}

/// What the limiter decided about the request must be what the levels of the model say.
void check_decision(const std::vector<Bowl>& bowls, const std::set<std::size_t>& all,
                    const Asked& asked, const Decision& decision) {
    double pass = 1;
    double largest = 0;
    for (const std::size_t i : all) {
        if (bowls[i].mode == Mode::enforce) {
            pass *= 1 - bowls[i].chance(asked.weight);
            largest = std::max(largest, bowls[i].chance(asked.weight));
        }
    }
    RC_ASSERT(std::abs(decision.discard_probability - (1 - pass)) < 1e-9);
    RC_ASSERT(decision.admitted || largest > 0);
    RC_ASSERT(!decision.admitted || largest < 1);
    if (!decision.admitted) {
        const auto named = std::find_if(bowls.begin(), bowls.end(), [&](const Bowl& bowl) {
            return bowl.name == decision.quota;
        });
        RC_ASSERT(named != bowls.end());
        RC_ASSERT(named->mode == Mode::enforce);
        RC_ASSERT(all.contains(static_cast<std::size_t>(named - bowls.begin())));
        RC_ASSERT(named->chance(asked.weight) == largest);
    }
}

/// Charges the model, and compares every bucket with the limiter's.
void charge_model(Fixture& fixture, std::vector<Bowl>& bowls, const std::set<std::size_t>& all,
                  const Asked& asked, const Decision& decision) {
    const bool charges = decision.admitted && !asked.peek;
    for (std::size_t i = 0; i < bowls.size(); ++i) {
        Bowl& bowl = bowls[i];
        const double now = std::max(0.0, fixture.level(bowl.name));  // it may have no instance yet
        const bool counts = charges && all.contains(i) && bowl.mode != Mode::off;
        // Only the limiter knows which of several quotas in shadow mode would have refused.
        const bool may_spare = counts && bowl.mode == Mode::shadow && decision.shadow_refused &&
                               bowl.chance(asked.weight) > 0;
        const bool spared = may_spare && std::abs(now - bowl.level) < 1e-6;
        bowl.level += counts && !spared ? asked.weight : 0;
        RC_ASSERT(std::abs(now - bowl.level) < 1e-6);
    }
}

}  // namespace

TEST_CASE("random forests: each level once, all or none, by the product, the fullest named") {
    const auto law = [](const std::vector<Seeds>& seeds,
                        const std::vector<std::uint32_t>& requests) {
        RC_PRE(!seeds.empty());
        std::vector<Bowl> bowls = forest(seeds);
        Fixture fixture(definitions_of(bowls));
        RC_ASSERT(fixture.errors.empty());
        for (const std::uint32_t bits : requests) {
            const Asked asked = asked_by(bowls, bits);
            std::vector<std::string> names;
            for (const std::size_t leaf : asked.leaves) {
                names.push_back(bowls[leaf].name);
            }
            const std::set<std::size_t> all = all_above(bowls, asked.leaves);
            for (std::uint32_t burst = 0; burst <= bits % 16; ++burst) {
                Weights weights;
                weights.requests = asked.weight;
                const Decision decision = check_all(
                    fixture, names, weights, asked.peek ? CheckMode::peek : CheckMode::charge);
                check_decision(bowls, all, asked, decision);
                const std::vector<Bowl> before = bowls;
                charge_model(fixture, bowls, all, asked, decision);
                if (asked.give_back) {
                    fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
                    bowls = before;
                }
            }
            const double gap = (bits >> 28) / 8.0;
            fixture.wait(gap);
            for (Bowl& bowl : bowls) {
                bowl.level = std::max(0.0, bowl.level - bowl.rate * gap);
            }
        }
    };
    CHECK(rc::check(law));
}

namespace {
/// A tenant's users and spaces, both below the tenant.
std::vector<QuotaDefinition> tenant() {
    return {quota("tenant", {per_second(1000)}), quota("user/{u}", {borders(1, 3, 3)}, "tenant"),
            quota("space/{w}", {borders(1, 5, 5)}, "tenant")};
}
}  // namespace

TEST_CASE("either list refuses, and what is above both is charged once") {
    Fixture fixture(tenant());
    for (int i = 0; i < 3; ++i) {
        CHECK(check_all(fixture, {"user/a", "space/1"}).admitted);
    }
    CHECK(fixture.level("tenant") == doctest::Approx(3));
    CHECK(fixture.level("user/a") == doctest::Approx(3));
    CHECK(fixture.level("space/1") == doctest::Approx(3));
    CHECK(check_all(fixture, {"user/a", "space/1"}).quota == "user/a");
    CHECK(check_all(fixture, {"user/b", "space/1"}).admitted);
    CHECK(check_all(fixture, {"user/b", "space/1"}).admitted);
    CHECK(check_all(fixture, {"user/b", "space/1"}).quota == "space/1");
    CHECK(fixture.level("user/b") == doctest::Approx(2));
    CHECK(fixture.level("tenant") == doctest::Approx(5));
    const Decision shown = check_all(fixture, {"user/b", "space/2"});
    CHECK(shown.admitted);
    CHECK(fixture.limiter.quota_name(shown) == "user/b");
    CHECK(shown.remaining == 0);
}

TEST_CASE("figures count a request once for each quota, a refusal for the one that is named") {
    Fixture fixture(tenant());
    for (int i = 0; i < 4; ++i) {
        static_cast<void>(check_all(fixture, {"user/a", "space/1", "user/a", "tenant"}));
    }
    int quotas = 0;
    fixture.limiter.for_each_statistics(fixture.now, [&](const DefinitionStatistics& figures) {
        ++quotas;
        CHECK(figures.offered == 4);
        CHECK(figures.admitted == 3);
        CHECK(figures.refused == (figures.quota == "user/{u}" ? 1 : 0));
    });
    CHECK(quotas == 3);
}

TEST_CASE("the same name in two lists, and a name above the other, are one chain") {
    Fixture fixture(tenant());
    CHECK(find_all(fixture, {"user/a", "user/a"}).size() == 1);
    CHECK(check_all(fixture, {"tenant", "user/a"}).admitted);
    CHECK(check_all(fixture, {"user/a", "tenant"}).admitted);
    CHECK(check_all(fixture, {"user/a", "user/a"}).admitted);
    CHECK(fixture.level("tenant") == doctest::Approx(3));
    CHECK(fixture.level("user/a") == doctest::Approx(3));
    CHECK(check_all(fixture, {"tenant", "user/a"}).quota == "user/a");
}

TEST_CASE("lists without a quota do not count; without any the request is unlimited") {
    Fixture fixture(tenant());
    CHECK(check_all(fixture, {"nobody", "space/1"}).charge);
    CHECK(fixture.level("space/1") == doctest::Approx(1));
    CHECK(check_all(fixture, {"nobody", "nothing"}).reason == Reason::no_quota);
    CHECK(check_all(fixture, {}).reason == Reason::no_quota);
}

TEST_CASE("response bytes are corrected in all chains, those above both once") {
    RateLimit bytes = per_second(1e6);
    bytes.unit = Unit::response_bytes;
    Fixture fixture({quota("all", {bytes}), quota("u/{u}", {bytes}, "all"),
                     quota("w/{w}", {per_second(100), bytes}, "all")});
    Decision decision = check_all(fixture, {"u/a", "w/1"});
    REQUIRE(decision.charge);
    fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, 5000,
                            fixture.now);
    fixture.limiter.add(fixture.thread, decision.charge, Unit::response_bytes, 100, fixture.now);
    const auto all_hold = [&](double weight) {
        CHECK(fixture.level("all") == doctest::Approx(weight));
        CHECK(fixture.level("u/a") == doctest::Approx(weight));
        CHECK(fixture.level("w/1", 1) == doctest::Approx(weight));
    };
    all_hold(5100);
    fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
    all_hold(100);
    CHECK(fixture.level("w/1", 0) == doctest::Approx(0));
}

TEST_CASE("when one chain's instance has gone, what both had is still given back, once") {
    Fixture fixture(tenant());
    QuotaDefinition gone = quota("gone", {per_second(10)}, "tenant");
    REQUIRE(fixture.put(gone).empty());
    const Decision first = check_all(fixture, {"gone", "space/1"});
    const Decision last = check_all(fixture, {"space/1", "gone"});
    REQUIRE(fixture.take_away("gone").empty());
    CHECK(fixture.level("tenant") == doctest::Approx(2));
    fixture.limiter.refund(fixture.thread, first.charge, fixture.now);
    CHECK(fixture.level("tenant") == doctest::Approx(1));
    CHECK(fixture.level("space/1") == doctest::Approx(1));
    fixture.limiter.refund(fixture.thread, last.charge, fixture.now);
    CHECK(fixture.level("tenant") == doctest::Approx(0));
    CHECK(fixture.level("space/1") == doctest::Approx(0));
}

TEST_CASE("every chain of a charge is held") {
    LimiterOptions options = Fixture::small();
    Fixture fixture(tenant(), options);
    const Decision decision = check_all(fixture, {"user/a", "space/1"});
    const Held held = fixture.limiter.hold(decision.charge);
    const auto rest = [&] {
        for (int i = 0; i < 1300; ++i) {
            fixture.wait(0.1);
            fixture.limiter.quiescent(fixture.thread);
            fixture.limiter.maintain(fixture.now);
        }
    };
    rest();
    CHECK(fixture.level("user/a") >= 0);
    CHECK(fixture.level("space/1") >= 0);
    fixture.limiter.unhold(held);
    rest();
    CHECK(fixture.level("user/a") == -1);
    CHECK(fixture.level("space/1") == -1);
}

TEST_CASE("a name's new instance takes the place of none that its own request needs") {
    LimiterOptions options = Fixture::small();
    options.max_instances = 2;
    Fixture fixture({quota("k/{key}", {borders(1, 4, 4)})}, options);
    CHECK(fixture.admits("k/idle", 2));
    CHECK(fixture.admits("k/mine"));
    fixture.wait(5);  // both are idle and empty; "k/idle" is looked at first
    CHECK(fixture.admits("k/idle", 0.5));
    fixture.wait(2);
    const Leaves leaves = find_all(fixture, {"k/mine", "k/new"});
    CHECK(leaves.size() == 2);
    CHECK(fixture.level("k/mine") == 0);
    CHECK(fixture.level("k/new") == 0);
    CHECK(fixture.level("k/idle") == -1);
}

TEST_CASE("a list without room uses the overflow instance, once for all lists") {
    QuotaDefinition keys = quota("k/{key}", {borders(1, 2, 2)}, "k");
    keys.max_instances = 1;
    Fixture fixture({quota("k", {per_second(1000)}), keys, quota("w/{w}", {borders(1, 50, 50)})});
    CHECK(fixture.admits("k/first"));
    int admitted = 0;
    for (int i = 0; i < 100; ++i) {
        const std::string number = std::to_string(i);
        admitted += check_all(fixture, {"k/one" + number, "w/1", "k/two" + number}).admitted;
    }
    CHECK(admitted == 20);  // ten times low, each request once
    CHECK(fixture.level("k") == doctest::Approx(21));
    CHECK(fixture.level("w/1") == doctest::Approx(20));
    CHECK(fixture.limiter.counters().overflowed == 100);
}

TEST_CASE("an overflow instance in two chains leads to the parents of both") {
    QuotaDefinition leaf = quota("{k}/leaf", {per_second(100)}, "{k}");
    leaf.max_instances = 1;
    Fixture fixture({quota("{k}", {borders(1, 3, 3)}), leaf});
    CHECK(fixture.admits("zero/leaf"));
    CHECK(fixture.admits("one"));
    CHECK(fixture.admits("two"));
    const Decision decision = check_all(fixture, {"one/leaf", "two/leaf"});
    CHECK(decision.admitted);
    CHECK(fixture.level("one") == doctest::Approx(2));
    CHECK(fixture.level("two") == doctest::Approx(2));
    fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
    CHECK(fixture.level("one") == doctest::Approx(1));
    CHECK(fixture.level("two") == doctest::Approx(1));
}

TEST_CASE("an instance that one chain only counts and another judges is judged, once") {
    QuotaDefinition keys = quota("k/{key}", {borders(1, 2, 2)}, "k");
    keys.max_instances = 1;
    Fixture fixture({quota("k", {per_second(1000)}), keys});
    CHECK(fixture.admits("k/first"));
    const LeafId judged = fixture.find("k/second");
    REQUIRE(judged.overflow_depth == 1);
    LeafId counted = judged;  // as while another thread makes an instance
    counted.unjudged_depth = 1;
    for (const bool counted_first : {true, false}) {
        Leaves leaves;
        leaves.add(counted_first ? counted : judged);
        leaves.add(counted_first ? judged : counted);
        REQUIRE(leaves.size() == 2);
        for (int i = 0; i < 10; ++i) {
            const Decision decision =
                fixture.limiter.check(fixture.thread, leaves, {}, fixture.now, CheckMode::charge);
            CHECK(decision.admitted);
            if (i > 0) {
                fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
            }
        }
    }
    CHECK(fixture.level("k") == doctest::Approx(3));
    CHECK(fixture.limiter.counters().overflowed == 20);
    int admitted = 0;
    for (int i = 0; i < 30; ++i) {
        admitted += fixture.check("k/third").admitted ? 1 : 0;
    }
    CHECK(admitted == 18);  // of ten times low two are used
    fixture.limiter.for_each_statistics(fixture.now, [](const DefinitionStatistics& figures) {
        if (figures.quota == "k") {
            CHECK(figures.offered == 51);
            CHECK(figures.refunded == 18);
        }
    });
}

TEST_CASE("a quota enforced in part asks for the leaf of its own chain, or the field") {
    QuotaDefinition users = quota("user/{u}", {per_second(0)});
    QuotaDefinition spaces = quota("space/{w}", {per_second(0)});
    spaces.enforced_share = 0.5;
    users.mode = Mode::off;
    Fixture fixture({users, spaces});
    int refused = 0;
    for (int w = 0; w < 200; ++w) {
        const std::string space = "space/" + std::to_string(w);
        const bool alone = fixture.check(space).admitted;
        refused += alone ? 0 : 1;
        for (int u = 0; u < 5; ++u) {
            const std::string user = "user/" + std::to_string(u);
            CHECK(check_all(fixture, {user, space}).admitted == alone);
            CHECK(check_all(fixture, {space, user}).admitted == alone);
        }
    }
    CHECK(refused > 70);
    CHECK(refused < 130);
}

TEST_CASE("the first list's clients are refused evenly for the other list's limit") {
    QuotaDefinition space = quota("space", {borders(1, 10, 20)});
    space.limits[0].law = Law::linear;
    Fixture fixture({quota("user/{u}", {per_second(1e6)}), space});
    Weights fill;
    fill.requests = 14;
    CHECK(fixture.check("space", fill, CheckMode::charge_without_judging).admitted);
    std::vector<int> refused(4);
    for (int i = 0; i < 4000; ++i) {
        const auto user = static_cast<std::size_t>(i % 4);
        const Decision decision =
            check_all(fixture, {"user/" + std::to_string(user), "space"}, {}, CheckMode::peek);
        CHECK(decision.discard_probability == doctest::Approx(0.5));
        refused[user] += decision.admitted ? 0 : 1;
    }
    for (const int count : refused) {
        CHECK(count > 480);
        CHECK(count < 520);
    }
}

TEST_CASE("the engine is told of each limit once, with what was admitted") {
    Fixture fixture(tenant());
    for (int i = 0; i < 3; ++i) {
        CHECK(check_all(fixture, {"user/a", "space/1"}).admitted);
    }
    std::size_t active = 0;
    fixture.limiter.drain_active([&](LimitRef limit) {
        const auto counts = fixture.limiter.read(limit, fixture.now);
        REQUIRE(counts);
        CHECK(counts->admitted == doctest::Approx(3));
        ++active;
    });
    CHECK(active == 3);
}
