#pragma once
// The owner's side of allowances (allowance_origin.h): the first owner of a limit of requests in
// flight divides it among the members. It counts for each origin the most that this one may use by
// now: what it said last, what was granted since, or what it has in flight. An allowance that
// shrinks so counts in full until the origin has confirmed the smaller one, and only what is
// really free is granted to others: together the origins never admit more than the limit says, and
// one request for each of them (docs/decisions/0159-allowances-follow-the-load.md). Members that
// say nothing have an equal part; the owner asks for it when others want more.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns its table; borrows silence
// and statistics.
// Invariants: the table has at most kMostLimits limits and kMostOrigins origins of all limits. A
// member that has just become the first owner of a shard grants nothing for kLearn: the origins
// tell it meanwhile what they may use.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "membership/owners.h"
#include "sync/allowance_messages.h"
#include "sync/allowance_origin.h"
#include "sync/settings.h"
#include "sync/silence.h"

namespace weir::sync {

class AllowanceOwner {
  public:
    static constexpr std::size_t kMostLimits = std::size_t{1} << 16;
    static constexpr std::size_t kMostOrigins = std::size_t{1} << 18;
    static constexpr Duration kLearn = std::chrono::seconds(1);
    /// An origin keeps its allowance for so long after nobody wanted more than an equal part.
    static constexpr Duration kCalm = std::chrono::seconds(5);

    /// What is known of an origin of a limit.
    struct Origin {
        MemberNumber number = 0;
        bool reported = false;  // else it was asked for its equal part
        bool held = false;      // it cannot be heard, and its share is kept
        AllowanceReport said;
        std::uint64_t granted = 0;       // the newest
        std::uint64_t most_granted = 0;  // since it reported
        Instant heard{};
        Instant told{};  // when the newest grant was sent
    };

    /// `live` returns all live members that share limits, this one included if it does.
    AllowanceOwner(const SyncSettings& settings, Silence& silence,
                   std::function<std::vector<gossip::MemberId>()> live, SyncStatistics& statistics)
        : settings_(settings), silence_(silence), live_(std::move(live)), statistics_(statistics) {}

    /// Looks at some of the limits, each several times a second. `members`: as for
    /// AllowanceOrigin::tick(). `held`: those of them that were given up and whose share is kept.
    void tick(Instant now, std::uint32_t members, std::uint32_t held, const gossip::MemberId& self,
              const membership::Owners& owners, AllowanceSink& sink);
    /// An origin reports. Ignored unless this member is the first owner of the limit.
    void receive(const gossip::MemberId& from, MemberNumber number, const AllowanceReport& report,
                 Instant now, AllowanceSink& sink);
    /// This process was stopped: what it knows is old.
    void stopped(Instant now);

    [[nodiscard]] std::size_t size() const { return by_key_.size(); }

  private:
    struct KeyHash {
        std::size_t operator()(const LimitKey& key) const { return hash(key); }
    };
    struct Limit {
        LimitKey key;
        std::uint64_t most = 0;
        std::map<gossip::MemberId, Origin> origins;
        Instant busy{};     // when an origin last wanted more than an equal part
        Instant planned{};  // when it was last divided
        bool scarce = false;
        /// On one side of a split: all that this side may use. Nothing: the whole limit.
        std::optional<std::uint64_t> ceiling;
    };
    /// How a limit is divided at the moment.
    struct Plan;

    void follow_owners(Instant now, const gossip::MemberId& self, const membership::Owners& owners);
    [[nodiscard]] bool is_first(const LimitKey& key) const;
    [[nodiscard]] bool learns(const LimitKey& key, Instant now) const;
    [[nodiscard]] Limit* find_or_add(const LimitKey& key);
    void remove(std::uint32_t slot);
    void judge(Limit& limit, Instant now);
    [[nodiscard]] std::uint64_t equal_part(const Limit& limit) const;
    [[nodiscard]] std::uint64_t counted(const Limit& limit, const Origin& origin) const;
    [[nodiscard]] Plan make_plan(Limit& limit, Instant now) const;
    void divide_anew(Limit& limit, Instant now, AllowanceSink& sink);
    static void give(Plan& plan);
    static void take(Plan& plan);
    std::uint64_t ask_others(Limit& limit, std::uint64_t missing, Instant now, AllowanceSink& sink);
    [[nodiscard]] bool all_have_equal_parts(const Limit& limit) const;
    void send(const Limit& limit, const gossip::MemberId& to, Origin& origin, Instant now,
              AllowanceSink& sink);

    const SyncSettings& settings_;
    Silence& silence_;
    std::function<std::vector<gossip::MemberId>()> live_;
    SyncStatistics& statistics_;
    gossip::MemberId self_;
    std::uint32_t members_ = 1;
    std::uint32_t held_ = 0;   // members whose share is kept on this side of a split
    std::uint16_t first_ = 0;  // the shards of which this member is the first owner
    std::array<Instant, membership::kShards> since_{};
    std::uint16_t split_ = 0;  // shards that it became the first owner of in a split
    std::vector<Limit> limits_;
    std::unordered_map<LimitKey, std::uint32_t, KeyHash> by_key_;
    std::size_t origins_ = 0;
    std::size_t hand_ = 0;  // the limit at which the next tick begins
};

}  // namespace weir::sync
