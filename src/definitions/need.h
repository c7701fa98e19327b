#pragma once
// Reckons the memory that the definitions of a document take once they are in force, in the tree
// and in the limiter, without the document itself. It is known before the first of them is
// installed. tests/definitions/need_test.cpp holds the figures to what is really taken.
//
// Thread-safety: none; a value of the document that is read. It owns its counts, and refers to
// nothing that it was given.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "limiter/definition.h"

namespace weir::definitions {

/// About how many different things there are, from a bitmap of their hashes (linear counting:
/// Whang, Vander-Zanden and Taylor 1990). Good to 1 % up to some 100,000; never more than there
/// are, and all of them when the bitmap is nearly full.
class DistinctCount {
  public:
    void add(std::uint64_t hash) {
        ++added_;
        seen_.set(hash % kBits);
    }
    [[nodiscard]] std::uint64_t estimate() const;

  private:
    static constexpr std::size_t kBits = std::size_t{1} << 16U;
    std::bitset<kBits> seen_;
    std::uint64_t added_ = 0;
};

class MemoryNeed {
  public:
    void add(const limiter::QuotaDefinition& definition);
    /// The definitions have all been added: gives back what only counting needs.
    void finish();
    [[nodiscard]] std::uint64_t bytes() const { return bytes_ + (counts_ ? distinct() : 0); }

  private:
    struct Counts {
        DistinctCount terms;
        DistinctCount parents;
    };
    [[nodiscard]] std::uint64_t distinct() const;

    std::uint64_t bytes_ = 0;
    std::unique_ptr<Counts> counts_;
};

}  // namespace weir::definitions
