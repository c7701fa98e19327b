#pragma once
// An owned limit with a virtual clock and the silence of its origins, and functions that make
// deltas of origins; and an owner that knows what all limits are. For tests.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sync/owned_limit.h"
#include "sync/owner.h"

namespace weir::sync::test {

inline gossip::MemberId member(std::uint32_t number) {
    return {Endpoint::v4(0x0a000000 + number, 7946), number + 1};
}

struct OwnedFixture {
    SyncSettings settings;
    SyncStatistics statistics;
    WeightLedger* ledger = nullptr;
    Silence silence{settings, statistics};
    OwnedLimit limit;
    Instant now{std::chrono::seconds(1000)};

    OwnedFixture() {
        limit.restart(1, now);
        limit.parameters = limiter::LimitParameters{100, 100, 200, -1, limiter::Law::adaptive};
        for (std::uint32_t i = 0; i < 8; ++i) {
            silence.number(member(i), now);
        }
    }
    DeltaEntry delta(double admitted, double offered, double rate) {
        DeltaEntry entry;
        entry.run = 5;
        entry.run_age = 100ms;
        entry.admitted = admitted;
        entry.offered = offered;
        entry.rate = rate;
        entry.keep_alive = 1s;
        return entry;
    }
    DeltaOutcome receive(MemberNumber from, const DeltaEntry& entry) {
        return limit.receive(settings, from, entry, now, {statistics, ledger});
    }
    /// There are more live members than those that fall silent here.
    void hear_another() { silence.set_live_others(99, now, now); }
    /// Most of the fleet is lost: this member is on the smaller side of a split.
    void lose_most() {
        for (std::uint32_t i = 3; i < 8; ++i) {
            silence.died(member(i), now);
        }
    }
    void pass(Duration time) {
        now += time;
        hear_another();
        limit.judge_silence(settings, silence, now, ledger);
        limit.advance(now);
    }
};

/// An owner with a virtual clock, for which all limits have the same name and parameters. What it
/// sends is lost, unless a test overrides it.
struct OwnerFixture : OwnerSink {
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    membership::Owners owners;
    Instant now{std::chrono::seconds(100'000)};
    limiter::LimitParameters parameters;
    bool names_known = true;
    sync::Owner owner{settings, silence, Random(3),
                      [this](const LimitKey&, std::string& name, limiter::LimitParameters& found,
                             limiter::Isolation&) {
                          if (names_known) {
                              name = "q";
                              found = parameters;
                          }
                          return names_known;
                      },
                      statistics};

    explicit OwnerFixture(const limiter::LimitParameters& limit) : parameters(limit) {}
    void send_total(const gossip::MemberId&, const TotalEntry&) override {}
    void send_handover(const gossip::MemberId&, const HandoverEntry&) override {}
    void send_order(const gossip::MemberId&, const QuietOrder&) override {}
    void ask_name(const gossip::MemberId&, const LimitKey&) override {}
    void ask_owner(const gossip::MemberId&, std::uint16_t) override {}

    void pass(Duration time, Duration step = 10ms) {
        for (const Instant end = now + time; now < end;) {
            now += step;
            owner.tick(now, *this);
        }
    }
};

/// An owner of one shard beside two others, which keeps the orders that it sends. Levels count up
/// to `low` of 100.
struct ThreeOwnersFixture : OwnerFixture {
    static constexpr double kLow = 100;
    std::vector<std::pair<gossip::MemberId, QuietOrder>> orders;
    LimitKey key{0, 0, 0, 1000};  // of the shard

    /// `place`: of this owner among the three.
    explicit ThreeOwnersFixture(double rate, std::size_t place = 0)
        : OwnerFixture({rate, kLow, 2 * kLow, -1, limiter::Law::adaptive}) {
        owners.recompute(std::vector<membership::OwnerCandidate>{
            {member(0), {}}, {member(1), {}}, {member(2), {}}});
        while (owners.of(membership::shard_of(key.quota))[place] != member(0)) {
            ++key.quota;
        }
        owner.set_self(member(0));
        owner.set_shares(4);
        owner.start(owners, now);
        pass(2s);
    }
    void send_order(const gossip::MemberId& to, const QuietOrder& order) override {
        orders.emplace_back(to, order);
    }
    /// What an origin tells, of which no owner has confirmed `untold`.
    [[nodiscard]] QuietEntry entry(double admitted, double untold) const {
        QuietEntry result;
        result.key = key;
        result.run = 7;
        result.admitted = admitted;
        result.untold = result.untold_full = result.fresh = untold;
        result.limit_rate = parameters.rate;
        result.low = parameters.low;
        return result;
    }
    MemberNumber number(std::uint32_t of) { return silence.number(member(of), now); }
    /// Whether the entry was taken in.
    bool tell(std::uint32_t from, const QuietEntry& told) {
        return owner.receive_quiet(member(from), number(from), told, now, *this).taken_in;
    }
};

/// A limit that does not drain, so that its level is the sum of all that was counted.
inline void stop_draining(OwnedLimit& limit) {
    limit.parameters = limiter::LimitParameters{1e-9, 1e6, 2e6, -1, limiter::Law::adaptive};
}

}  // namespace weir::sync::test
