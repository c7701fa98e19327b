#pragma once
// One central limiter with the quotas of the fleet. It gets every request that arrives at any
// sidecar, and so makes the decisions of a fleet in which everybody knows everything at once. Not
// thread-safe. It owns its limiter.

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

    /// Whether the request is admitted. `at` is in seconds of the story.
    [[nodiscard]] bool offer(std::string_view quota, double at);
    /// Replaces the definition of a quota that exists.
    void edit(const limiter::QuotaDefinition& definition, double at);

  private:
    [[nodiscard]] static Instant instant(double at);

    std::unique_ptr<limiter::Limiter> limiter_;
    limiter::ThreadContext* thread_;
    Instant maintained_{};
};

}  // namespace weir::sim
