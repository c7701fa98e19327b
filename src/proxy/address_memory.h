#pragma once
// Remembers which of the upstream's addresses have just failed, so that not every new connection
// tries a dead address first. For a second a failed address is tried only after all others; then
// one request tries it again. Only the first kMost addresses are ever tried. Reads no clock; not
// thread-safe: each worker has one. It owns copies of the addresses.

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
        /// This address has just failed, and so have all others that are left.
        bool last_resort = false;
    };

    /// Which of `count` addresses a request that has tried `tried` is to try next: the first one
    /// that has not just failed, else the first one; nothing when all were tried. After a failed
    /// address has been chosen again, no other request gets it for kPause. `version` is that of the
    /// list of addresses: with a newer version everything is forgotten, and about an older one
    /// nothing is known.
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
