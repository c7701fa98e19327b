#pragma once
// Which of an upstream's addresses have just failed, so that not every new connection tries a dead
// one first. A failed address comes last for a second, then one request tries it again. Pure, not
// thread-safe; one per worker. Of more than kMost addresses the further ones are
// never tried.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/instant.h"

namespace weir::proxy {

class AddressMemory {
  public:
    static constexpr std::size_t kMost = 64;
    static constexpr Duration kPause = std::chrono::seconds(1);

    /// The addresses that one request has tried.
    class Tried {
      public:
        [[nodiscard]] bool holds(std::size_t index) const { return (bits_ >> index & 1U) != 0; }
        void add(std::size_t index) { bits_ |= std::uint64_t{1} << index; }

      private:
        std::uint64_t bits_ = 0;
    };

    struct Choice {
        std::size_t index = 0;
        bool last_resort = false;  ///< it has just failed, as all that are left
    };

    /// Which of `count` addresses to try next, now that those were tried: the first that has not
    /// failed, else the first; nothing when all were. Who gets one that is due to be tried again is
    /// the only one for a while. `version` of the list of addresses: a newer one is remembered
    /// afresh, of an older one nothing is.
    [[nodiscard]] std::optional<Choice> next(std::uint64_t version, std::size_t count,
                                             const Tried& tried, Instant now) {
        if (version > version_) {
            version_ = version;
            again_at_ = {};
        }
        std::optional<Choice> last_resort;
        for (std::size_t i = 0; i < std::min(count, kMost); ++i) {
            if (tried.holds(i)) {
                continue;
            }
            if (version < version_ || !again_at_[i]) {
                return Choice{.index = i};
            }
            if (*again_at_[i] <= now) {
                again_at_[i] = now + kPause;
                return Choice{.index = i};
            }
            if (!last_resort) {
                last_resort = Choice{.index = i, .last_resort = true};
            }
        }
        return last_resort;
    }
    void failed(std::uint64_t version, std::size_t index, Instant now) {
        if (version == version_) {
            again_at_[index] = now + kPause;
        }
    }
    void succeeded(std::uint64_t version, std::size_t index) {
        if (version == version_) {
            again_at_[index].reset();
        }
    }

  private:
    std::uint64_t version_ = 0;
    std::array<std::optional<Instant>, kMost> again_at_{};
};

}  // namespace weir::proxy
