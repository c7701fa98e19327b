#pragma once
// What became of the weight that origins told an owner of: the sums that the checkers go by, and
// the ledger that a simulated sidecar keeps of them.
//
// Thread-safety: none; belongs to a simulated sidecar. Ownership: values.

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sync/weight_ledger.h"

namespace weir::sim {

/// The weight of one limit by its fate.
class ToldWeight {
  public:
    [[nodiscard]] double& operator[](sync::WeightFate fate) {
        return by_fate_[static_cast<std::size_t>(fate)];
    }
    [[nodiscard]] double operator[](sync::WeightFate fate) const {
        return by_fate_[static_cast<std::size_t>(fate)];
    }
    ToldWeight& operator+=(const ToldWeight& other);

  private:
    static constexpr std::size_t kFates = static_cast<std::size_t>(sync::WeightFate::forgotten) + 1;
    std::array<double, kFates> by_fate_{};
};

/// The sums of every life of every limit that a process owned.
class ToldLedger final : public sync::WeightLedger {
  public:
    void note(const sync::LimitKey& key, std::uint32_t life, sync::WeightFate fate,
              double weight) override;
    void counted_quietly(const sync::LimitKey& key, double weight) override {
        quiet_[{key, 0}] += weight;
    }
    /// The weight that the process counted under the limit while that was quiet.
    [[nodiscard]] double quiet(const sync::LimitKey& key) const {
        const auto found = quiet_.find({key, 0});
        return found == quiet_.end() ? 0 : found->second;
    }
    void run_began(const sync::LimitKey& key, std::uint32_t run) override {
        begun_.emplace_back(key, run);
    }
    /// The runs that began since the last call.
    [[nodiscard]] std::vector<std::pair<sync::LimitKey, std::uint32_t>> take_begun() {
        return std::exchange(begun_, {});
    }
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
    std::unordered_map<Account, double, AccountHash> quiet_;
    std::vector<std::pair<sync::LimitKey, std::uint32_t>> begun_;
};

}  // namespace weir::sim
