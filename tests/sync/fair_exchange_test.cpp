// Fair shedding in the fleet: the messages, and what an owner makes of them.

#include <doctest/doctest.h>

#include <array>
#include <utility>
#include <vector>

#include "gossip/wire.h"
#include "limiter/limiter.h"
#include "owned_fixture.h"
#include "sync/fair_exchange.h"

namespace weir::sync {
namespace {

using test::member;

const LimitKey kParent{quota_hash("p"), 0, 0, 1000};

ChildPart telling(std::uint16_t number, std::vector<limiter::ChildRate> children) {
    ChildPart part;
    part.parent = kParent;
    part.number = number;
    for (const limiter::ChildRate& child : children) {
        part.rates.total += child.rate;
    }
    part.rates.children = std::move(children);
    return part;
}

ChildPart through_bytes(const ChildPart& part) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    encode(writer, part);
    CHECK(writer.ok());
    ByteReader reader(writer.written());
    ChildPart read = decode_child_part(reader);
    CHECK(reader.ok());
    CHECK(plausible(read));
    return read;
}

struct Fixture : test::OwnerFixture, ChildSink {
    limiter::Limiter limiter;
    FairExchange fair{limiter, owner, statistics};
    std::vector<std::pair<gossip::MemberId, ChildPart>> answers;

    Fixture() : OwnerFixture({1000, 1000, 2000, -1, limiter::Law::adaptive}), limiter({}) {}
    void send_children(const gossip::MemberId& to, bool is_answer, const ChildPart& part) override {
        CHECK(is_answer);
        answers.emplace_back(to, part);
    }
    /// The last answer to this telling; all its parts.
    limiter::ChildRates tell(std::uint32_t from, const ChildPart& whole) {
        answers.clear();
        for (const ChildPart& part : parts_of(whole)) {
            fair.receive_rates(member(from), through_bytes(part), now, *this);
        }
        limiter::ChildRates rates;
        for (const auto& [to, part] : answers) {
            CHECK(to == member(from));
            const ChildPart read = through_bytes(part);
            rates.total = read.rates.total;
            rates.rest = read.rates.rest;
            rates.full = read.rates.full;
            rates.children.insert(rates.children.end(), read.rates.children.begin(),
                                  read.rates.children.end());
        }
        return rates;
    }
};

TEST_CASE("a telling survives its bytes, and a long one its parts") {
    ChildPart whole = telling(7, {{11, 12.5, 1}, {12, 4, 3}});
    whole.line = 2;
    whole.origins = 40;
    whole.rates.full = true;
    whole.rates.rest = 1.5;
    CHECK(through_bytes(whole) == whole);
    CHECK(parts_of(whole).size() == 1);
    std::vector<limiter::ChildRate> many;
    for (std::size_t i = 0; i < limiter::kKnownChildren; ++i) {
        many.push_back({i + 1, 8, 1});
    }
    const auto parts = parts_of(telling(8, many));
    CHECK(parts.size() == kMostParts);
    std::size_t children = 0;
    for (const ChildPart& part : parts) {
        CHECK(part.parts == kMostParts);
        children += through_bytes(part).rates.children.size();
    }
    CHECK(children == many.size());
}

TEST_CASE("values that cannot be are refused") {
    ChildPart part = telling(1, {{1, 5, 1}});
    CHECK(plausible(part));
    part.rates.children[0].share = 0;
    CHECK_FALSE(plausible(part));
    part = telling(1, {{1, -5, 1}});
    CHECK_FALSE(plausible(part));
    part = telling(1, {{1, 5, 1}});
    part.part = 1;
    CHECK_FALSE(plausible(part));
    part.parts = kMostParts + 1;
    CHECK_FALSE(plausible(part));
}

TEST_CASE_FIXTURE(Fixture, "an owner adds up what origins tell, each telling once") {
    (void)tell(1, telling(1, {{11, 100, 1}, {12, 40, 1}}));
    now += 100ms;
    auto sums = tell(2, telling(5, {{11, 50, 1}}));
    CHECK(sums.total == 190);
    REQUIRE(sums.children.size() == 2);
    CHECK(sums.children[0] == limiter::ChildRate{11, 150, 1});
    CHECK(sums.children[1] == limiter::ChildRate{12, 40, 1});
    now += 100ms;
    // The same once more, and an older one: nothing changes.
    CHECK(tell(2, telling(5, {{11, 50, 1}})) == sums);
    now += 100ms;
    CHECK(tell(2, telling(4, {{11, 500, 1}})).children.empty());
    // A newer one replaces it.
    now += 100ms;
    sums = tell(2, telling(6, {{13, 60, 1}}));
    CHECK(sums.total == 200);
    CHECK(sums.children[0] == limiter::ChildRate{11, 100, 1});
    CHECK(sums.children[1] == limiter::ChildRate{13, 60, 1});
    // Who falls silent is offered nothing any more.
    now += 3s;
    sums = tell(2, telling(7, {{13, 60, 1}}));
    CHECK(sums.total == 60);
    CHECK(sums.children.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "what a member that is gone was offered counts no more") {
    (void)tell(1, telling(1, {{11, 100, 1}, {12, 40, 1}}));
    now += 100ms;
    CHECK(tell(2, telling(1, {{11, 50, 1}})).total == 190);
    fair.forget(member(1));
    fair.forget(member(3));  // it has told nothing
    now += 100ms;
    const limiter::ChildRates sums = tell(2, telling(2, {{11, 150, 1}}));
    CHECK(sums.total == 150);
    REQUIRE(sums.children.size() == 1);
    CHECK(sums.children[0] == limiter::ChildRate{11, 150, 1});
}

TEST_CASE_FIXTURE(Fixture, "a lost part of a long telling does not forget its children") {
    std::vector<limiter::ChildRate> many;
    for (std::size_t i = 0; i < 2 * kChildrenPerPart; ++i) {
        many.push_back({i + 1, 8, 1});
    }
    CHECK(tell(1, telling(1, many)).children.size() == many.size());
    now += 200ms;
    const auto parts = parts_of(telling(2, many));
    answers.clear();
    fair.receive_rates(member(1), parts[1], now, *this);
    std::size_t children = 0;
    for (const auto& [to, part] : answers) {
        children += part.rates.children.size();
    }
    CHECK(children == many.size());
}

TEST_CASE_FIXTURE(Fixture, "of more children than can be known the highest are told") {
    std::vector<limiter::ChildRate> many;
    for (std::size_t i = 0; i < limiter::kKnownChildren; ++i) {
        many.push_back({i + 1, 8, 1});
    }
    (void)tell(1, telling(1, many));
    for (limiter::ChildRate& child : many) {
        child.child += 100'000;
        child.rate = 9;
    }
    now += 100ms;
    const auto sums = tell(2, telling(1, many));
    CHECK(sums.full);
    CHECK(sums.rest == 9);
    CHECK(sums.children.size() == limiter::kKnownChildren);
    CHECK(sums.total == 17 * static_cast<double>(limiter::kKnownChildren));
}

TEST_CASE_FIXTURE(Fixture, "the tables of an owner are bounded") {
    for (std::size_t i = 0; i <= FairExchange::kMostParents; ++i) {
        ChildPart part = telling(1, {{1, 5, 1}});
        part.parent.quota = i + 1;
        fair.receive_rates(member(1), part, now, *this);
    }
    CHECK(statistics.dropped_entries == 1);
}

}  // namespace
}  // namespace weir::sync
