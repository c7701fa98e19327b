#pragma once
// The owner's side of the counter synchronisation: the limits of the shards that this sidecar owns.
// It answers deltas with totals, publishes totals when the users' reckoning has become too wrong,
// hands limits over when owners change, and asks the other owners for their sums when it begins.
// Its cost depends on the limits with load: one that nobody offers anything rests. It is not looked
// at until it is heard of again, or until its level has drained and it can be forgotten.
// Belongs to the control thread. Borrows everything that it is given.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/random.h"
#include "membership/owners.h"
#include "sync/hot_table.h"
#include "sync/kept_level.h"
#include "sync/owned_limit.h"
#include "sync/owned_table.h"
#include "sync/pacing.h"
#include "sync/quiet_sums.h"
#include "sync/silence.h"
#include "sync/statistics.h"

namespace weir::sync {

/// Sends the messages of an owner. The receiver may be this member itself.
class OwnerSink {
  public:
    virtual ~OwnerSink() = default;
    virtual void send_total(const gossip::MemberId& to, const TotalEntry& entry) = 0;
    /// Whether totals that nobody has asked for may be sent now. Publications without room are put
    /// off: what is published later is newer.
    [[nodiscard]] virtual bool has_room_to_publish(bool /*urgent*/) { return true; }
    virtual void send_handover(const gossip::MemberId& to, const HandoverEntry& entry) = 0;
    virtual void send_order(const gossip::MemberId& to, const QuietOrder& order) = 0;
    virtual void ask_name(const gossip::MemberId& to, const LimitKey& key) = 0;
    virtual void send_name(const gossip::MemberId& /*to*/, const NameEntry& /*entry*/) {}
    /// Asks another owner for its sums of these shards (one bit for each).
    virtual void ask_owner(const gossip::MemberId& to, std::uint16_t shards) = 0;
};

/// Finds name and parameters of a limit that this member knows as a reporter or by its definitions.
/// False if it does not. The argument `name` may be empty, if the name is not known yet.
using Resolver =
    std::function<bool(const LimitKey& key, std::string& name, limiter::LimitParameters& parameters,
                       limiter::Isolation& isolation)>;

/// What became of an entry about a quiet limit.
struct QuietReceipt {
    bool taken_in = false;
    std::uint32_t place = 0;  // see QuietEntry; 0: none
};

class Owner {
  public:
    Owner(const SyncSettings& settings, Silence& silence, Random random, Resolver resolver,
          SyncStatistics& statistics, WeightLedger* ledger = nullptr);

    void set_self(const gossip::MemberId& self) { self_ = self; }
    void start(const membership::Owners& owners, Instant now);
    /// Takes a delta in. False when there is nothing to answer, because it was refused.
    [[nodiscard]] bool receive(const gossip::MemberId& from, MemberNumber number,
                               const DeltaEntry& delta, Instant now, OwnerSink& sink);
    /// The limit's total, for the answer to an origin's delta; nothing if this member does not own
    /// the limit any more.
    [[nodiscard]] std::optional<TotalEntry> answer(MemberNumber number, const LimitKey& key,
                                                   Instant now);
    /// Takes in what an origin tells of a quiet limit. It is not taken in where this member is not
    /// the limit's first owner or the limit is awake; then it must not be confirmed.
    [[nodiscard]] QuietReceipt receive_quiet(const gossip::MemberId& from, MemberNumber number,
                                             const QuietEntry& entry, Instant now, OwnerSink& sink);
    /// Completes an entry that names the limit by its place. False when this origin has told
    /// nothing of that run there.
    [[nodiscard]] bool find_place(MemberNumber from, QuietEntry& entry) {
        return quiet_.find_place(from, entry);
    }
    void set_shares(double shares) { quiet_.set_shares(shares); }
    /// The first owner of a limit says what it was told of it while it was quiet.
    void take_level(const QuietOrder& order, Instant now);
    /// The former first owner of a quiet limit hands over what it was told.
    void take_over(const QuietOrder& order, Instant now, OwnerSink& sink);
    /// Another number than before when a level that may be kept in a snapshot has risen.
    [[nodiscard]] std::uint64_t level_news() const { return level_news_; }
    /// What is to be kept of the limit with this slot, now; no level if there is no such limit, or
    /// another slot has it. Slots are those below level_slots(), and of quiet limits those below
    /// quiet_slots().
    [[nodiscard]] KeptLevel kept_level(std::uint32_t slot, Instant now);
    [[nodiscard]] KeptLevel kept_quiet_level(std::uint32_t slot, Instant now);
    [[nodiscard]] std::uint32_t level_slots() const { return limits_.slots(); }
    [[nodiscard]] std::uint32_t quiet_slots() const { return quiet_.slots(); }
    /// A snapshot says that this was counted of a limit. A level that is higher stays.
    void raise(const KeptLevel& kept, Instant now);
    /// The same, and what was told of it while it was quiet, if this member is the first owner. To
    /// be called when other owners have had the time to hand over what they know.
    void restore(const KeptLevel& read, HandedBy who, Instant now, OwnerSink& sink);
    /// The same, as another member has read it.
    void take_kept(const QuietOrder& order, MemberNumber from, Instant now, OwnerSink& sink);
    /// Sends the publications that wait for a datagram to this user. To be called when one is sent
    /// to it anyway.
    void publish_deferred(MemberNumber user, Instant now, OwnerSink& sink);
    /// Takes a hand-over in. False when it is refused, because the limit cannot have such a level.
    bool receive(MemberNumber from, const HandoverEntry& entry, Instant now, OwnerSink& sink);
    /// Whether the member was an owner before the shard's owners last changed.
    [[nodiscard]] bool was_owner(const gossip::MemberId& member, membership::Shard shard) const;
    void name_told(MemberNumber from, const NameEntry& entry, Instant now);
    /// Another owner of these shards asks for the sums here.
    void owner_asked(const gossip::MemberId& from, std::uint16_t shards, Instant now,
                     OwnerSink& sink);
    void shard_changed(const membership::OwnerChange& change, Instant now, OwnerSink& sink);
    /// Takes what this member's reporter knows of a limit whose shard it has just begun to own.
    void fill(const HandoverEntry& entry, const std::string& name,
              const limiter::LimitParameters& parameters, Instant now);
    /// Hands all limits over to the owners that remain.
    void leave(const membership::Owners& owners, Instant now, OwnerSink& sink);
    void stopped(Instant now, const membership::Owners& owners);
    void refresh_parameters(Instant now);
    /// These members are gone for so long that their cells are of no use any more.
    void forget(const std::vector<MemberNumber>& members, Instant now);
    /// These members do not go on with what they told of quiet limits.
    void expect_no_more(const std::vector<MemberNumber>& members, Instant now) {
        quiet_.expect_no_more(members, now);
    }
    void tick(Instant now, OwnerSink& sink);

    /// The hottest shedding limits, as rumours.
    void note_hot(HotTable& hot, Instant now);
    [[nodiscard]] const OwnedLimit* find(const LimitKey& key) const { return limits_.find(key); }
    /// Every limit that is kept here, in no order.
    void for_each(const std::function<void(const OwnedLimit&)>& visit) const;
    [[nodiscard]] std::size_t size() const { return limits_.size(); }
    /// The limits that are looked at regularly; the others rest.
    [[nodiscard]] std::size_t awake() const { return limits_.awake(); }
    [[nodiscard]] std::size_t cells() const;
    /// The quiet limits of which this owner was told.
    [[nodiscard]] std::size_t quiet() const { return quiet_.size(); }
    [[nodiscard]] bool owns(membership::Shard shard) const { return shards_[shard].owned; }
    /// The share of what may be sent and received that was used in the last second.
    void note_load(double load) { pacing_.note_second(settings_, load); }
    [[nodiscard]] std::uint8_t pace() const { return pacing_.tenths(); }

  private:
    /// A name is asked for so many times more while nobody speaks of the limit.
    static constexpr std::uint8_t kNameAsks = 6;

    struct ShardState {
        bool owned = false;
        std::uint8_t asks_left = 0;
        Instant born{};
        Instant lost{};
        Instant quiet_given{};         // when quiet sums were handed over to another first owner
        membership::OwnerList owners;  // now, best first; with ourselves
        membership::OwnerList others;  // those that are asked for their sums
        membership::OwnerList former;
    };
    struct DeferredPublications {
        std::vector<LimitKey> limits;
        Instant since{};
    };
    OwnedLimit* obtain(const LimitKey& key, Instant now);
    // In owner_quiet.cpp.
    [[nodiscard]] bool is_first(membership::Shard shard) const;
    [[nodiscard]] bool is_awake(const OwnedLimit& limit, Instant now) const;
    [[nodiscard]] std::uint32_t place_of(const LimitKey& key);
    bool order_one(const gossip::MemberId& origin, MemberNumber number, const QuietEntry& entry,
                   Instant now, OwnerSink& sink);
    bool count_beside(OwnedLimit& limit, const gossip::MemberId& origin, MemberNumber number,
                      const QuietEntry& entry, Instant now, OwnerSink& sink);
    void tell_level(const LimitKey& key, double level, OwnerSink& sink);
    void wake_quiet(const LimitKey& key, Instant now, OwnerSink& sink);
    void hand_quiet_over(membership::Shard shard, const gossip::MemberId& to, Instant now,
                         OwnerSink& sink);
    void hand_quiet_over_again(const gossip::MemberId& to, std::uint16_t shards, Instant now,
                               OwnerSink& sink);
    void send_given(const QuietTold& told, const gossip::MemberId& to, OwnerSink& sink);
    void give_to_first(QuietTold& told, Instant now, OwnerSink& sink);
    void order_to_wake(const LimitKey& key, bool all, OwnerSink& sink);
    void note_awake(const LimitKey& key, MemberNumber origin, Instant now, OwnerSink& sink);
    void let_fall_quiet(const gossip::MemberId& origin, const OwnedLimit& limit,
                        const DeltaEntry& delta, Instant now, OwnerSink& sink);
    void resolve(OwnedLimit& limit);
    void learn(OwnedLimit& limit, const limiter::LimitParameters& parameters);
    void begin_asking(OwnedLimit& limit, MemberNumber whom, Instant now, OwnerSink& sink);
    void ask_name(OwnedLimit& limit, MemberNumber whom, Instant now, OwnerSink& sink);
    void ask_name_again(OwnedLimit& limit, Instant now, OwnerSink& sink);
    [[nodiscard]] DeltaEntry bounded(const OwnedLimit& limit, MemberNumber from,
                                     const DeltaEntry& delta) const;
    [[nodiscard]] AfterLook look_if_due(OwnedLimit& limit, Instant now, OwnerSink& sink);
    /// Whether the limit has to be looked at again.
    [[nodiscard]] bool look_at(OwnedLimit& limit, Instant now, OwnerSink& sink);
    [[nodiscard]] bool may_rest(const OwnedLimit& limit);
    void publish(OwnedLimit& limit, bool urgent, Instant now, OwnerSink& sink);
    [[nodiscard]] bool crowded() const;
    [[nodiscard]] double publish_error() const;
    void defer_publication(OwnedLimit& limit, Instant now);
    void defer_publication(const LimitKey& key, OwnedCell& cell, Instant now);
    void publish_overdue(Instant now, OwnerSink& sink);
    // In owner_levels.cpp.
    [[nodiscard]] double kept_bound(const QuietTold& told) const;
    [[nodiscard]] KeptLevel bounded(KeptLevel kept) const;
    void learn_parameters(OwnedLimit& limit, const KeptLevel& kept, Instant now);
    void count_at_all_owners(const KeptLevel& kept, double level, Instant now, OwnerSink& sink);
    void note_level(const OwnedLimit& limit) {
        level_news_ += limit.parameters && is_long(*limit.parameters) ? 1U : 0U;
    }
    // In owner_shards.cpp.
    void hand_over(const gossip::MemberId& to, std::uint16_t shards, Instant now, OwnerSink& sink);
    void ask_soon();
    void ask_again(Instant now, OwnerSink& sink);
    void begin_shard(membership::Shard shard, const membership::OwnerList& owners, Instant now);
    [[nodiscard]] std::uint32_t draw_life();

    const SyncSettings& settings_;
    Silence& silence_;
    Random random_;
    Resolver resolver_;
    SyncStatistics& statistics_;
    WeightLedger* ledger_;
    gossip::MemberId self_;

    std::array<ShardState, membership::kShards> shards_;
    OwnedTable limits_;
    QuietSums quiet_;
    std::map<MemberNumber, DeferredPublications> deferred_;  // publications that wait, by user
    std::uint64_t ticks_ = 0;
    std::size_t names_left_ = 0;     // how many names may still be asked for in this tick
    std::size_t refusing_idly_ = 0;  // limits awake that refuse requests, although none come
    std::uint64_t level_news_ = 0;
    bool leaves_ = false;  // it has given what it knows to others, and this process ends
    Instant asked_at_{};
    bool tells_first_ = false;  // it was stopped, and has not asked since
    Pacing pacing_;
};

}  // namespace weir::sync
