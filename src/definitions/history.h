#pragma once
// The changes of each quota by the API that are not in force any more: those that newer ones have
// replaced here, and those that came when a newer one was known already, because both were made at
// the same moment or on two sides of a split. Each sidecar keeps what it has seen itself. It sends
// its history to nobody, and the history ends with the process.
//
// Thread-safety: none. Ownership: it owns its entries. Bounds: the last eight changes of a quota,
// 10,000 in all; the oldest are forgotten first.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "definitions/map.h"

namespace weir::definitions {

enum class HistoryFate : std::uint8_t {
    current,    // it holds now
    replaced,   // it held here until a newer change came
    overruled,  // it never held here: a newer change was known before it came
};

struct HistoryEntry {
    DefinitionEntry entry;
    HistoryFate fate = HistoryFate::replaced;
};

class DefinitionHistory {
  public:
    static constexpr std::size_t kOfQuota = 8;
    static constexpr std::size_t kMaximum = 10'000;

    /// Keeps the entry. Does nothing and returns false if an entry of this name and version is kept
    /// already.
    bool note(DefinitionEntry entry, HistoryFate fate);
    /// The changes of a name that are kept, the newest version first.
    [[nodiscard]] std::vector<HistoryEntry> of(std::string_view name) const;
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    void forget_oldest();

    std::map<std::string, std::deque<HistoryEntry>, std::less<>> entries_;
    std::deque<std::pair<std::string, Version>> order_;  // oldest first
    std::size_t size_ = 0;
};

}  // namespace weir::definitions
