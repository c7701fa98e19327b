// What an owner of a limit of requests in flight grants, message by message.

#include "sync/allowance_owner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "gossip/wire.h"
#include "owned_fixture.h"

namespace weir::sync {
namespace {

const LimitKey kLimit{quota_hash("q"), 2, 0, 0};

template <class Message, class Decode>
Message through_bytes(const Message& message, Decode decode) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    encode(writer, message);
    CHECK(writer.ok());
    ByteReader reader(writer.written());
    Message read = decode(reader);
    CHECK(reader.ok());
    CHECK(plausible(read));
    return read;
}

/// Member 0 is the first owner of the limit; members 1 and 2 have heard of it.
struct Fixture : AllowanceSink {
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    membership::Owners owners;
    Instant now{1h};
    std::vector<std::pair<gossip::MemberId, AllowanceGrant>> grants;
    std::array<std::uint16_t, 4> numbers{};
    AllowanceOwner owner{settings, silence,
                         [] {
                             return std::vector{test::member(0), test::member(1), test::member(2)};
                         },
                         statistics};

    Fixture() {
        (void)owners.recompute(std::array{membership::OwnerCandidate{test::member(0), {}}});
        pass(10ms);
        pass(AllowanceOwner::kLearn);
    }
    void send_report(const gossip::MemberId&, const AllowanceReport&) override {
        FAIL("an owner does not report");
    }
    void send_grant(const gossip::MemberId& to, const AllowanceGrant& grant) override {
        grants.emplace_back(to, through_bytes(grant, decode_allowance_grant));
    }
    void pass(Duration time) {
        for (const Instant end = now + time; now < end;) {
            now += 10ms;
            silence.set_live_others(2, now, now);
            for (std::uint32_t i = 0; i < 3; ++i) {
                silence.heard(silence.number(test::member(i), now), now);
            }
            owner.tick(now, 3, 0, test::member(0), owners, *this);
        }
    }
    AllowanceReport report(std::uint32_t from, std::uint64_t allowance, std::uint64_t in_flight,
                           std::uint64_t wanted) {
        return {.key = kLimit,
                .number = ++numbers[from],
                .told = true,
                .most = 30,
                .allowance = allowance,
                .in_flight = in_flight,
                .wanted = wanted};
    }
    void receive(std::uint32_t from, const AllowanceReport& said) {
        owner.receive(test::member(from), silence.number(test::member(from), now),
                      through_bytes(said, decode_allowance_report), now, *this);
    }
    /// The last grant to the member since the last call; fails if there is none.
    AllowanceGrant last(std::uint32_t to) {
        std::optional<AllowanceGrant> found;
        std::erase_if(grants, [&](const auto& one) {
            if (one.first != test::member(to)) {
                return false;
            }
            found = one.second;
            return true;
        });
        REQUIRE(found);
        return *found;
    }
};

TEST_CASE_FIXTURE(Fixture, "what is free is granted at once, and silent members are asked") {
    receive(1, report(1, 11, 11, 30));
    // 10 are kept for each of the two others.
    CHECK(last(1).allowance == 11);
    const AllowanceGrant asked = last(2);
    CHECK(asked.number == 0);
    CHECK(asked.allowance == 1);
    receive(2, report(2, 1, 0, 0));
    CHECK(last(1).allowance == 20);
    receive(0, report(0, 1, 0, 0));
    const AllowanceGrant all = last(1);
    CHECK(all.allowance == 30);
    CHECK(all.number == 1);
    CHECK(!all.scarce);
    CHECK(all.origins == 3);
}

TEST_CASE_FIXTURE(Fixture,
                  "what shrinks counts until it is confirmed and its requests have ended") {
    receive(1, report(1, 30, 30, 60));
    receive(0, report(0, 1, 0, 0));
    receive(2, report(2, 1, 1, 60));
    const AllowanceGrant smaller = last(1);
    CHECK(smaller.allowance == 15);
    CHECK(smaller.scarce);
    CHECK(last(2).allowance <= 1);
    receive(1, report(1, 15, 28, 60));
    CHECK(last(2).allowance == 2);
    receive(1, report(1, 15, 15, 60));
    CHECK(last(2).allowance == 15);
}

TEST_CASE_FIXTURE(Fixture,
                  "an earlier report changes nothing, and a grant is sent until confirmed") {
    const AllowanceReport early = report(1, 5, 5, 5);
    receive(1, report(1, 20, 20, 20));
    receive(0, report(0, 1, 0, 0));
    receive(2, report(2, 1, 1, 20));
    CHECK(last(1).allowance == 15);
    receive(1, early);
    CHECK(grants.end() == std::find_if(grants.begin(), grants.end(), [](const auto& one) {
              return one.first == test::member(1);
          }));
    pass(400ms);
    CHECK(last(1).allowance == 15);
}

TEST_CASE_FIXTURE(Fixture, "a new owner grants nothing more before it has learned") {
    owner.stopped(now);
    receive(1, report(1, 11, 11, 30));
    CHECK(last(1).allowance == 11);
    pass(AllowanceOwner::kLearn + 100ms);
    receive(1, report(1, 11, 11, 30));
    CHECK(last(2).allowance == 1);  // others are asked now
}

TEST_CASE_FIXTURE(Fixture, "when nobody wants more than an equal part, all are let go") {
    receive(1, report(1, 25, 20, 25));
    receive(0, report(0, 1, 0, 0));
    receive(2, report(2, 1, 0, 0));
    pass(AllowanceOwner::kCalm + 100ms);
    receive(1, report(1, 25, 3, 4));
    const AllowanceGrant shrunk = last(1);
    CHECK(shrunk.told);
    CHECK(shrunk.allowance == 11);
    receive(1, report(1, 11, 3, 4));
    CHECK(!last(1).told);
    receive(2, report(2, 1, 0, 0));
    CHECK(!last(2).told);
}

TEST_CASE_FIXTURE(Fixture, "whoever is not the first owner grants nothing") {
    const membership::OwnerCandidate other{test::member(1), {}};
    (void)owners.recompute(std::array{other});
    pass(10ms);
    receive(2, report(2, 11, 11, 30));
    CHECK(grants.empty());
    CHECK(statistics.refused_not_owner == 1);
}

TEST_CASE("values that cannot be are refused") {
    AllowanceReport report{.key = kLimit, .number = 1, .most = 5};
    CHECK(plausible(report));
    report.wanted = 1'000'000'000;
    CHECK(!plausible(report));
    AllowanceGrant grant{.key = kLimit};
    CHECK(plausible(grant));
    grant.key.kind = 0;
    CHECK(!plausible(grant));
    grant = {.key = kLimit, .allowance = 1'000'000'000'000};
    CHECK(!plausible(grant));
}

}  // namespace
}  // namespace weir::sync
