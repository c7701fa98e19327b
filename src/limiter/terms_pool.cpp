#include "limiter/terms_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"

namespace weir::limiter {
namespace {

/// Terms whose hashes are equal are compared. So the hash leaves out what most definitions do not
/// have, and needs no secret key: at most the search gets slower.
std::uint64_t terms_hash(const QuotaDefinition& definition) {
    std::uint64_t hash = mix(definition.limits.size());
    for (const RateLimit& limit : definition.limits) {
        hash = mix(hash ^ std::bit_cast<std::uint64_t>(limit.amount));
        hash = mix(hash ^ (static_cast<std::uint64_t>(limit.period.count()) * kUnits +
                           static_cast<std::uint64_t>(limit.unit)));
        if (limit.low) {
            hash = mix(hash ^ std::bit_cast<std::uint64_t>(limit.low->value));
        }
        if (limit.high) {
            hash = mix(hash + std::bit_cast<std::uint64_t>(limit.high->value));
        }
    }
    return mix(hash + static_cast<std::uint64_t>(definition.mode));
}

bool same_numbers(const CompiledTerms& one, const CompiledTerms& other) {
    return one.former == other.former &&
           std::equal(one.limits.begin(), one.limits.end(), other.limits.begin(),
                      other.limits.end(),
                      [](const CompiledLimit& left, const CompiledLimit& right) {
                          return left.identity == right.identity;
                      });
}

}  // namespace

/// Those of the known terms with this hash that fit, or null.
template <class Fits>
SharedTerms TermsPool::find(std::uint64_t hash, Fits fits) const {
    const auto [begin, end] = known_.equal_range(hash);
    const auto found =
        std::find_if(begin, end, [&](const auto& known) { return fits(*known.second); });
    return found == end ? nullptr : found->second;
}

SharedTerms TermsPool::terms_of(const QuotaDefinition& definition, const CompiledTerms* before,
                                bool overflow) {
    QuotaDefinition nameless = definition;
    nameless.name = {};
    nameless.parent.reset();
    const std::uint64_t hash = mix(terms_hash(nameless) + (overflow ? 1 : 0));
    const auto same = [&](const CompiledTerms& terms) {
        return terms.overflow == overflow && terms.source == nameless;
    };
    if (before == nullptr) {
        if (SharedTerms known = find(
                hash, [&](const CompiledTerms& terms) { return terms.first && same(terms); })) {
            return known;
        }
    }
    SharedTerms fresh = compile_terms(std::move(nameless), before, overflow);
    const auto same_as_fresh = [&](const CompiledTerms& terms) {
        return terms.overflow == overflow && terms.source == fresh->source &&
               same_numbers(terms, *fresh);
    };
    // After an edit, too, a limit mostly has the number that it would have had without one.
    if (before != nullptr) {
        if (SharedTerms known = find(hash, same_as_fresh)) {
            return known;
        }
    }
    forget_unused();
    known_.emplace(hash, fresh);
    return fresh;
}

void TermsPool::forget_unused() {
    if (known_.size() < clean_at_) {
        return;
    }
    // Only this thread finds terms here. So terms that nobody else has stay without others.
    std::erase_if(known_, [](const auto& one) { return one.second->use_count() == 1; });
    clean_at_ = std::max<std::size_t>(1024, 2 * known_.size());
}

}  // namespace weir::limiter
