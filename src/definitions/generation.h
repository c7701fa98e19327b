#pragma once
// The version of a quota set, as one number. A set whose files give a generation has that number,
// 1 to 2^53. A set whose files give none is *automatic*: its content is its identity, and the fleet
// decides by a majority of the files which content is in force. The n-th decision about a set, its
// epoch, is the number 2^63 + n. 0 is a content that is in force without a decision: the first one
// of a fleet, or of a sidecar that has not met its fleet yet.
//
// So versions are compared as numbers, also by earlier versions of weir: a decision replaces
// numbered generations and earlier decisions, and anything replaces a content that nobody has
// decided upon. Two decisions of the same epoch, from both sides of a split, are ordered by their
// content. Pure functions; thread-safe.

#include <cstdint>
#include <optional>
#include <string>

namespace weir::definitions {

inline constexpr std::uint64_t kUndecided = 0;
inline constexpr std::uint64_t kDecided = std::uint64_t{1} << 63U;
/// An epoch that is further ahead than this cannot have come about, and is refused.
inline constexpr std::uint64_t kMaximumEpochLead = std::uint64_t{1} << 32U;

[[nodiscard]] constexpr bool is_automatic(std::uint64_t generation) {
    return generation == kUndecided || generation >= kDecided;
}
/// The epoch of an automatic set; 0 if there was no decision, or the set has a numbered generation.
[[nodiscard]] constexpr std::uint64_t epoch_of(std::uint64_t generation) {
    return generation >= kDecided ? generation - kDecided : 0;
}
[[nodiscard]] constexpr std::uint64_t decision_of(std::uint64_t epoch) { return kDecided + epoch; }

/// In place of a content: a vote for whatever is in force where it is counted.
inline constexpr std::uint64_t kForInForce = 0;

/// A content under a version.
struct SetVersion {
    std::uint64_t generation = kUndecided;
    std::uint64_t content = 0;
    friend bool operator==(const SetVersion&, const SetVersion&) = default;
};

/// Whether `fresh` replaces `here` at every sidecar.
[[nodiscard]] constexpr bool supersedes(const SetVersion& fresh, const SetVersion& here) {
    if (fresh.generation != here.generation) {
        return fresh.generation > here.generation;
    }
    return fresh.generation >= kDecided && fresh.content > here.content;
}

/// For people: "7", "auto", "auto, epoch 3", or "none" for a set of this sidecar alone.
[[nodiscard]] inline std::string generation_text(std::optional<std::uint64_t> generation) {
    if (!generation) {
        return "none";
    }
    if (!is_automatic(*generation)) {
        return std::to_string(*generation);
    }
    const std::uint64_t epoch = epoch_of(*generation);
    return epoch == 0 ? "auto" : "auto, epoch " + std::to_string(epoch);
}

}  // namespace weir::definitions
