// What an origin that owns a limit itself tells another owner of it.

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "sync/origin_fixture.h"
#include "sync/reporter.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using test::every;
using test::Origin;

constexpr Duration kAnswerTime = 60ms;  // for so long an owner is not asked again

gossip::MemberId member(std::uint32_t number) { return {Endpoint::v4(number, 7946), 1}; }

/// This member and another one own everything. The other one answers at once, and after kHeldBack
/// if it may.
struct PairedOrigin : Origin {
    static constexpr Duration kHeldBack = 100ms;
    struct Sent {
        Instant at;
        DeltaEntry entry;
    };

    explicit PairedOrigin(std::uint32_t self_number = 1) {
        self = member(self_number);
        reporter.set_self(self);
        static_cast<void>(
            owners.recompute(std::vector<membership::OwnerCandidate>{{self, {}}, {other, {}}}));
        edit(every("q", 1s));
        tick();
        wake("q");
    }
    void send_delta(const gossip::MemberId& owner, const DeltaEntry& entry) override {
        if (owner == other) {
            sent.push_back({now, entry});
        } else {
            answer(owner, entry);
        }
    }
    Duration delta_answer_wait(const gossip::MemberId&) override { return kAnswerTime; }
    bool answer_goes_to(const gossip::MemberId& owner) override {
        return answer_goes && owner == other;
    }
    void answer(const gossip::MemberId& owner, const DeltaEntry& delta) {
        TotalEntry total;
        total.key = delta.key;
        total.life = 3;
        total.filled = true;
        total.level = 150;
        total.rate = delta.rate;
        total.origins = 1;
        total.run = delta.run;
        total.admitted = delta.admitted;
        total.offered = delta.offered;
        static_cast<void>(reporter.receive(owner, total, now));
    }
    /// A tick in which so many requests come.
    void go_on(int requests = 2) {
        const auto leaf = limiter.find(thread, "q", now);
        for (int i = 0; i < requests; ++i) {
            static_cast<void>(limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge));
        }
        limiter.quiescent(thread);
        tick();
        while (answered < sent.size()) {
            const auto [at, entry] = sent[answered];
            if (entry.answer_may_wait && now - at < kHeldBack) {
                break;
            }
            ++answered;
            answer(other, entry);
        }
    }
    void go_on_for(Duration time) {
        for (const Instant end = now + time; now < end;) {
            go_on();
        }
    }
    /// Until a delta has gone whose answer may wait.
    void go_on_to_a_delta() {
        const std::size_t before = sent.size();
        for (int i = 0; i < 100 && sent.size() == before; ++i) {
            go_on();
        }
        REQUIRE(sent.size() == before + 1);
        REQUIRE(sent.back().entry.answer_may_wait);
        REQUIRE(answered == before);
    }

    gossip::MemberId self;
    const gossip::MemberId other = member(2);
    std::vector<Sent> sent;
    std::size_t answered = 0;
    bool answer_goes = false;
};

TEST_CASE("an owner lets another one's answers wait only when nothing was lost for long") {
    PairedOrigin origin;
    origin.go_on_for(4s);
    REQUIRE(origin.sent.size() > 15);
    for (const PairedOrigin::Sent& each : origin.sent) {
        CHECK_FALSE(each.entry.answer_may_wait);
    }
    origin.go_on_for(2s);
    const std::uint64_t before = origin.statistics.deltas_sent;
    origin.go_on_for(3s);
    CHECK(origin.statistics.deltas_resent == 0);
    CHECK(origin.sent.back().entry.keep_alive == origin.settings.owners_keep_alive);
    // Nine to the other owner, and one every 0.2 s to ourselves.
    CHECK(origin.statistics.deltas_sent - before <= 10 + 16);
}

TEST_CASE("a leap is told while an answer may wait, and is not left to wait itself") {
    PairedOrigin origin;
    origin.go_on_for(7s);
    origin.go_on_to_a_delta();
    origin.go_on();
    const std::size_t before = origin.sent.size();
    origin.go_on(200);
    origin.go_on(200);
    REQUIRE(origin.sent.size() > before);
    CHECK_FALSE(origin.sent[before].entry.answer_may_wait);
    CHECK(origin.statistics.deltas_resent == 0);
}

TEST_CASE("a delta goes with an answer shortly before its time, of the second owner still sooner") {
    for (const std::uint32_t number : {1u, 3u}) {
        CAPTURE(number);
        const Duration goes_after = number == 1 ? 200ms : 130ms;
        PairedOrigin origin(number);
        origin.go_on_for(7s);
        origin.go_on_to_a_delta();
        const Instant told = origin.now;
        origin.answer_goes = true;
        origin.go_on_to_a_delta();
        CHECK(origin.now - told >= goes_after - 10ms);
        CHECK(origin.now - told <= goes_after + 10ms);
    }
}

}  // namespace
}  // namespace weir::sync
