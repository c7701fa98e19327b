// What an owner notes of the weight that it is told of: each unit goes to one fate, and with the
// cells they add up.
#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "owned_fixture.h"

using namespace weir;
using namespace weir::sync;
using namespace weir::sync::test;

namespace {

struct Sums final : WeightLedger {
    void note(const LimitKey& key, std::uint32_t life, WeightFate fate, double weight) override {
        sums[{key, life}][fate] += weight;
    }
    void counted_quietly(const LimitKey&, double) override {}
    void run_began(const LimitKey&, std::uint32_t) override {}
    std::map<std::pair<LimitKey, std::uint32_t>, std::map<WeightFate, double>> sums;
};

struct Fixture : OwnedFixture {
    Fixture() {
        limit.key = {77, 0, 0, 1000};
        ledger = &account;
        stop_draining(limit);
    }
    double sum(WeightFate fate) { return account.sums[{limit.key, limit.life}][fate]; }
    /// Cells and what was forgotten of them, less all that is accounted for.
    double unaccounted() {
        double cells = sum(WeightFate::forgotten);
        for (const OwnedCell& cell : limit.cells) {
            cells += cell.counts.net();
        }
        return cells -
               (sum(WeightFate::counted) + sum(WeightFate::first_sight) + sum(WeightFate::late) +
                sum(WeightFate::ceiling) + sum(WeightFate::refused) - sum(WeightFate::drained));
    }
    /// An origin has admitted `first`, and ten seconds of silence later `later` in all.
    void receive_late(double first, double later) {
        now += 5s;
        receive(1, delta(first, first, 0));
        now += 10s;
        DeltaEntry late = delta(later, later, 0);
        late.oldest_age = 10s;
        receive(1, late);
    }
    Sums account;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an increase is counted, also the one that was reckoned in advance") {
    now += 5s;
    receive(1, delta(10, 10, 0));
    CHECK(sum(WeightFate::counted) == 10);
    receive(1, delta(20, 20, 50));
    pass(100ms);
    receive(1, delta(27, 27, 50));
    CHECK(sum(WeightFate::counted) == doctest::Approx(27));
    CHECK(unaccounted() == doctest::Approx(0));
    CHECK(account.sums.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "each rule forgives into a sum of its own") {
    SUBCASE("rule 1: what a run told before the owner began") {
        receive(1, delta(10, 10, 0));
        CHECK(sum(WeightFate::first_sight) == 10);
        CHECK(sum(WeightFate::counted) == 0);
    }
    SUBCASE("rule 2: what is older than its last second, as far as the limit has drained") {
        limit.parameters->rate = 1000;
        receive_late(10, 110);
        CHECK(sum(WeightFate::late) == doctest::Approx(90));
        CHECK(sum(WeightFate::counted) == doctest::Approx(20));
    }
    SUBCASE("rule 2: what would fill the bucket above its balance, too") {
        limit.parameters = limiter::LimitParameters{1e-9, 100, 200, -1, limiter::Law::adaptive};
        receive_late(120, 620);
        CHECK(limit.bucket.level == doctest::Approx(150));
        CHECK(sum(WeightFate::late) == doctest::Approx(470));
        CHECK(sum(WeightFate::counted) == doctest::Approx(150));
    }
    SUBCASE("rule 2 without parameters") {
        limit.parameters.reset();
        now += 5s;
        receive(1, delta(10, 10, 0));
        CHECK(sum(WeightFate::counted) == 10);
    }
    SUBCASE("rule 3: above the ceiling") {
        limit.parameters = limiter::LimitParameters{1e-9, 100, 200, -1, limiter::Law::adaptive};
        now += 5s;
        receive(1, delta(500, 500, 0));
        CHECK(sum(WeightFate::counted) == doctest::Approx(limit.bucket.level));
        CHECK(sum(WeightFate::ceiling) == doctest::Approx(500 - limit.bucket.level));
    }
    CHECK(unaccounted() == doctest::Approx(0));
}

TEST_CASE_FIXTURE(Fixture, "a lie is refused, in the first word of a run and in later ones") {
    limit.parameters = limiter::LimitParameters{1e-9, 100, 200, -1, limiter::Law::adaptive};
    now += 5s;
    REQUIRE(receive(1, delta(1e5, 1e5, 0)) == DeltaOutcome::leaping);
    CHECK(sum(WeightFate::refused) == 1e5);
    REQUIRE(receive(1, delta(3e5, 3e5, 0)) == DeltaOutcome::leaping);
    CHECK(sum(WeightFate::refused) == 3e5);
    CHECK(unaccounted() == doctest::Approx(0));
}

TEST_CASE_FIXTURE(Fixture, "what was reckoned, never came and has drained already") {
    limit.parameters = limiter::LimitParameters{100, 100, 200, -1, limiter::Law::adaptive};
    now += 5s;
    receive(1, delta(10, 10, 50));
    pass(500ms);
    receive(1, delta(10, 10, 50));
    CHECK(sum(WeightFate::drained) > 5);
    CHECK(unaccounted() == doctest::Approx(0));
}

TEST_CASE_FIXTURE(Fixture, "of a limit made smaller what is above the new ceiling is cut") {
    now += 5s;
    receive(1, delta(500, 500, 0));
    limit.parameters = limiter::LimitParameters{1e-9, 100, 200, 0, limiter::Law::adaptive};
    receive(1, delta(500, 500, 0));  // nothing new was admitted
    CHECK(limit.bucket.level == 200);
    CHECK(sum(WeightFate::counted) == doctest::Approx(200));
    CHECK(sum(WeightFate::ceiling) == doctest::Approx(300));
    CHECK(unaccounted() == doctest::Approx(0));
}

TEST_CASE_FIXTURE(Fixture, "what an edge has drained below zero is no part of what is counted") {
    limit.parameters = limiter::LimitParameters{1, 5, 5, -1, limiter::Law::adaptive};
    now += 5s;
    receive(1, delta(1, 1, 0));
    now += 20s;
    receive(1, delta(1, 2, 0));
    REQUIRE(limit.bucket.level == -3);
    CHECK(sum(WeightFate::counted) == 1);
    CHECK(sum(WeightFate::ceiling) == 0);
    receive(1, delta(2, 3, 0));
    REQUIRE(limit.bucket.level == 1);
    CHECK(sum(WeightFate::counted) == 2);
    CHECK(unaccounted() == doctest::Approx(0));
}

TEST_CASE_FIXTURE(Fixture, "cells that are forgotten: for a new run, and for long silence") {
    now += 5s;
    receive(1, delta(10, 10, 0));
    now += 1s;
    DeltaEntry next = delta(4, 4, 0);
    next.run = 6;
    receive(1, next);
    CHECK(sum(WeightFate::forgotten) == 10);
    CHECK(unaccounted() == doctest::Approx(0));
    silence.gone(member(1), now);
    pass(80s);
    REQUIRE(limit.cells.empty());
    CHECK(sum(WeightFate::forgotten) == 14);
    CHECK(unaccounted() == doctest::Approx(0));
}

TEST_CASE_FIXTURE(Fixture, "another life has an account of its own") {
    now += 5s;
    receive(1, delta(10, 10, 0));
    limit.restart(2, now);
    CHECK(sum(WeightFate::counted) == 0);
    receive(1, delta(15, 15, 0));
    CHECK(sum(WeightFate::first_sight) == 15);
    CHECK(unaccounted() == 0);
    CHECK(account.sums.size() == 2);
}
