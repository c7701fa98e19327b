#include "sim/central_bucket.h"

#include <algorithm>

#include "base/assert.h"
#include "sim/lists_of_names.h"
#include "sim/quota_set.h"

namespace weir::sim {
namespace {

constexpr Instant kBucketBegin = Instant(std::chrono::seconds(1000));
constexpr Duration kMaintainEvery = std::chrono::seconds(1);
/// Stories may name so many instances of templates. Beyond it instances share a bucket, which the
/// checkers do not know.
constexpr std::uint32_t kInstances = 8192;

}  // namespace

std::unique_ptr<limiter::Limiter> make_limiter(
    std::span<const limiter::QuotaDefinition> definitions, std::uint64_t seed, Instant now) {
    limiter::LimiterOptions options;
    options.max_instances =
        std::max(kInstances, 2 * static_cast<std::uint32_t>(definitions.size()));
    options.seed = seed;
    auto limiter = std::make_unique<limiter::Limiter>(options);
    const auto errors = replace_quotas(*limiter, definitions, now);
    WEIR_ASSERT(errors.empty());
    return limiter;
}

CentralBucket::CentralBucket(std::span<const limiter::QuotaDefinition> definitions,
                             std::uint64_t seed)
    : limiter_(make_limiter(definitions, seed, kBucketBegin)),
      thread_(&limiter_->register_thread(seed + 1)) {}

Instant CentralBucket::instant(double at) { return kBucketBegin + from_seconds(at); }

void CentralBucket::set_wall_clock(Duration begin) {
    limiter_->set_wall_clock(begin - kBucketBegin.time_since_epoch());
}

bool CentralBucket::offer(std::string_view quota, double at, double takes) {
    const Instant now = instant(at);
    while (!in_flight_.empty() && in_flight_.begin()->first <= now) {
        limiter_->finish(*thread_, in_flight_.begin()->second);
        in_flight_.erase(in_flight_.begin());
    }
    if (now - maintained_ >= kMaintainEvery) {
        maintained_ = now;
        limiter_->maintain(now);
    }
    const auto decision = decide_on(*limiter_, *thread_, quota, now, limiter::CheckMode::charge);
    if (decision.admitted && takes > 0) {
        in_flight_.emplace(now + from_seconds(takes), decision.charge);
    }
    limiter_->quiescent(*thread_);
    return decision.admitted;
}

void CentralBucket::edit(const limiter::QuotaDefinition& definition, double at) {
    const limiter::DefinitionChange change{definition.name, definition};
    limiter_->change({&change, 1}, instant(at));
}

}  // namespace weir::sim
