#pragma once
// One central limiter with the quotas of the fleet. It gets every request that arrives at any
// sidecar, and so makes the decisions of a fleet in which everybody knows everything at once. Not
// thread-safe. It owns its limiter.

#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "base/instant.h"
#include "limiter/limiter.h"

namespace weir::sim {

/// The limiter of the product with these definitions, as each simulated process has it.
[[nodiscard]] std::unique_ptr<limiter::Limiter> make_limiter(
    std::span<const limiter::QuotaDefinition> definitions, std::uint64_t seed, Instant now);

class CentralBucket {
  public:
    CentralBucket(std::span<const limiter::QuotaDefinition> definitions, std::uint64_t seed);

    /// Whether the request is admitted; it is in flight for `takes` seconds then. `at` is in
    /// seconds of the story.
    [[nodiscard]] bool offer(std::string_view quota, double at, double takes);
    /// Sets its wall clock: the time since 1970 at which the story begins.
    void set_wall_clock(Duration begin);
    /// Replaces the definition of a quota that exists.
    void edit(const limiter::QuotaDefinition& definition, double at);

  private:
    [[nodiscard]] static Instant instant(double at);

    std::unique_ptr<limiter::Limiter> limiter_;
    limiter::ThreadContext* thread_;
    Instant maintained_{};
    std::multimap<Instant, limiter::Charge> in_flight_;  // by their ends
};

}  // namespace weir::sim
