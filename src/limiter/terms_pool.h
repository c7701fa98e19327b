#pragma once
// Finds the terms (compiled limits and options) that definitions have in common, so that equal ones
// are in memory once. Which definitions share their terms changes nothing but memory.
//
// Thread-safety: for the control thread. Any thread may let go of terms meanwhile.
// Ownership: the pool shares the terms with the definitions. Now and then it lets go of those that
// no definition has any more, so that these are never more than those in use, or than a thousand.
// Invariant: terms that the pool knows never change.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "limiter/compiled_definition.h"

namespace weir::limiter {

class TermsPool {
  public:
    /// The terms of this definition, whose name and parent do not matter, compiled as
    /// compile_terms() says.
    [[nodiscard]] SharedTerms terms_of(const QuotaDefinition& definition,
                                       const CompiledTerms* before, bool overflow);
    /// How many different terms it knows, for tests; some of them may not be in use any more.
    [[nodiscard]] std::size_t size() const { return known_.size(); }

  private:
    template <class Fits>
    [[nodiscard]] SharedTerms find(std::uint64_t hash, Fits fits) const;
    void forget_unused();

    std::unordered_multimap<std::uint64_t, SharedTerms> known_;  // by a hash of limits and options
    std::size_t clean_at_ = 1024;
};

}  // namespace weir::limiter
