#include "definitions/file_votes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;

constexpr HashKey kCollectorKey = [] {
    HashKey key;
    constexpr std::string_view text = "weir collectors ";
    static_assert(text.size() == 16);
    for (std::size_t i = 0; i < text.size(); ++i) {
        key.bytes[i] = static_cast<std::byte>(text[i]);
    }
    return key;
}();

std::uint64_t place_of(const MemberId& id) {
    return keyed_hash(to_string(id.address), kCollectorKey);
}

}  // namespace

void SetVotes::add(std::uint64_t content, const MemberId& by) {
    ++voters;
    Content& votes = contents[content];
    ++votes.count;
    if (votes.members.size() < kMostMembers) {
        votes.members.push_back(by);
    }
}

std::optional<std::uint64_t> SetVotes::majority() const {
    const auto found = std::find_if(contents.begin(), contents.end(), [this](const auto& one) {
        return 2 * one.second.count > voters;
    });
    return found == contents.end() ? std::nullopt : std::optional(found->first);
}

std::vector<MemberId> collectors_of(std::span<const MemberId> peers, const MemberId& self) {
    std::vector<std::pair<std::uint64_t, MemberId>> places;
    places.reserve(peers.size() + 1);
    places.emplace_back(place_of(self), self);
    for (const MemberId& peer : peers) {
        places.emplace_back(place_of(peer), peer);
    }
    const std::size_t count = std::min(places.size(), kCollectors);
    std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count),
                      places.end());
    std::vector<MemberId> collectors;
    for (std::size_t i = 0; i < count; ++i) {
        collectors.push_back(places[i].second);
    }
    WEIR_ASSERT(!collectors.empty());
    return collectors;
}

std::optional<std::uint64_t> Majorities::note(const std::string& set,
                                              std::optional<std::uint64_t> majority,
                                              Duration long_enough, Instant now) {
    if (!majority) {
        standing_.erase(set);
        return std::nullopt;
    }
    const auto [at, is_new] = standing_.try_emplace(set, Majority{*majority, now});
    if (at->second.content != *majority) {
        at->second = {*majority, now};
    }
    return now - at->second.since >= long_enough ? majority : std::nullopt;
}

}  // namespace weir::definitions
