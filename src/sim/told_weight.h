#pragma once
// What became of the weight that origins told an owner of: the sums that the checkers go by, and
// the ledger that a simulated sidecar keeps of them.
//
// Thread-safety: none; belongs to a simulated sidecar. Ownership: values.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "sync/weight_ledger.h"

namespace weir::sim {

/// The weight of one limit by its fate (sync::WeightFate says what each means).
struct ToldWeight {
    double counted = 0;
    double first_sight = 0;
    double late = 0;
    double ceiling = 0;
    double refused = 0;
    double drained = 0;
    double forgotten = 0;
};

void add(ToldWeight& sum, const ToldWeight& told);

/// The sums of every life of every limit that a process owned.
class ToldLedger final : public sync::WeightLedger {
  public:
    void note(const sync::LimitKey& key, std::uint32_t life, sync::WeightFate fate,
              double weight) override;
    /// Zeros for a life of which nothing was noted.
    [[nodiscard]] ToldWeight of(const sync::LimitKey& key, std::uint32_t life) const;

  private:
    struct Account {
        sync::LimitKey key;
        std::uint32_t life = 0;
        bool operator==(const Account&) const = default;
    };
    struct AccountHash {
        std::size_t operator()(const Account& account) const;
    };
    std::unordered_map<Account, ToldWeight, AccountHash> told_;
};

}  // namespace weir::sim
