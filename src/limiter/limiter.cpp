#include "limiter/limiter.h"

#include <algorithm>

#include "base/random.h"
#include "limiter/implementation.h"

namespace weir::limiter {
namespace {

NameKey secret_key(std::uint64_t seed) {
    Random random(seed);
    return {random.next(), random.next()};
}

LimiterOptions bounded(LimiterOptions options) {
    constexpr std::uint32_t kMostInstances = 12'000'000;  // with limbo below 2^24 records
    options.max_instances = std::clamp<std::uint32_t>(options.max_instances, 1, kMostInstances);
    return options;
}

}  // namespace

Limiter::Implementation::Implementation(const LimiterOptions& options)
    : options_(bounded(options)),
      hash_key_(secret_key(options.seed)),
      store_(options_.max_instances, options_.max_views) {
    (void)table_.allocate();  // 0 is no definition
    members_.resize(1);
}

Limiter::Limiter(const LimiterOptions& options)
    : implementation_(std::make_unique<Implementation>(options)) {}
Limiter::~Limiter() = default;

std::size_t Limiter::change(std::span<const DefinitionChange> changes, Instant now,
                            std::vector<DefinitionError>* refused) {
    std::vector<DefinitionError> errors = implementation_->change(changes, now);
    const std::size_t count = errors.size();
    if (refused != nullptr) {
        *refused = std::move(errors);
    }
    return count;
}
std::vector<QuotaDefinition> Limiter::definitions() const { return implementation_->definitions(); }
std::optional<QuotaDefinition> Limiter::definition_for(std::string_view name) const {
    const CompiledDefinition* definition = implementation_->definition_for(name);
    return definition == nullptr ? std::nullopt : std::optional(definition->source);
}

void Limiter::maintain(Instant now) { implementation_->maintain(now); }
Memory Limiter::memory() const { return implementation_->memory(); }
LimiterCounters Limiter::counters() const { return implementation_->counters(); }
std::vector<LimitStatus> Limiter::inspect(std::string_view quota, Instant now) const {
    return implementation_->inspect(quota, now);
}
std::optional<DefinitionStatistics> Limiter::statistics_of(std::string_view definition,
                                                           Instant now) const {
    return implementation_->statistics_of(definition, now);
}
void Limiter::for_each_statistics(
    Instant now, const std::function<void(const DefinitionStatistics&)>& visit) const {
    implementation_->for_each_statistics(now, visit);
}

ThreadContext& Limiter::register_thread(std::uint64_t seed) {
    return implementation_->register_thread(seed);
}
void Limiter::quiescent(ThreadContext& thread) { implementation_->leave(thread); }
LeafId Limiter::find(ThreadContext& thread, std::string_view name, Instant now) {
    return implementation_->find(thread, name, now);
}
Decision Limiter::check(ThreadContext& thread, LeafId leaf, const Weights& weights, Instant now,
                        CheckMode mode, const RequestFields* fields) {
    return implementation_->check(thread, leaf, weights, now, mode, fields);
}
void Limiter::refund(ThreadContext& thread, const Charge& charge, Instant now) {
    implementation_->refund(thread, charge, now);
}
void Limiter::correct(ThreadContext& thread, Charge& charge, Unit unit, double actual, Instant now,
                      bool last) {
    implementation_->correct(thread, charge, unit, actual, now, last);
}
std::uint32_t Limiter::hold(const Charge& charge) { return implementation_->hold(charge); }
void Limiter::unhold(std::uint32_t held) {
    if (held != 0) {
        implementation_->unhold(held);
    }
}
const QuotaOptions* Limiter::options(const Decision& decision) const {
    return decision.instance == 0 ? nullptr : implementation_->options(decision.instance);
}
std::string_view Limiter::quota_name(const Decision& decision) const {
    return decision.instance == 0 ? std::string_view() : implementation_->name(decision.instance);
}

void Limiter::drain_active(const std::function<void(LimitRef)>& visit) {
    implementation_->drain_active(visit);
}
std::optional<LocalCounts> Limiter::read(LimitRef limit, Instant now) {
    return implementation_->read(limit, now);
}
bool Limiter::install(LimitRef limit, const FleetView& view, Instant now) {
    return implementation_->install(limit, view, now);
}
void Limiter::uninstall(LimitRef limit, Instant now) { implementation_->uninstall(limit, now); }
void Limiter::release(LimitRef limit, Instant now) { implementation_->release(limit, now); }
std::optional<LimitIdentity> Limiter::identity(LimitRef limit) const {
    return implementation_->identity(limit);
}
std::optional<LimitRef> Limiter::lookup(std::string_view quota, Unit unit, Duration period) const {
    return implementation_->lookup(quota, unit, period);
}
bool Limiter::isolate(LimitRef limit, bool isolated, Instant now) {
    return implementation_->isolate(limit, isolated, now);
}
IsolationMode Limiter::isolation_of(std::string_view quota) const {
    return implementation_->isolation_of(quota);
}
std::optional<LimitParameters> Limiter::resolve_parameters(std::string_view quota, Unit unit,
                                                           Duration period) const {
    return implementation_->resolve_parameters(quota, unit, period);
}

}  // namespace weir::limiter
