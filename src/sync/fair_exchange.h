#pragma once
// Fair shedding in the fleet. While a parent sheds fairly, each sidecar tells the parent's first
// owner, five times a second, what it is offered for the parent's children, and the owner answers
// with the sums. From these each sidecar computes the same water line, and so how much of each
// child the parent lets through. As long as no owner answers, a sidecar goes by what it is offered
// itself. Where no parent sheds nothing is sent and nothing is looked at.
//
// A telling replaces the one before, so a message that is lost, doubled or late does no harm.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns its tables; borrows the
// limiter, the owner's side of the counters, the sink and the statistics.
// Invariants: a sidecar tells of at most limiter::kKnownChildren children of a parent, and so does
// an owner. An owner keeps at most kMostParents parents and kMostChildren children of all origins.

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/child_messages.h"
#include "sync/owner.h"
#include "sync/statistics.h"
#include "sync/synced_limit.h"

namespace weir::sync {

/// Sends the messages of fair shedding to another member.
class ChildSink {
  public:
    virtual ~ChildSink() = default;
    /// `answers`: it is an owner's answer.
    virtual void send_children(const gossip::MemberId& to, bool answers, const ChildPart& part) = 0;
};

class FairExchange {
  public:
    static constexpr std::size_t kMostParents = 1024;
    static constexpr std::size_t kMostChildren = std::size_t{1} << 18;

    FairExchange(limiter::Limiter& limiter, const Owner& owner, SyncStatistics& statistics)
        : limiter_(limiter), owner_(owner), statistics_(statistics) {}

    void tick(Instant now, const membership::Owners& owners, const gossip::MemberId& self,
              ChildSink& sink);
    /// An origin tells what it is offered; the owner answers after the last part.
    void receive_rates(const gossip::MemberId& from, const ChildPart& part, Instant now,
                       ChildSink& sink);
    /// The owner has answered.
    void receive_totals(const ChildPart& part, Instant now);
    /// The member is gone: what it was offered counts no more, because that load is elsewhere now.
    void forget(const gossip::MemberId& member);

    /// The parents that shed fairly here, and the children that are known of them.
    [[nodiscard]] std::size_t parents() const { return told_.size(); }
    [[nodiscard]] std::size_t children() const;

  private:
    struct KeyHash {
        std::size_t operator()(const LimitKey& key) const { return hash(key); }
    };
    /// What this member tells of a parent, and was told.
    struct Told {
        limiter::LimitRef limit;
        limiter::ChildRates here;
        limiter::ChildRates fleet;
        ChildPart arriving;       // the parts of an answer so far
        std::uint32_t parts = 0;  // one bit for each of them
        std::uint16_t number = 0;
        double line = 0;
        std::uint32_t origins = 1;
        Instant sheds{};  // when it was last seen to shed
        Instant sent{};
        Instant heard{};
    };
    struct OriginChild {
        limiter::ChildRate rate;
        std::uint16_t number = 0;  // of the telling that it was last in
    };
    struct Origin {
        std::unordered_map<std::uint64_t, OriginChild> children;
        double total = 0;
        std::uint16_t number = 0;
        Instant heard{};
    };
    /// What an owner was told of a parent.
    struct Sums {
        std::map<gossip::MemberId, Origin> origins;
        ChildPart answer;
        Instant built{};
        Instant heard{};
    };
    void tell(limiter::SheddingParent& parent, Instant now, const membership::Owners& owners,
              const gossip::MemberId& self, ChildSink& sink);
    [[nodiscard]] bool take(const gossip::MemberId& from, const ChildPart& part, Instant now);
    [[nodiscard]] const ChildPart& answer_of(const LimitKey& parent, Sums& sums, Instant now);
    [[nodiscard]] double passing(const LimitKey& parent) const;
    void apply(Told& told, const ChildPart& answer, Instant now);
    void forget_old(Instant now);

    limiter::Limiter& limiter_;
    const Owner& owner_;
    SyncStatistics& statistics_;
    std::unordered_map<LimitKey, Told, KeyHash> told_;
    std::unordered_map<LimitKey, Sums, KeyHash> sums_;
    std::size_t children_ = 0;  // of all origins in sums_
    Instant read_{};
};

}  // namespace weir::sync
