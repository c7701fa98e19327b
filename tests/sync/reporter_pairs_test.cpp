// What an origin that owns a limit itself tells another owner of it.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
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

/// This member and another one own everything, if there are no strangers. The other one answers at
/// once, and after kHeldBack if it may.
struct PairedOrigin : Origin {
    static constexpr Duration kHeldBack = 100ms;
    struct Sent {
        Instant at;
        DeltaEntry entry;
    };

    explicit PairedOrigin(std::uint32_t self_number = 1, std::uint32_t strangers = 0) {
        self = member(self_number);
        reporter.set_self(self);
        std::vector<membership::OwnerCandidate> live{{self, {}}, {other, {}}};
        for (std::uint32_t i = 0; i < strangers; ++i) {
            live.push_back({member(100 + i), {}});
        }
        static_cast<void>(owners.recompute(live));
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
        total.level = level;
        total.rate = delta.rate;
        total.origins = 1;
        total.run = delta.run;
        total.admitted = delta.admitted;
        total.offered = delta.offered;
        static_cast<void>(reporter.receive(owner, total, now));
    }
    /// A tick in which so many requests come.
    void go_on(int requests = 2, std::string_view name = "q") {
        const auto leaf = limiter.find(thread, name, now);
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
    /// Requests come so seldom that the limit is far from hot.
    void go_on_calmly_for(Duration time) {
        level = 0;
        for (const Instant end = now + time; now < end;) {
            go_on(now.time_since_epoch() % 70ms == Duration::zero() ? 1 : 0);
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
    double level = 150;
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

TEST_CASE("what a limit that is not hot has to tell waits for a round of quiet limits") {
    PairedOrigin origin;
    origin.go_on_calmly_for(8s);
    const std::size_t before = origin.sent.size();
    origin.go_on_calmly_for(5s);
    REQUIRE(origin.sent.size() > before + 10);
    for (std::size_t i = before; i < origin.sent.size(); ++i) {
        CAPTURE(i - before);
        CHECK(origin.sent[i].at.time_since_epoch() % kTellingRound < 10ms);
    }
    while (!begins_telling_round(origin.now - 10ms, origin.now)) {
        origin.go_on(0);
    }
    origin.go_on(0);
    SUBCASE("a leap does not wait, and neither does its answer") {
        const std::size_t known = origin.sent.size();
        origin.go_on(45);
        REQUIRE(origin.sent.size() == known + 1);
        CHECK_FALSE(begins_telling_round(origin.now - 10ms, origin.now));
        CHECK_FALSE(origin.sent.back().entry.answer_may_wait);
        CHECK_FALSE(origin.reporter.find(test::key_of("q", 1s))->hot());
    }
    SUBCASE("nor does what is told again") {
        const std::size_t known = origin.sent.size();
        while (origin.sent.size() == known) {
            origin.go_on(origin.now.time_since_epoch() % 70ms == Duration::zero() ? 1 : 0);
        }
        origin.answered = origin.sent.size() + 1000;  // nothing more is answered
        const Instant told = origin.now;
        while (origin.sent.size() == known + 1) {
            origin.go_on(0);
        }
        CHECK(origin.now - told <= kAnswerMayWait + origin.settings.resend_after + 20ms);
        CHECK(origin.statistics.deltas_resent == 1);
    }
}

TEST_CASE("a limit that wakes later is told of as seldom from the beginning") {
    PairedOrigin origin;
    origin.go_on_for(7s);
    origin.edit(every("later", 1s));
    origin.wake("later");
    const std::size_t before = origin.sent.size();
    for (int i = 0; i < 3; ++i) {
        origin.go_on(2, "later");
    }
    REQUIRE(origin.sent.size() > before);
    for (std::size_t i = before; i < origin.sent.size(); ++i) {
        CHECK(origin.sent[i].entry.keep_alive == origin.settings.owners_keep_alive);
    }
}

TEST_CASE("after a stop of the process owners are told as often as all others") {
    PairedOrigin origin;
    origin.go_on_for(7s);
    origin.reporter.ask_anew(origin.now);
    const std::size_t before = origin.sent.size();
    origin.go_on_for(4s);
    REQUIRE(origin.sent.size() > before + 15);
    for (std::size_t i = before; i < origin.sent.size(); ++i) {
        CHECK(origin.sent[i].entry.keep_alive == origin.settings.keep_alive_floor);
    }
}

/// A fleet of twelve. This member has many limits, and few of them have the other one as an owner
/// beside this one.
struct OriginOfMany : PairedOrigin {
    static constexpr std::size_t kLimits = 400;
    static constexpr std::size_t kShared = 3;
    static constexpr std::size_t kUsedInTick = 20;  // so each is used five times a second

    OriginOfMany() : PairedOrigin(1, 10) {
        level = 0;
        find_names();
        for (const std::string& name : names) {
            edit(every(name, 1s));
            use(name);
        }
        tick();
        for (const std::string& name : names) {
            reporter.wake_quiet(test::key_of(name, 1s), 0, 0, now, owners);
        }
    }
    bool owned_by(const std::string& name, const gossip::MemberId& member) const {
        const membership::OwnerList& list = owners.of(membership::shard_of(quota_hash(name)));
        return std::find(list.begin(), list.end(), member) != list.end();
    }
    void find_names() {
        std::size_t shared = 0;
        for (int i = 0; i < 10'000 && (names.size() < kLimits || shared < kShared); ++i) {
            const std::string name = "many" + std::to_string(i);
            const bool both = owned_by(name, self) && owned_by(name, other);
            if (both ? shared < kShared
                     : !owned_by(name, other) && names.size() - shared < kLimits) {
                names.push_back(name);
                shared += both ? 1 : 0;
            }
        }
        REQUIRE(shared == kShared);
        REQUIRE(names.size() >= kLimits);
    }
    void use_all_for(Duration time) {
        for (const Instant end = now + time; now < end;) {
            for (std::size_t i = 1; i < kUsedInTick; ++i) {
                use(names[next++ % names.size()]);
            }
            go_on(1, names[next++ % names.size()]);
        }
    }

    std::vector<std::string> names;
    std::size_t next = 0;
};

TEST_CASE("where many limits are looked at in turn, none waits for a round") {
    OriginOfMany origin;
    origin.use_all_for(7s);
    REQUIRE(origin.reporter.awake() >= OriginOfMany::kLimits);
    const std::size_t before = origin.sent.size();
    const Instant began = origin.now;
    origin.use_all_for(3s);
    std::map<std::uint64_t, Instant> last;
    Duration longest{};
    for (std::size_t i = before; i < origin.sent.size(); ++i) {
        const auto& [at, entry] = origin.sent[i];
        longest = std::max(longest, at - last.try_emplace(entry.key.quota, began).first->second);
        last[entry.key.quota] = at;
    }
    for (const auto& [quota, at] : last) {
        longest = std::max(longest, origin.now - at);
    }
    CHECK(last.size() == OriginOfMany::kShared);
    CHECK(longest < 500ms);
    CHECK(origin.sent.back().entry.keep_alive == origin.settings.owners_keep_alive);
}

}  // namespace
}  // namespace weir::sync
