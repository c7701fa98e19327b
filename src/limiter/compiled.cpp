#include "limiter/compiled.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::limiter {

std::optional<std::uint8_t> IdentityTable::find(Unit unit, Duration period) const {
    const auto place = std::find(identities_.begin(), identities_.end(), std::pair(unit, period));
    if (place == identities_.end()) {
        return std::nullopt;
    }
    return static_cast<std::uint8_t>(place - identities_.begin());
}

std::optional<std::uint8_t> IdentityTable::intern(Unit unit, Duration period) {
    if (const auto known = find(unit, period)) {
        return known;
    }
    if (identities_.size() >= kMaxIdentities) {
        return std::nullopt;
    }
    identities_.emplace_back(unit, period);
    return static_cast<std::uint8_t>(identities_.size() - 1);
}

namespace {

CompiledLimit compile_limit(RateLimit limit, IdentityTable& identities, bool overflow) {
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
    const auto identity = identities.intern(limit.unit, limit.period);
    WEIR_ASSERT(identity.has_value());
    compiled.identity = *identity;
    return compiled;
}

}  // namespace

std::unique_ptr<CompiledDefinition> compile(const QuotaDefinition& definition,
                                            IdentityTable& identities, bool overflow) {
    auto compiled = std::make_unique<CompiledDefinition>();
    compiled->source = definition;
    compiled->pattern = NamePattern::parse(definition.name).value();
    compiled->has_captures = compiled->pattern.has_captures();
    if (definition.parent) {
        compiled->parent = NamePattern::parse(*definition.parent).value();
    }
    compiled->mode = definition.mode;
    compiled->overflow = overflow;
    for (const RateLimit& limit : definition.limits) {
        compiled->limits.push_back(compile_limit(limit, identities, overflow));
    }
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
    Entry& entry = chunks_[index / kChunk].load(std::memory_order_relaxed)[index % kChunk];
    return std::unique_ptr<const CompiledDefinition>(
        entry.exchange(definition.release(), std::memory_order_acq_rel));
}

}  // namespace weir::limiter
