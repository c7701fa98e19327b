#pragma once
// The limits and quotas of a request's chain as check() met them: working memory on the stack of
// one decision. Internal to check.cpp.
//
// Thread-safety: used by one thread. Ownership: by value; it points to records and definitions that
// live for as long as the thread is inside its Epochs section.
// Invariant: there are at most kMaxChainLimits limits of kMaxChainDepth quotas.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "base/assert.h"
#include "limiter/bucket.h"
#include "limiter/decision.h"

namespace weir::limiter {

/// One limit of the chain as this request met it.
struct Level {
    Bucket bucket;
    Reading reading;
    double weight;
    double p;
    const CompiledDefinition* definition;
    std::uint32_t id;
    std::uint32_t head;
    double others;                // what the other levels let through
    bool enforce;                 // else shadow
    bool shadow_refused = false;  // its shadow quota would have refused
    bool charged = false;
    bool noted = false;  // its offered weight is counted already

    [[nodiscard]] const CompiledLimit& limit() const { return bucket.limit; }
    [[nodiscard]] LimitRecord& record() const { return bucket.record; }
    /// The level that the law judges.
    [[nodiscard]] double judged() const {
        return judged_level(limit().parameters, std::max(0.0, reading.level), weight);
    }
};

/// One quota of the chain, for its figures.
struct Visited {
    const CompiledDefinition* definition;
    std::uint32_t head;
    bool shadows;  // refuses nothing, for this request's key
    bool shadow_refused;
};

/// A vector in place: a request touches only as much stack as its chain has levels.
template <class T, std::size_t kCapacity>
class Fixed {
  public:
    template <class... Arguments>
    T& emplace(Arguments... arguments) {
        WEIR_ASSERT(!full());
        return *::new (data() + size_++) T{arguments...};
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
    alignas(T) std::byte memory_[kCapacity * sizeof(T)];
    std::size_t size_ = 0;
};

struct Levels {
    Fixed<Level, kMaxChainLimits> level;
    Fixed<Visited, kMaxChainDepth> quota;
    double response_bytes = -1;  // the mean that stands for them; below 0 = not asked for yet
    double pass = 1;             // product of the enforcing levels' (1 - p)
    bool any_chance = false;     // some p is above 0
    bool any_shadow = false;     // some quota only shadows
    std::uint32_t leaf = 0;      // its name is a key for those enforced in part
    const RequestFields* fields = nullptr;
};

}  // namespace weir::limiter
