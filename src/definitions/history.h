#pragma once
// What the API layer said of a quota before: changes that newer ones replaced here, and changes
// that arrived when a newer one was known already (made at the same moment, or at the other side of
// a split). Kept by each sidecar of what it has seen itself, not sent to anybody; gone with the
// process. Bounded: the last eight of a quota, 10,000 in all, the oldest first to go.
// Not thread-safe.

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
    current,    // says what the API layer says now
    replaced,   // by a newer change
    overruled,  // a newer change was here before it came
};

struct HistoryEntry {
    DefinitionEntry entry;
    HistoryFate fate = HistoryFate::replaced;
};

class DefinitionHistory {
  public:
    static constexpr std::size_t kOfQuota = 8;
    static constexpr std::size_t kMaximum = 10'000;

    /// False if that version is kept already.
    bool note(DefinitionEntry entry, HistoryFate fate);
    /// Newest version first.
    [[nodiscard]] std::vector<HistoryEntry> of(std::string_view name) const;
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    void forget_oldest();

    std::map<std::string, std::deque<HistoryEntry>, std::less<>> entries_;
    std::deque<std::pair<std::string, Version>> order_;  // oldest first
    std::size_t size_ = 0;
};

}  // namespace weir::definitions
