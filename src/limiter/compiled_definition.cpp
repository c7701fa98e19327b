#include "limiter/compiled_definition.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "limiter/record.h"

namespace weir::limiter {

const CompiledLimit* CompiledTerms::find(LimitKind kind, Unit unit, Duration period) const {
    for (const CompiledLimit& limit : limits) {
        if (limit.kind == kind && limit.unit == unit && limit.period == period) {
            return &limit;
        }
    }
    return nullptr;
}

bool CompiledTerms::knows(LimitKind kind, Unit unit, Duration period) const {
    return find(kind, unit, period) != nullptr ||
           std::any_of(former.begin(), former.end(), [&](const FormerLimit& limit) {
               return limit.kind == kind && limit.unit == unit && limit.period == period;
           });
}

std::string CompiledDefinition::parent_of(std::string_view instance) const {
    WEIR_ASSERT(!parent.empty());
    if (patterns == nullptr) {
        return std::string(parent.view());
    }
    const auto captures = patterns->name.match(instance);
    return patterns->parent->expand(captures ? *captures : NamedCaptures{});
}

QuotaDefinition CompiledDefinition::definition() const {
    QuotaDefinition given = source;
    given.name = name();
    if (!parent.empty()) {
        given.parent = parent.view();
    }
    return given;
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
    compiled.kind = limit.kind;
    compiled.unit = limit.unit;
    compiled.fleet = limit.scope == Scope::fleet;
    compiled.quick = !compiled.parameters.zero() && compiled.parameters.debt < 0 &&
                     limit.unit != Unit::response_bytes && limit.is_rate();
    if (limit.is_window()) {
        compiled.windows = WindowSchedule::make(limit);
    }
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
    variant->kind = limit.kind;
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
    Numbering(CompiledTerms& terms, const CompiledTerms* before) : terms_(terms), before_(before) {}

    void run() {
        if (before_ != nullptr) {
            remember();
        }
        std::vector<CompiledLimit*> fresh;
        for (CompiledLimit& limit : terms_.limits) {
            if (!take_known(limit)) {
                fresh.push_back(&limit);
            }
        }
        while (former_.size() > kMaxFormer) {
            dropped_.push_back(former_.back().identity);
            former_.pop_back();
        }
        for (const FormerLimit& limit : former_) {
            WEIR_ASSERT(!taken_[limit.identity]);
            taken_[limit.identity] = true;
        }
        for (CompiledLimit* const limit : fresh) {
            limit->identity = take_free(*limit);
        }
        terms_.former = std::move(former_);
    }

  private:
    void remember() {
        for (const CompiledLimit& limit : before_->limits) {
            former_.push_back({limit.kind, limit.unit, limit.period, limit.identity});
        }
        former_.insert(former_.end(), before_->former.begin(), before_->former.end());
    }

    bool take_known(CompiledLimit& limit) {
        const auto known =
            std::find_if(former_.begin(), former_.end(), [&limit](const FormerLimit& other) {
                return other.kind == limit.kind && other.unit == limit.unit &&
                       other.period == limit.period;
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
        std::uint64_t number = mix((static_cast<std::uint64_t>(limit.period.count()) * kUnits +
                                    static_cast<std::uint64_t>(limit.unit)) ^
                                   static_cast<std::uint64_t>(limit.kind) << 60) %
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

    CompiledTerms& terms_;
    const CompiledTerms* before_;
    // Far more than the 8 limits and 8 former limits that there can be.
    std::array<bool, kNoIdentity> taken_{};
    std::vector<FormerLimit> former_;
    std::vector<std::uint8_t> dropped_;
};

}  // namespace

SharedTerms compile_terms(QuotaDefinition definition, const CompiledTerms* before, bool overflow) {
    const boost::intrusive_ptr<CompiledTerms> terms(new CompiledTerms);
    definition.name = {};
    definition.parent.reset();
    terms->enforced_below = share_of_keys(definition.enforced_share);
    terms->overflow = overflow;
    terms->first = before == nullptr;
    terms->limits.reserve(definition.limits.size());
    for (const RateLimit& limit : definition.limits) {
        terms->limits.push_back(compile_limit(limit, overflow));
        add_isolation(terms->limits.back(), limit, definition.when_isolated, overflow);
    }
    terms->refuses_all =
        std::any_of(terms->limits.begin(), terms->limits.end(),
                    [](const CompiledLimit& limit) { return limit.parameters.zero(); });
    Numbering(*terms, before).run();
    terms->quick = definition.mode == Mode::enforce && definition.enforced_share >= 1 &&
                   !overflow && !terms->limits.empty() &&
                   std::all_of(terms->limits.begin(), terms->limits.end(),
                               [](const CompiledLimit& limit) { return limit.quick; });
    terms->source = std::move(definition);
    return terms;
}

CompiledDefinition::CompiledDefinition(Room room, bool captures, SharedText parent_text,
                                       SharedTerms own_terms)
    : parent(std::move(parent_text)),
      terms(std::move(own_terms)),
      source(terms->source),
      limits(terms->limits),
      name_size(room.bytes),
      mode(source.mode),
      has_captures(captures),
      quick(terms->quick),
      refuses_all(terms->refuses_all),
      overflow(terms->overflow) {}

std::unique_ptr<CompiledDefinition> CompiledDefinition::make(std::string_view name,
                                                             SharedText parent, SharedTerms terms) {
    WEIR_ASSERT(name.size() <= kMaxNameBytes && terms != nullptr);
    const Room room{static_cast<std::uint16_t>(name.size())};
    std::unique_ptr<CompiledDefinition> made(new (room) CompiledDefinition(
        room, is_template(name), std::move(parent), std::move(terms)));
    std::copy(name.begin(), name.end(), reinterpret_cast<char*>(made.get() + 1));
    if (made->has_captures) {
        TemplatePatterns patterns{NamePattern::parse(name).value(), {}};
        if (!made->parent.empty()) {
            patterns.parent = NamePattern::parse(made->parent.view()).value();
        }
        made->patterns = std::make_unique<const TemplatePatterns>(std::move(patterns));
    }
    return made;
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
