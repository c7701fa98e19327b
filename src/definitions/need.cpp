#include "definitions/need.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.h"
#include "base/hash.h"

namespace weir::definitions {
namespace {

/// Of one definition, beside its name, which is there twice: its node of the tree 96, what the
/// limiter has compiled 72, the limiter's tables 8 and (of the name table, which is at least 0.3
/// full) 54.
constexpr std::uint64_t kOfEach = 96 + 72 + 8 + 54;
/// Of limits and options that no other definition has, in the limiter.
constexpr std::uint64_t kOfTerms = 400;
constexpr std::uint64_t kOfLimit = 240;
/// Of a parent that no other definition has: its family in the tree, and the text twice.
constexpr std::uint64_t kOfParent = 240;
/// A template is parsed, indexed in both and has an overflow instance.
constexpr std::uint64_t kOfTemplate = 4096;

/// A hash of what definitions have in common that share their terms in the limiter, options apart,
/// which few have.
std::uint64_t hash_of_terms(const limiter::QuotaDefinition& definition) {
    std::uint64_t hash = mix(static_cast<std::uint64_t>(definition.mode));
    for (const limiter::RateLimit& limit : definition.limits) {
        hash = mix(hash ^ std::bit_cast<std::uint64_t>(limit.amount));
        hash = mix(hash + static_cast<std::uint64_t>(limit.period.count()));
        hash = mix(hash + static_cast<std::uint64_t>(limit.unit));
        for (const auto* const border : {&limit.low, &limit.high}) {
            hash = mix(hash ^ (*border ? std::bit_cast<std::uint64_t>((*border)->value) : 0));
        }
    }
    return hash;
}

}  // namespace

std::uint64_t DistinctCount::estimate() const {
    const double all = kBits;
    const double empty = all - static_cast<double>(seen_.count());
    // With so few empty bits the estimate would be within a tenth no longer.
    constexpr double kFewEmpty = 64;
    if (empty < kFewEmpty) {
        return added_;
    }
    return std::min(added_, static_cast<std::uint64_t>(all * std::log(all / empty) + 1));
}

void MemoryNeed::add(const limiter::QuotaDefinition& definition) {
    if (counts_ == nullptr) {
        counts_ = std::make_unique<Counts>();
    }
    bytes_ += kOfEach + 2 * definition.name.size();
    bytes_ += limiter::is_template(definition.name) ? kOfTemplate : 0;
    counts_->terms.add(hash_of_terms(definition));
    if (definition.parent) {
        counts_->parents.add(keyed_hash(*definition.parent, HashKey{}));
    }
}

/// Terms have one limit as a rule; those with more are in the minority of what is different.
std::uint64_t MemoryNeed::distinct() const {
    WEIR_ASSERT(counts_ != nullptr);
    return counts_->terms.estimate() * (kOfTerms + kOfLimit) +
           counts_->parents.estimate() * kOfParent;
}

void MemoryNeed::finish() {
    if (counts_ != nullptr) {
        bytes_ += distinct();
        counts_.reset();
    }
}

}  // namespace weir::definitions
