#pragma once
// What a request asks of the limiter and what the limiter answers, as plain values.
//
// Thread-safety: that of any value. A Decision is made by one thread for one request.
// Ownership: the caller owns all of them. The name in a Decision belongs to the limiter and is
// valid until the thread's next Limiter::quiescent().
// Invariant: a refused request carries a Charge that is false, because nothing was charged. It only
// says what the request weighs.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/instant.h"
#include "limiter/definition.h"

namespace weir::limiter {

/// What one request weighs in each unit. A weight that is not finite counts as the largest weight
/// that is allowed, one below 0 counts as 0. Response bytes are not given: the running mean of
/// earlier responses stands for them until Limiter::correct().
struct Weights {
    double requests = 1;
    double request_bytes = 0;
    double cost = 1;
};

/// A name that Limiter::ask() was given, on its way to Limiter::find().
struct AskedName {
    std::string_view name;
    std::uint64_t hash = 0;  // keyed, of this process
};

/// The instance of the quota that a request was routed to. False when there is no quota of that
/// name.
///
/// The instances above it are found by going from parent to parent. An overflow instance is shared
/// by many names, so its record cannot name the parent of each of them: the LeafId itself says
/// where the chain goes on (`resume`) after its first `overflow_depth` instances.
///
/// The first request of a name may come while another thread makes instances. Then overflow
/// instances stand for those that it has not got yet. The first `unjudged_depth` of them neither
/// refuse the request nor are charged, because new instances of these names would admit it, too.
struct LeafId {
    std::uint32_t instance = 0;
    std::uint32_t generation = 0;
    std::uint32_t resume = 0;             // the first ancestor that is not an overflow instance
    std::uint16_t resume_generation = 0;  // the generation of that ancestor
    std::uint8_t overflow_depth = 0;      // overflow instances at the bottom of the chain
    std::uint8_t unjudged_depth = 0;      // those of them that only count the request
    explicit operator bool() const { return instance != 0; }
    friend bool operator==(const LeafId&, const LeafId&) = default;
};

/// So many quotas apply to one request at most, each with all quotas above it.
inline constexpr std::size_t kMaxLeaves = 4;

/// The instances of the quotas that a request was routed to, each once. They are in the order of
/// the request's lists of names, of which each gives one at most.
class Leaves {
  public:
    /// Adds an instance, unless it is false or here already.
    void add(const LeafId& leaf) {
        for (const LeafId& one : *this) {
            if (one == leaf) {
                return;
            }
        }
        if (leaf && size_ < kMaxLeaves) {
            leaves_[size_++] = leaf;
        }
    }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] const LeafId* begin() const { return leaves_.data(); }
    [[nodiscard]] const LeafId* end() const { return leaves_.data() + size_; }
    [[nodiscard]] const LeafId& operator[](std::size_t i) const { return leaves_[i]; }

  private:
    std::array<LeafId, kMaxLeaves> leaves_{};
    std::size_t size_ = 0;
};

/// The fields of a request, for quotas that are enforced only for a share of a field's values.
/// Limiter::check() asks for them and keeps nothing.
class RequestFields {
  public:
    /// The value of the field, or an empty text if the request has none. It must stay valid until
    /// check() returns.
    [[nodiscard]] virtual std::string_view value(std::string_view field) const = 0;

  protected:
    ~RequestFields() = default;
};

/// What check() does with a request.
enum class CheckMode : std::uint8_t {
    /// Decide, and charge the request if it is admitted.
    charge,
    /// Decide without charging. A request that is refused still counts as offered.
    peek,
    /// Charge without deciding, because a tier in front has decided by peeking.
    charge_without_judging,
    /// As `charge`, of a request that would wait for its turn. It is refused also where others wait
    /// already. If the quota that refuses has a queue (Decision::can_wait), the refusal is not
    /// counted yet: the caller either has the request wait or calls Limiter::give_up().
    charge_or_wait,
    /// Decide again about a request that has waited and whose turn it is. It counts as offered for
    /// the laws again, but not in the figures.
    charge_in_turn,
    /// Describe the refusal of a request that has waited for as long as it may, while the limits
    /// are not asked again before its turn. It counts nowhere. Where nobody waits any more, it is
    /// decided like `charge_in_turn`.
    refuse_in_turn,
};

/// Why a request was admitted or refused.
enum class Reason : std::uint8_t {
    /// Admitted by every quota that applies to it.
    none,
    /// Admitted because no quota has that name.
    no_quota,
    /// Refused because a limit is reached or nearly reached.
    limit,
    /// Refused because the quota sheds, and its child that the request came through asks for more
    /// than its share.
    above_share,
    /// Refused because the limit is 0.
    zero,
    /// Refused because the members that own the limit cannot be heard, and its definition says to
    /// refuse then (IsolationMode::pessimistic).
    isolated,
    /// Refused because the least that was wanted (Wish::minimum) is more than a limit of the chain
    /// ever has free at once.
    too_much,
};

/// What was charged to the chain of one quota, beside that of the first one.
struct ChargedChain {
    LeafId leaf;
    std::uint32_t charged = 0;  // as in Charge
};

/// The places that a request has under limits of requests in flight, until it ends
/// (Limiter::finish()). A copy copies as many as there are.
class Places {
  public:
    static constexpr std::size_t kMost = kMaxLeaves * kMaxChainConcurrency;
    /// The record of a limit, and which of the counts that began in it this is (in_flight.h).
    struct Place {
        std::uint32_t record;
        std::uint32_t count;
    };

    /// What is beyond size() means nothing, so nothing is written there.
    Places() {}
    Places(const Places& other) { *this = other; }
    Places& operator=(const Places& other) {
        if (this != &other) {
            weight = other.weight;
            size_ = other.size_;
            std::copy(other.begin(), other.end(), places_.begin());
        }
        return *this;
    }
    ~Places() = default;

    /// Every further place is left out, which the rules for definitions exclude.
    void add(const Place& place) {
        if (size_ < kMost) {
            places_[size_++] = place;
        }
    }
    void clear() { size_ = 0; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] const Place* begin() const { return places_.data(); }
    [[nodiscard]] const Place* end() const { return places_.data() + size_; }

    /// How many requests count in each of the places: 1, or the units that were obtained.
    double weight = 0;

  private:
    std::uint32_t size_ = 0;
    std::array<Place, kMost> places_;
};

/// What was charged for a request, so that it can be given back or corrected later. Limits that
/// several of its chains have were charged once; they are marked in each of these chains, so that
/// they are found as long as one of the leaves lives.
struct Charge {
    LeafId leaf;
    std::uint32_t charged = 0;  // bit i is set when the i-th limit of the chain was charged
    std::uint32_t version = 0;  // the version of the definitions at that time
    float response_bytes = 0;   // the mean that stands for the response bytes
    Weights weights;
    std::int64_t admitted_at = 0;  // when, in nanoseconds of the monotonic time line
    double units = 1;              // how many units of a Wish the weights are; 1 for a request
    std::array<ChargedChain, kMaxLeaves - 1> others{};  // without a leaf: there is no such chain
    Places places;
    explicit operator bool() const {
        return charged != 0 || others[0].charged != 0 || others[1].charged != 0 ||
               others[2].charged != 0;
    }
};

/// The instances that Limiter::hold() keeps from being dropped; 0 = none.
struct Held {
    std::array<std::uint32_t, kMaxLeaves> instances{};
    explicit operator bool() const {
        for (const std::uint32_t id : instances) {
            if (id != 0) {
                return true;
            }
        }
        return false;
    }
    friend bool operator==(const Held&, const Held&) = default;
};

/// What a caller would like to have at once: as many of `wanted` units as there are, but at least
/// `minimum` of them, or nothing. Both are finite, `wanted` is above 0, and `minimum` is between 0
/// and `wanted`.
struct Wish {
    double wanted = 1;
    double minimum = 0;
    /// What each unit weighs.
    Weights each;
};

/// The answer to one request. The fields from `unit` on describe one limit, of all that apply to
/// the request: if it was refused, the limit with the largest chance of refusing it, else the limit
/// that came nearest to refusing it.
struct Decision {
    bool admitted = true;
    bool shadow_refused = false;  // a quota that only shadows would have refused the request
    bool hide_headers = false;    // the answer must not name this quota
    bool can_wait = false;        // refused by a quota in whose queue the request may wait
    Reason reason = Reason::none;
    LimitKind kind = LimitKind::rate;
    Unit unit = Unit::requests;
    std::string_view quota;      // the quota that refused; empty if the request was admitted
    std::uint32_t instance = 0;  // the quota that is described, see Limiter::quota_name
    double amount = 0;           // what the definition allows ...
    Duration period{};           // ... in this period; 0 for a limit of requests in flight
    double remaining = 0;        // whole units left below the low border after this request
    /// Until the level is back at the low border, 0 if it is there; of a limit of windows in whole
    /// seconds until the present one ends, counted from the second of the fleet's wall clock.
    Duration reset{};
    Duration retry_after{};  // max(1 s, reset); the answer adds jitter
    /// If refused: until every limit of the chain would admit such a request for certain, as long
    /// as nobody else is admitted meanwhile; below 0 when that cannot be said (a limit of 0, an
    /// isolated one, one of requests in flight).
    Duration wait{};
    double discard_probability = 0;  // the chance that such a request is refused
    Charge charge;
};

/// A place among the requests that wait for one instance, of all threads together. False: there is
/// none.
struct WaitPlace {
    std::uint32_t slot = 0;  // all places of one instance have the same, 1 to kWaitSlots
    std::uint32_t instance = 0;
    std::uint32_t generation = 0;
    explicit operator bool() const { return slot != 0; }
};
/// For so many instances requests may wait at the same time.
inline constexpr std::uint32_t kWaitSlots = 4096;

/// The answer to a Wish. The decision is about all units that were granted together. If none were,
/// the wish was refused; `reset` then says when the minimum would be free, if nobody else takes it.
struct Grant {
    double granted = 0;
    Decision decision;
};

}  // namespace weir::limiter
