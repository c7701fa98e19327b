#pragma once
// A map from the literal texts of routes (hosts, segments, operations) to numbers. It is filled
// once; a look-up then costs about one comparison. The hash has no secret key, because only the
// configuration adds entries and requests only look them up. Thread-safe once filled. It owns
// copies of the texts.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/words.h"

namespace weir::routing {

class LiteralMap {
  public:
    using Number = std::uint32_t;

    /// The number of this text. A text that is new gets `number`.
    Number insert(std::string_view text, Number number) {
        if (const auto known = find(text)) {
            return *known;
        }
        entries_.push_back({std::string(text), number});
        if (entries_.size() * 2 > slots_.size()) {
            grow();
        } else {
            place(entries_.size() - 1);
        }
        return number;
    }

    [[nodiscard]] std::optional<Number> find(std::string_view text) const {
        if (slots_.empty()) {
            return std::nullopt;
        }
        for (auto at = hash(text) >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
            const auto slot = slots_[at];
            if (slot == 0) {
                return std::nullopt;
            }
            const Entry& entry = entries_[slot - 1];
            if (entry.text == text) {
                return entry.number;
            }
        }
    }

  private:
    struct Entry {
        std::string text;
        Number number;
    };

    static std::uint64_t hash(std::string_view text) {
        constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
        http::PackedText packed;
        if (text.size() <= http::kMaxPacked) {
            packed = http::pack(text);
        } else {
            packed = http::pack(text.substr(text.size() - http::kMaxPacked));
            packed.first ^= http::load<std::uint64_t>(text.data());
        }
        const auto mixed = packed.first ^ (packed.middle * kOdd);
        return ((mixed ^ (mixed >> 32U)) * kOdd ^ packed.last ^ text.size()) * kOdd;
    }

    void place(std::size_t index) {
        auto at = hash(entries_[index].text) >> shift_;
        while (slots_[at] != 0) {
            at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at] = static_cast<std::uint32_t>(index + 1);
    }

    void grow() {
        slots_.assign(slots_.empty() ? 8 : slots_.size() * 2, 0);
        shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots_.size()));
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            place(i);
        }
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // index of the entry + 1, or 0 when free; a power of two in
                                        // number, at most half of them used
    unsigned shift_ = 0;
};

}  // namespace weir::routing
