#pragma once
// How this member gets its part of the limits of requests in flight that the fleet shares. As long
// as it needs no more than an equal part of a limit, it says nothing, but it knows what is in
// flight, so that it can tell an owner that asks. When it refuses a request for want of room, or
// soon would, it reports to the first owner of the limit what is in flight and what it wants, and
// the owner grants it an allowance. Until the owner lets it go it then reports every change that
// matters to others. When the owner does not answer, it keeps the allowance for 15 s, and then has
// an equal part again.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns its table; borrows limiter
// and statistics.
// Invariants: the table has at most kMostLimits limits; beyond that it keeps those whose allowances
// are told or that are in use, and a limit without a place has an equal part. While there is room,
// every limit that was used has a place as long as its record lives, so that what an owner tells of
// it holds from the next request on. At rest nothing is due for it.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/allowance_messages.h"
#include "sync/due_queue.h"
#include "sync/limit_table.h"
#include "sync/statistics.h"

namespace weir::sync {

/// Sends the messages about allowances to another member, or to this one.
class AllowanceSink {
  public:
    virtual ~AllowanceSink() = default;
    virtual void send_report(const gossip::MemberId& to, const AllowanceReport& report) = 0;
    virtual void send_grant(const gossip::MemberId& to, const AllowanceGrant& grant) = 0;
};

class AllowanceOrigin {
  public:
    static constexpr std::size_t kMostLimits = std::size_t{1} << 16;
    /// A limit with a granted allowance is reported at least this often, and seldomer while nothing
    /// of it is in flight or wanted here.
    static constexpr Duration kKeepAlive = std::chrono::seconds(1);
    static constexpr Duration kKeepAliveAtRest = std::chrono::seconds(4);

    AllowanceOrigin(limiter::Limiter& limiter, SyncStatistics& statistics)
        : limiter_(limiter), statistics_(statistics) {}

    /// Looks at the limits that were used since the last call, and at those for which something is
    /// due. `members`: how many share the limits, this one included.
    void tick(Instant now, std::uint32_t members, const membership::Owners& owners,
              AllowanceSink& sink);
    /// The first owner of the limit has answered, or says something unasked.
    void receive(const AllowanceGrant& grant, Instant now);

    /// The limits that have a record here, or whose allowance an owner has told.
    [[nodiscard]] std::size_t size() const { return limits_.size(); }
    /// Of these, the number of limits whose allowance an owner has told.
    [[nodiscard]] std::size_t told() const { return told_; }

  private:
    struct Limit {
        LimitKey key;
        /// Nothing while no record is known: the instance was dropped, or never used here.
        std::optional<limiter::LimitRef> ref;
        /// What the owner granted; nothing: an equal part.
        std::optional<std::uint64_t> told;
        limiter::InFlightCounts counts;  // at the last look; `no_room` since the last report
        double peak = 0;                 // the most in flight at a look since the last report
        Instant busy{};                  // when a request last was in flight or found no room
        AllowanceReport said;
        std::optional<gossip::MemberId> owner;  // to whom it was said
        Instant sent{};
        Instant heard{};               // when it was last answered
        std::uint32_t unanswered = 0;  // reports in a row
        bool reported = false;         // and the owner has not let it go since
        bool answered = false;
        bool scarce = false;
        std::uint32_t origins = 0;
    };

    void touched(limiter::LimitRef ref, Instant now);
    [[nodiscard]] std::optional<std::uint32_t> add(const LimitKey& key, Instant now);
    void link(std::uint32_t slot, limiter::LimitRef ref);
    void unlink(Limit& limit);
    void drop(std::uint32_t slot);
    void follow(std::uint32_t members, const membership::Owners& owners, Instant now);
    void sweep(std::size_t most);
    [[nodiscard]] static bool rests(const Limit& limit);
    void set(Limit& limit, std::optional<std::uint64_t> told);
    void look(std::uint32_t slot, Instant now, const membership::Owners& owners,
              AllowanceSink& sink);
    void measure(Limit& limit, Instant now);
    [[nodiscard]] static std::uint64_t wanted_of(const Limit& limit, Instant now);
    [[nodiscard]] static Duration ask_after(const Limit& limit);
    [[nodiscard]] bool is_due(const Limit& limit, std::uint64_t wanted, Instant now) const;
    [[nodiscard]] static bool is_news(const Limit& limit, std::uint64_t wanted, Duration since);
    void report(Limit& limit, std::uint64_t wanted, const gossip::MemberId& owner, Instant now,
                AllowanceSink& sink);
    [[nodiscard]] static Instant next_look(const Limit& limit, std::uint64_t wanted, Instant now);

    limiter::Limiter& limiter_;
    SyncStatistics& statistics_;
    std::uint32_t members_ = 1;
    std::array<gossip::MemberId, membership::kShards> owners_{};  // the first one of each shard
    LimitTable<Limit> limits_;
    std::size_t hand_ = 0;  // the slot at which the next sweep begins
    std::unordered_map<std::uint32_t, std::uint32_t> by_record_;
    std::size_t told_ = 0;
    DueQueue due_;
};

}  // namespace weir::sync
