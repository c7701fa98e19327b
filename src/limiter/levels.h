#pragma once
// The limits and quotas that apply to a request as check() found them: working memory on the stack
// of one decision. Internal to check.cpp and outcome.cpp.
//
// Thread-safety: used by one thread. Ownership: plain values; they point to records and definitions
// that live for as long as the thread is inside its Epochs section.
// Invariant: each limit and each quota is there once, also if several of the request's chains have
// it. There are at most kMaxLeaves chains, each of at most kMaxChainLimits limits of kMaxChainDepth
// quotas.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "base/assert.h"
#include "limiter/bucket.h"
#include "limiter/decision.h"
#include "limiter/fair_shedding.h"

namespace weir::limiter {

/// One limit as this request found it.
struct Level {
    Bucket bucket;
    Reading reading;
    double weight;
    double p;  // the chance that this limit refuses the request
    const CompiledDefinition* definition;
    std::uint32_t id;
    std::uint32_t head;
    double others;                // the share of requests that the other limits let through
    bool enforce;                 // otherwise its quota only shadows
    bool shadow_refused = false;  // its quota only shadows and would have refused the request
    bool charged = false;
    bool noted = false;        // its offered weight has been counted
    Duration window_left{};    // of a limit of windows: until the present one ends
    bool above_share = false;  // the request's child asks for more than its share
    FairChild child{};         // the child by which it refuses, if it sheds fairly
    /// The child of this quota among whose siblings is divided what a quota above it refuses, if
    /// that one sheds fairly.
    FairChild branch{};
    /// How much more often requests of this child pass than requests on the whole.
    double favour = 1;

    [[nodiscard]] const CompiledLimit& limit() const { return bucket.limit; }
    [[nodiscard]] LimitRecord& record() const { return bucket.record; }
    /// The weight with which the request counts in the rate that the law goes by: what the other
    /// limits of the chain let through of it. A limit that sheds fairly counts a request as so much
    /// as is refused on the whole to admit this one. In sum that is what was offered, and the
    /// engine reckons rightly that this process admits its rate times 1 - p.
    [[nodiscard]] double offered() const { return weight * others * favour; }
    /// Whether what is offered here is counted for the engine, which may listen or not.
    [[nodiscard]] bool counts_for_engine(bool listening) const {
        const bool shared = limit().fleet && !limit().parameters.only_counts();
        return (listening && shared) || bucket.view != nullptr;
    }
    /// Whether this limit that only counts, which the fleet shares, has refused the request.
    [[nodiscard]] bool lacks_room() const {
        const LimitParameters& parameters = limit().parameters;
        return parameters.only_counts() && limit().fleet && p > 0 && !parameters.zero();
    }
    /// Tells the engine that this limit, which lacks_room(), had none for so much weight.
    void note_lack(double lacking) const {
        WEIR_ASSERT(limit().parameters.only_counts());
        if (limit().parameters.window) {
            note_window_lacks(record(), lacking);
        } else {
            note_no_room(record(), lacking);
        }
    }
    /// The level that the law judges.
    [[nodiscard]] double judged() const {
        return judged_level(limit().parameters, std::max(0.0, reading.level), weight);
    }
};

/// One quota, for the figures of its definition.
struct Visited {
    const CompiledDefinition* definition;
    std::uint32_t head;
    bool shadows;  // refuses nothing (for the key of this request)
    bool shadow_refused;
    bool only_counted = false;  // stands for a new instance that could not be made yet
};

/// A vector of bounded size in place. A request touches only as much stack as it has levels.
template <class T, std::size_t kCapacity>
class Fixed {
  public:
    template <class... Arguments>
    T& emplace(Arguments... arguments) {
        WEIR_ASSERT(!full());
        return *::new (data() + size_++) T{arguments...};
    }
    void remove(std::size_t i) {
        WEIR_ASSERT(i < size_);
        std::copy(begin() + i + 1, end(), begin() + i);
        --size_;
    }
    [[nodiscard]] bool full() const { return size_ == kCapacity; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] T* begin() { return data(); }
    [[nodiscard]] T* end() { return data() + size_; }
    [[nodiscard]] const T* begin() const { return data(); }
    [[nodiscard]] const T* end() const { return data() + size_; }
    [[nodiscard]] T& operator[](std::size_t i) {
        WEIR_ASSERT(i < size_);
        return data()[i];
    }
    [[nodiscard]] const T& operator[](std::size_t i) const {
        WEIR_ASSERT(i < size_);
        return data()[i];
    }

  private:
    static_assert(std::is_trivially_destructible_v<T>);
    [[nodiscard]] T* data() { return std::launder(reinterpret_cast<T*>(memory_)); }
    [[nodiscard]] const T* data() const {
        return std::launder(reinterpret_cast<const T*>(memory_));
    }
    std::size_t size_ = 0;  // in front, beside the first elements
    alignas(T) std::byte memory_[kCapacity * sizeof(T)];
};

/// Whether the request may wait in the queue of the quota whose level refused it.
[[nodiscard]] inline bool can_wait(const Level& refused, const Decision& decision, CheckMode mode) {
    return (mode == CheckMode::charge_or_wait || mode == CheckMode::charge_in_turn ||
            mode == CheckMode::refuse_in_turn) &&
           (decision.reason == Reason::limit || decision.reason == Reason::above_share) &&
           refused.definition->source.options->wait.longest.has_value();
}

/// Stands in place of the index of a level when there is no such level.
inline constexpr std::size_t kNoLevel = ~std::size_t{0};

struct Levels {
    /// The mean that stands for response bytes; below 0 = not looked up yet.
    double response_bytes = -1;
    double pass = 1;          // product of (1 - p) over all enforcing limits
    bool any_chance = false;  // for some limit p is above 0
    bool any_shadow = false;  // some quota only shadows
    bool any_window = false;  // some limit is one of windows
    /// The chain that is being collected. Its leaf's name is the key of those of its quotas that
    /// are enforced in part.
    std::uint32_t leaf = 0;
    std::size_t quotas_before = 0;              // of the chains before it
    std::size_t most_levels = kMaxChainLimits;  // with those of the chains before it
    const RequestFields* fields = nullptr;
    Fixed<Visited, kMaxLeaves * kMaxChainDepth> quota;
    Fixed<Level, kMaxLeaves * kMaxChainLimits> level;

    /// From now on a further chain is collected.
    void begin_chain() {
        quotas_before = quota.size();
        most_levels = level.size() + kMaxChainLimits;
    }
    /// Whether a chain before has the quota of this instance, so that it must not count again. If
    /// that chain only counts the quota and this one judges it, this one has it.
    [[nodiscard]] bool has_already(std::uint32_t head, bool counted) {
        for (std::size_t i = 0; i < quotas_before; ++i) {
            if (quota[i].head == head) {
                if (counted || !quota[i].only_counted) {
                    return true;
                }
                quota.remove(i);
                --quotas_before;
                return false;
            }
        }
        return false;
    }
};

}  // namespace weir::limiter
