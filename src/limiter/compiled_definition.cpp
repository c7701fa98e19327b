#include "limiter/compiled_definition.h"

#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"
#include "limiter/record.h"

namespace weir::limiter {

const CompiledLimit* CompiledDefinition::find(Unit unit, Duration period) const {
    for (const CompiledLimit& limit : limits) {
        if (limit.unit == unit && limit.period == period) {
            return &limit;
        }
    }
    return nullptr;
}

namespace {

CompiledLimit compile_limit(RateLimit limit, bool overflow) {
    CompiledLimit compiled;
    compiled.parameters = limit.resolved();
    if (overflow) {
        compiled.parameters.rate *= kOverflowFactor;
        compiled.parameters.low *= kOverflowFactor;
        compiled.parameters.high *= kOverflowFactor;
        compiled.parameters.debt *= kOverflowFactor;
        limit.amount *= kOverflowFactor;
    }
    const double low = compiled.parameters.low;
    compiled.inverse_low = low > 0 ? 1 / low : 0;
    compiled.amount = limit.amount;
    compiled.period = limit.period;
    compiled.unit = limit.unit;
    compiled.fleet = limit.scope == Scope::fleet;
    compiled.quick = !compiled.parameters.zero() && compiled.parameters.debt < 0 &&
                     limit.unit != Unit::response_bytes;
    return compiled;
}

/// The limit that holds while its owners cannot be heard. Its bursts are the same number of
/// seconds, at a lower rate.
std::unique_ptr<const CompiledLimit> safe_variant(const CompiledLimit& limit, double safe) {
    auto variant = std::make_unique<CompiledLimit>();
    const LimitParameters& whole = limit.parameters;
    const double share = whole.rate > 0 ? safe / whole.rate : 0;
    variant->parameters = whole;
    variant->parameters.rate = whole.rate * share;
    variant->parameters.low = std::max(whole.low * share, std::min(1.0, whole.low));
    variant->parameters.high = std::max(whole.high * share, variant->parameters.low);
    if (whole.debt >= 0) {
        variant->parameters.debt = whole.debt * share;
    }
    variant->inverse_low = variant->parameters.low > 0 ? 1 / variant->parameters.low : 0;
    variant->amount = limit.amount * share;
    variant->period = limit.period;
    variant->unit = limit.unit;
    variant->fleet = limit.fleet;
    return variant;
}

void add_isolation(CompiledLimit& compiled, const RateLimit& limit, IsolationMode mode,
                   bool overflow) {
    if (!compiled.fleet) {
        return;
    }
    if (mode == IsolationMode::safe && limit.safe) {
        compiled.safe = safe_variant(compiled, *limit.safe * (overflow ? kOverflowFactor : 1));
    }
    compiled.special_when_isolated = compiled.safe != nullptr || mode == IsolationMode::pessimistic;
}

/// How many of the 2^64 hash values the share covers. A share that 64 bits cannot tell from 1
/// counts as 1.
std::uint64_t share_of_keys(double share) {
    constexpr double kHashes = 18446744073709551616.0;  // 2^64
    const double below = share * kHashes;
    return below < kHashes ? static_cast<std::uint64_t>(below) : kAllKeys;
}

/// Gives each limit of one definition its identity.
class Numbering {
  public:
    Numbering(CompiledDefinition& definition, const CompiledDefinition* before)
        : definition_(definition), before_(before) {}

    void run() {
        if (before_ != nullptr) {
            remember();
        }
        for (CompiledLimit& limit : definition_.limits) {
            limit.fresh = !take_known(limit);
        }
        while (former_.size() > kMaxFormer) {
            dropped_.push_back(former_.back().identity);
            former_.pop_back();
        }
        for (const FormerLimit& limit : former_) {
            WEIR_ASSERT(!taken_[limit.identity]);
            taken_[limit.identity] = true;
        }
        for (CompiledLimit& limit : definition_.limits) {
            if (limit.fresh) {
                limit.identity = take_free(limit);
            }
        }
        if (!former_.empty()) {
            definition_.former = std::make_unique<const std::vector<FormerLimit>>(former_);
        }
    }

  private:
    void remember() {
        for (const CompiledLimit& limit : before_->limits) {
            former_.push_back({limit.unit, limit.period, limit.identity});
        }
        if (before_->former != nullptr) {
            former_.insert(former_.end(), before_->former->begin(), before_->former->end());
        }
    }

    bool take_known(CompiledLimit& limit) {
        const auto known =
            std::find_if(former_.begin(), former_.end(), [&limit](const FormerLimit& other) {
                return other.unit == limit.unit && other.period == limit.period;
            });
        if (known == former_.end()) {
            return false;
        }
        limit.identity = known->identity;
        WEIR_ASSERT(!taken_[known->identity]);
        taken_[known->identity] = true;
        former_.erase(known);
        return true;
    }

    /// Takes identities of forgotten limits first, so that their records are used again and
    /// instances do not get more records.
    std::uint8_t take_free(const CompiledLimit& limit) {
        std::uint64_t number = mix(static_cast<std::uint64_t>(limit.period.count()) * kUnits +
                                   static_cast<std::uint64_t>(limit.unit)) %
                               kNoIdentity;
        if (!dropped_.empty()) {
            number = dropped_.back();
            dropped_.pop_back();
        }
        WEIR_ASSERT(number < kNoIdentity);
        while (taken_[number]) {
            number = (number + 1) % kNoIdentity;
        }
        taken_[number] = true;
        return static_cast<std::uint8_t>(number);
    }

    CompiledDefinition& definition_;
    const CompiledDefinition* before_;
    // Far more than the 8 limits and 8 former limits that there can be.
    std::array<bool, kNoIdentity> taken_{};
    std::vector<FormerLimit> former_;
    std::vector<std::uint8_t> dropped_;
};

}  // namespace

std::unique_ptr<CompiledDefinition> compile(const QuotaDefinition& definition,
                                            const CompiledDefinition* before, bool overflow) {
    auto compiled = std::make_unique<CompiledDefinition>();
    compiled->source = definition;
    compiled->pattern = NamePattern::parse(definition.name).value();
    compiled->has_captures = compiled->pattern.has_captures();
    if (definition.parent) {
        compiled->parent = NamePattern::parse(*definition.parent).value();
    }
    compiled->mode = definition.mode;
    compiled->enforced_below = share_of_keys(definition.enforced_share);
    compiled->overflow = overflow;
    for (const RateLimit& limit : definition.limits) {
        compiled->limits.push_back(compile_limit(limit, overflow));
        add_isolation(compiled->limits.back(), limit, definition.when_isolated, overflow);
    }
    compiled->refuses_all =
        std::any_of(compiled->limits.begin(), compiled->limits.end(),
                    [](const CompiledLimit& limit) { return limit.parameters.zero(); });
    Numbering(*compiled, before).run();
    compiled->quick = definition.mode == Mode::enforce && definition.enforced_share >= 1 &&
                      !overflow && !compiled->limits.empty() &&
                      std::all_of(compiled->limits.begin(), compiled->limits.end(),
                                  [](const CompiledLimit& limit) { return limit.quick; });
    return compiled;
}

DefinitionTable::~DefinitionTable() {
    for (std::uint32_t i = 0; i < size_; ++i) {
        exchange(i, nullptr);
    }
}

std::optional<std::uint32_t> DefinitionTable::allocate() {
    if (!free_.empty()) {
        const std::uint32_t index = free_.back();
        free_.pop_back();
        return index;
    }
    if (size_ == kChunk * kChunks) {
        return std::nullopt;
    }
    if (size_ % kChunk == 0) {
        memory_.push_back(std::make_unique<Entry[]>(kChunk));
        chunks_[size_ / kChunk].store(memory_.back().get(), std::memory_order_release);
    }
    return size_++;
}

std::unique_ptr<const CompiledDefinition> DefinitionTable::exchange(
    std::uint32_t index, std::unique_ptr<const CompiledDefinition> definition) {
    WEIR_ASSERT(index < size_);
    Entry& entry = chunks_[index / kChunk].load(std::memory_order_relaxed)[index % kChunk];
    return std::unique_ptr<const CompiledDefinition>(
        entry.exchange(definition.release(), std::memory_order_acq_rel));
}

}  // namespace weir::limiter
