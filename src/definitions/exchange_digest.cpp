// The part of DefinitionExchange that compares digests and remembers what peers said last.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "definitions/exchange.h"
#include "definitions/messages.h"
#include "definitions/payload.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;
using gossip::MessageSink;
using gossip::MessageType;

constexpr std::size_t kAnnouncements = 64;
constexpr std::size_t kGreetingsAtOnce = 16;
constexpr std::size_t kPartitionsAtOnce = 8;

}  // namespace

/// Sends a digest to new peers at once, in a large fleet only to some of them; otherwise hundreds
/// would tell a newcomer the same. Some peers also get one when a document has come into force, or
/// when this sidecar votes for another file: any of them may count the votes after a split.
void DefinitionExchange::greet(Instant now, std::span<const MemberId> peers, MessageSink& sink) {
    std::vector<std::pair<std::string, std::uint64_t>> documents;
    for (const SetStatus& set : store_.sets()) {
        if (set.generation) {
            const std::uint64_t version = *set.generation ^ set.content_hash;
            const std::optional<std::uint64_t> vote = own_vote(set);
            documents.emplace_back(set.set, vote ? mix(version ^ mix(*vote + 1)) : version);
        }
    }
    if (documents != announced_) {
        announced_ = std::move(documents);
        for (std::size_t i = 0; i < std::min(peers.size(), kAnnouncements); ++i) {
            const std::size_t chosen =
                peers.size() <= kAnnouncements ? i : random_.below(peers.size());
            send_digest(peers[chosen], false, sink);
        }
    }
    if (std::equal(peers.begin(), peers.end(), all_greeted_.begin(), all_greeted_.end())) {
        return;
    }
    if (greeted_.size() > peers.size()) {
        const std::set<MemberId> here(peers.begin(), peers.end());
        std::erase_if(greeted_, [&](const MemberId& id) { return !here.contains(id); });
    }
    std::size_t greetings = 0;
    for (const MemberId& peer : peers) {
        if (!greeted_.insert(peer).second) {
            continue;
        }
        unheard_before_ = now;
        if (peers.size() > kAnnouncements && random_.below(peers.size()) >= kAnnouncements) {
            continue;
        }
        send_digest(peer, false, sink);
        if (++greetings == kGreetingsAtOnce) {
            return;
        }
    }
    all_greeted_.assign(peers.begin(), peers.end());
}

void DefinitionExchange::send_digest(const MemberId& to, bool with_partitions, MessageSink& sink) {
    DefinitionDigest digest;
    digest.root = store_.overrides().root_hash();
    digest.writers = store_.overrides().writers();
    if (with_partitions) {
        digest.partitions = shorten(store_.overrides().partition_hashes());
    }
    for (const SetStatus& set : store_.sets()) {
        if (set.generation) {
            digest.sets.push_back({set.set, *set.generation, set.content_hash, own_vote(set)});
        }
    }
    if (digest.sets.size() > 1) {  // if there are more than fit, they take turns
        const auto first = static_cast<std::ptrdiff_t>(random_.below(digest.sets.size()));
        std::rotate(digest.sets.begin(), digest.sets.begin() + first, digest.sets.end());
    }
    WEIR_ASSERT(digest.sets.size() <= DefinitionStore::kMaximumSets);
    ++counters_.digests_sent;
    send_value(sink, to, MessageType::definition_digest, digest);
}

bool DefinitionExchange::on_digest(const MemberId& from, ByteReader& reader, Instant now,
                                   MessageSink& sink) {
    const DefinitionDigest digest = decode_digest(reader);
    if (!reader.ok()) {
        return false;
    }
    note_said(from, digest, now);
    answer_votes(from, digest, now, sink);
    std::vector<std::string> named;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> versions;
    for (const SetDigest& set : digest.sets) {
        named.push_back(set.set);
        versions.emplace_back(set.generation, set.content);
    }
    WEIR_ASSERT(named.size() == versions.size());
    const bool newer_here = compare_sets(from, named, versions, now, sink);
    compare_contents();
    const bool differ = digest.root != store_.overrides().root_hash();
    if (differ) {
        ++counters_.digests_differed;
        push_recent(from, digest.writers, now, sink);
    }
    if (!digest.partitions) {
        if (differ || newer_here) {
            send_digest(from, true, sink);
        }
        return true;
    }
    const ShortHashes own = shorten(store_.overrides().partition_hashes());
    std::size_t differing = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
        if (own[i] != (*digest.partitions)[i]) {
            ++differing;
        }
    }
    if (in_bulk_with(from)) {
        return true;
    }
    if (differing > kPartitionsAtOnce && digest.root != 0 && may_wish(from, now)) {
        wish_for_overrides(from, now);
        return true;
    }
    const std::size_t start = random_.below(own.size());
    std::size_t asked = 0;
    for (std::size_t i = 0; i < own.size() && asked < kPartitionsAtOnce; ++i) {
        const std::size_t partition = (start + i) % own.size();
        if (own[partition] != (*digest.partitions)[partition]) {
            ask_partition(from, static_cast<std::uint8_t>(partition), true, sink);
            ++asked;
        }
    }
    return true;
}

void DefinitionExchange::note_said(const MemberId& from, const DefinitionDigest& digest,
                                   Instant now) {
    PeerDefinitions& said = said_[from];
    for (const SetDigest& set : digest.sets) {  // a digest need not name all sets
        const auto known =
            std::find_if(said.sets.begin(), said.sets.end(),
                         [&](const PeerDefinitions::Set& one) { return one.name == set.set; });
        if (known != said.sets.end()) {
            *known = {set.set, set.generation, set.content, set.on_disk, now};
        } else if (said.sets.size() < DefinitionStore::kMaximumSets) {
            said.sets.push_back({set.set, set.generation, set.content, set.on_disk, now});
        }
        votes_heard_ = votes_heard_ || set.on_disk;
    }
    WEIR_ASSERT(said.sets.size() <= DefinitionStore::kMaximumSets);
    said.overrides = digest.root;
    said.at = now;
}

const PeerDefinitions* DefinitionExchange::said(const MemberId& peer) const {
    const auto found = said_.find(peer);
    return found == said_.end() ? nullptr : &found->second;
}

/// Forgets what peers said that are gone. This must be exact, because what is said counts as votes,
/// and the number of peers does not show which they are.
void DefinitionExchange::forget_said(std::span<const MemberId> peers) {
    std::vector<MemberId> here(peers.begin(), peers.end());
    std::sort(here.begin(), here.end());
    std::erase_if(said_, [&](const auto& item) {
        return !std::binary_search(here.begin(), here.end(), item.first);
    });
}

}  // namespace weir::definitions
