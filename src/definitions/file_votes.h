#pragma once
// Counts which contents the sidecars of a fleet have on disk for an automatic set, and decides when
// another content is to be in force: when more than half of the sidecars that have a file of the
// set have had the same content for long enough.
//
// Who counts: the three members that come first in an order which depends on their addresses alone
// (collectors_of). All others tell them what they have. A member that fell silent without a goodbye
// goes on voting for what is in force, for a minute, so that a small part of a fleet that is cut
// off decides nothing at first. Where nobody counts who hears the votes of all, so does one whose
// vote is not known.
//
// Pure state without a clock. Thread-safety: none. Bounds: as many votes as there are members.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "definitions/generation.h"
#include "gossip/member_id.h"

namespace weir::definitions {

/// The votes about one set, at one moment.
struct SetVotes {
    static constexpr std::size_t kMostMembers = 3;
    struct Content {
        std::size_t count = 0;
        std::vector<gossip::MemberId> members;  // some of those who have it, at most kMostMembers
    };
    std::size_t voters = 0;
    std::map<std::uint64_t, Content> contents;

    void add(std::uint64_t content, const gossip::MemberId& by);
    /// The content that more than half of the voters have; nothing if there is none.
    [[nodiscard]] std::optional<std::uint64_t> majority() const;
    [[nodiscard]] bool differ() const { return contents.size() > 1; }
};

inline constexpr std::size_t kCollectors = 3;
/// The members that count, of all live ones. Where all are equal at all members, so is the result.
[[nodiscard]] std::vector<gossip::MemberId> collectors_of(std::span<const gossip::MemberId> peers,
                                                          const gossip::MemberId& self);

/// Remembers since when each set has had its majority.
class Majorities {
  public:
    /// Notes the majority of this moment. Returns it once it has stood for `long_enough`.
    std::optional<std::uint64_t> note(const std::string& set, std::optional<std::uint64_t> majority,
                                      Duration long_enough, Instant now);
    void clear() { standing_.clear(); }

  private:
    struct Majority {
        std::uint64_t content = 0;
        Instant since{};
    };
    std::map<std::string, Majority> standing_;
};

}  // namespace weir::definitions
