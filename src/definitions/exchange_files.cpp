// The part of DefinitionExchange that tells which content the files of this sidecar have, counts
// what the files of all have, and decides which content of an automatic set is in force.

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

/// News is told so many times, a second apart, in case datagrams are lost; then now and then. All
/// members together tell a collector at most so many times a second.
constexpr std::uint32_t kTells = 3;
constexpr Duration kTellAgain = std::chrono::seconds(1);
constexpr Duration kTellNowAndThen = std::chrono::seconds(5);
constexpr double kTellsPerSecond = 100;
constexpr Duration kLongestCount = std::chrono::seconds(1);
/// So long after files agree again a collector goes on telling it.
constexpr Duration kTellAgreement = std::chrono::seconds(30);
constexpr std::size_t kMostLost = 8192;
/// A digest that names a set without a file says so long that its sender has none.
constexpr Duration kNoVoteHolds = std::chrono::seconds(30);
/// After so many intervals a collector has heard all that vote, unless several datagrams in a row
/// were lost: they also tell it thrice at once when it begins to count.
constexpr int kIntervalsToHearAll = 2;
/// What a set_count takes at most.
constexpr std::size_t kMaximumSetCount =
    2 + 2 + kMaximumSetName + 10 + 8 + 10 + 1 +
    SetCount::kMostContents * (8 + 10 + 1 + SetCount::kMostPlaces * 19);

Duration tell_interval(std::size_t peers) {
    return std::max(kTellNowAndThen, from_seconds(static_cast<double>(peers) / kTellsPerSecond));
}

std::uint64_t hash_of(const MemberId& id) {
    return keyed_hash(to_string(id.address), HashKey{}) ^ mix(id.incarnation);
}

SetCount summary_of(const std::string& set, const SetVotes& votes) {
    SetCount count;
    count.set = set;
    count.voters = votes.voters;
    for (const auto& [content, part] : votes.contents) {
        SetCount::Content& one = count.contents.emplace_back();
        one.content = content;
        one.count = part.count;
        for (const MemberId& member : part.members) {
            one.places.push_back(member.address);
        }
    }
    std::stable_sort(count.contents.begin(), count.contents.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    if (count.contents.size() > SetCount::kMostContents) {
        count.contents.resize(SetCount::kMostContents);
    }
    return count;
}

bool differ(const SetCount& count) { return count.contents.size() > 1; }

}  // namespace

void DefinitionExchange::set_self(const MemberId& self) {
    std::replace(collectors_.begin(), collectors_.end(), self_, self);
    self_ = self;
}

/// The vote of this sidecar, once it is old enough: one that has just started may have an old file,
/// and one that crashes again and again must not make the number of voters change.
std::optional<std::uint64_t> DefinitionExchange::own_vote(const SetStatus& set) const {
    if (!old_enough_ || !set.generation) {
        return std::nullopt;
    }
    return store_.files().vote(set.set, *set.generation);
}

bool DefinitionExchange::counts_here() const {
    return std::find(collectors_.begin(), collectors_.end(), self_) != collectors_.end();
}

/// Whether this member has counted for so long that all that vote have told it.
bool DefinitionExchange::hears_all_votes(Instant now) const {
    return counts_since_ &&
           now - *counts_since_ >= kIntervalsToHearAll * tell_interval(counted_peers_.size());
}

void DefinitionExchange::tick_files(Instant now, std::span<const MemberId> peers,
                                    MessageSink& sink) {
    born_ = born_.value_or(now);
    old_enough_ = old_enough_ || now - *born_ >= agree_after_;
    met_peer_ = met_peer_ || !peers.empty();
    store_.note_alone(!met_peer_);
    if (!store_.files().any() && !votes_heard_) {
        // Whoever goes or comes meanwhile is not followed, so all is found anew afterwards.
        counted_peers_.clear();
        counts_since_.reset();
        find_collectors_ = true;
        return;
    }
    follow_peers(now, peers);
    take_files_alone(now);
    tell_votes(now, peers.size(), sink);
    if (now >= next_count_) {
        if (now - std::exchange(last_count_, now) > kLongestCount + kLongestCount) {
            majorities_.clear();  // the process was stopped, and knows nothing of that time
        }
        next_count_ = now + std::min(kLongestCount, agree_after_ / 4);
        count_files(now, sink);
    }
    const Duration forgotten = 3 * tell_interval(peers.size());
    std::erase_if(counted_, [&](const auto& one) { return now - one.second.at > forgotten; });
    std::erase_if(lost_, [&](const auto& one) { return now >= one.second.until; });
}

/// Finds out who counts, and who is gone. Where half of the members or more are new, as for one
/// that had not found its fleet or at the end of a split, what stood among the former ones says
/// nothing.
void DefinitionExchange::follow_peers(Instant now, std::span<const MemberId> peers) {
    if (!std::exchange(find_collectors_, false) &&
        std::equal(peers.begin(), peers.end(), counted_peers_.begin(), counted_peers_.end())) {
        return;
    }
    const std::set<MemberId> before(counted_peers_.begin(), counted_peers_.end());
    const auto fresh = std::count_if(peers.begin(), peers.end(),
                                     [&](const MemberId& peer) { return !before.contains(peer); });
    if (2 * static_cast<std::size_t>(fresh) >= peers.size() + 1) {
        majorities_.clear();
    }
    const std::set<MemberId> here(peers.begin(), peers.end());
    for (const MemberId& peer : counted_peers_) {
        if (!here.contains(peer)) {
            note_lost(peer, now);
        }
    }
    for (const MemberId& peer : peers) {
        lost_.erase(peer.address);
    }
    counted_peers_.assign(peers.begin(), peers.end());
    collectors_ = collectors_of(peers, self_);
    WEIR_ASSERT(!collectors_.empty());
    counts_since_ = counts_here() ? std::optional(counts_since_.value_or(now)) : std::nullopt;
}

/// Without a peer since the start and without a decision there is nobody to agree with. One that is
/// cut off from its fleet has met it, and waits.
void DefinitionExchange::take_files_alone(Instant now) {
    if (met_peer_) {
        return;
    }
    for (const SetStatus& set : store_.sets()) {
        if (set.generation && epoch_of(*set.generation) == 0) {
            store_.offer_file(set.set, now);
        }
    }
}

/// Tells the members that count what the files here have: at once when that changes, or when others
/// count, and every few seconds.
void DefinitionExchange::tell_votes(Instant now, std::size_t peers, MessageSink& sink) {
    std::uint64_t votes = 0;
    for (const SetStatus& set : store_.sets()) {
        if (const auto vote = own_vote(set)) {
            votes = mix(votes ^ keyed_hash(set.set, HashKey{}) ^ mix(*vote + 1));
        }
    }
    const bool any = votes != 0;
    for (const MemberId& collector : collectors_) {
        votes = any ? mix(votes ^ hash_of(collector)) : votes;
    }
    if (votes != votes_told_) {
        votes_told_ = votes;
        tells_left_ = kTells;
        next_tell_ = now;
    }
    if (now < next_tell_ || (!any && tells_left_ == 0)) {
        return;
    }
    for (const MemberId& collector : collectors_) {
        if (collector != self_) {
            send_digest(collector, false, sink);
        }
    }
    tells_left_ -= tells_left_ > 0 ? 1U : 0U;
    const Duration pause = tells_left_ > 0 ? kTellAgain : tell_interval(peers);
    next_tell_ = now + from_seconds(to_seconds(pause) * (0.75 + random_.unit() / 2));
}

/// Where nobody has decided, what is in force may differ from sidecar to sidecar. A vote for it is
/// then one for what its sender has, so that all that count come to the same result.
SetVotes DefinitionExchange::votes_about(const SetStatus& set, Instant now) const {
    SetVotes votes;
    const auto add = [&](std::uint64_t vote, const MemberId& by) {
        votes.add(vote == kForInForce ? set.content_hash : vote, by);
    };
    if (const auto own = own_vote(set)) {
        add(*own, self_);
    }
    for (const auto& [peer, said] : said_) {
        for (const PeerDefinitions::Set& one : said.sets) {
            if (one.on_disk && one.name == set.set) {
                const bool undecided = *one.on_disk == kForInForce &&
                                       *set.generation == kUndecided &&
                                       one.generation == kUndecided;
                add(undecided ? one.content : *one.on_disk, peer);
            }
        }
    }
    for (const auto& [address, lost] : lost_) {
        if (lost.votes_about(set.set) && now < lost.until) {
            add(kForInForce, lost.peer);
        }
    }
    return votes;
}

void DefinitionExchange::count_files(Instant now, MessageSink& sink) {
    if (!counts_here() || !old_enough_) {
        majorities_.clear();  // others count
        return;
    }
    for (const SetStatus& set : store_.sets()) {
        if (!set.generation) {
            continue;
        }
        const SetVotes votes = votes_about(set, now);
        if (votes.voters == 0) {
            majorities_.note(set.set, std::nullopt, agree_after_, now);
            counted_.erase(set.set);
            continue;
        }
        Counted& counted = counted_[set.set];
        counted.count = summary_of(set.set, votes);
        counted.at = now;
        counted.differed = votes.differ() ? now : counted.differed;
        if (const auto content = majorities_.note(set.set, votes.majority(), agree_after_, now)) {
            decide(set, *content, votes, now, sink);
        }
    }
}

/// More than half have had this content for long enough.
void DefinitionExchange::decide(const SetStatus& set, std::uint64_t content, const SetVotes& votes,
                                Instant now, MessageSink& sink) {
    const bool nothing_new = content == set.content_hash && *set.generation != kUndecided;
    const bool alone = !met_peer_ && epoch_of(*set.generation) == 0;
    if (nothing_new || alone) {
        return;
    }
    const SetVersion decision{decision_of(next_epoch(set.set)), content};
    if (store_.loading_generation(set.set) == decision.generation) {
        return;
    }
    if (store_.take_known(set.set, decision, now)) {
        ++counters_.sets_decided;
        return;
    }
    // Those that have it on disk put it in force, and it comes back as every document does.
    SetCount told = summary_of(set.set, votes);
    told.decision = decision;
    Payload payload;
    payload.begin_entries();
    encode(payload.writer(), told);
    for (const MemberId& member : votes.contents.at(content).members) {
        if (member != self_) {
            sink.send(member, MessageType::set_count, payload.bytes());
            ++counters_.set_counts_sent;
        }
    }
}

/// Tells a member that votes how the files are counted here, while they differ.
void DefinitionExchange::answer_votes(const MemberId& from, const DefinitionDigest& digest,
                                      Instant now, MessageSink& sink) {
    if (!counts_here()) {
        return;
    }
    Payload payload;
    payload.begin_entries();
    for (const SetDigest& set : digest.sets) {
        const auto counted = counted_.find(set.set);
        if (set.on_disk && counted != counted_.end() && counted->second.differed != Instant{} &&
            now - counted->second.differed <= kTellAgreement && payload.fits(kMaximumSetCount)) {
            encode(payload.writer(), counted->second.count);
        }
    }
    if (payload.has_entries()) {
        sink.send(from, MessageType::set_count, payload.bytes());
        ++counters_.set_counts_sent;
    }
}

bool DefinitionExchange::on_set_count(const MemberId& from, ByteReader& reader, Instant now) {
    skip_head(reader);
    const bool counts =
        std::find(collectors_.begin(), collectors_.end(), from) != collectors_.end();
    while (reader.ok() && reader.remaining() > 0) {
        SetCount count = decode_set_count(reader);
        if (!reader.ok()) {
            break;
        }
        const SetVersion decision = count.decision;
        const std::string set = count.set;
        const bool known =
            counted_.contains(set) || counted_.size() < DefinitionStore::kMaximumSets;
        if (counts && !counts_here() && known) {
            counted_[set] = {std::move(count), now, {}};
        }
        if (decision.generation > kDecided && !is_far_ahead(set, decision)) {
            static_cast<void>(store_.take_known(set, decision, now));
        }
    }
    return reader.ok();
}

std::vector<FileDifference> DefinitionExchange::differences() const {
    std::vector<FileDifference> result;
    for (const SetStatus& set : store_.sets()) {
        const auto counted = counted_.find(set.set);
        if (set.generation && counted != counted_.end() && differ(counted->second.count)) {
            result.push_back({{*set.generation, set.content_hash}, counted->second.count});
        }
    }
    return result;
}

void DefinitionExchange::note_gone(const MemberId& peer) {
    said_.erase(peer);
    std::erase(counted_peers_, peer);
    std::erase(collectors_, peer);
    find_collectors_ = true;
}

/// A member that is gone without a goodbye goes on voting for a while, and not as one that is here,
/// too. Those that do not count have not heard the votes of all. There a member is taken for one
/// that votes about a set if nothing is known of that, or no vote for so long that it may have
/// become old enough to vote since.
void DefinitionExchange::note_lost(const MemberId& peer, Instant now) {
    const auto heard = said_.extract(peer);
    if (lost_.size() == kMostLost && !lost_.contains(peer.address)) {
        return;
    }
    const bool all_heard = hears_all_votes(now);
    Lost lost{peer, {}, !all_heard, now + kLostCounts};
    if (heard) {
        for (const PeerDefinitions::Set& set : heard.mapped().sets) {
            const bool known = all_heard || now - set.named <= kNoVoteHolds;
            lost.votes.emplace(set.name, set.on_disk || !known);
        }
    }
    lost_.insert_or_assign(peer.address, std::move(lost));
    WEIR_ASSERT(lost_.size() <= kMostLost);
}

/// The epoch of the set that is in force here.
std::uint64_t DefinitionExchange::epoch_here(const std::string& set) const {
    std::uint64_t epoch = 0;
    for (const SetStatus& here : store_.sets()) {
        if (here.set == set && here.generation) {
            epoch = std::max(epoch, epoch_of(*here.generation));
        }
    }
    return epoch;
}

/// An epoch above all that are known of the set.
std::uint64_t DefinitionExchange::next_epoch(const std::string& set) const {
    const std::uint64_t here = epoch_here(set);
    std::uint64_t highest = here;
    for (const auto& [peer, said] : said_) {
        for (const PeerDefinitions::Set& one : said.sets) {
            const std::uint64_t there = epoch_of(one.generation);
            if (one.name == set && there <= here + kMaximumEpochLead) {
                highest = std::max(highest, there);
            }
        }
    }
    return highest + 1;
}

/// Whether the version has an epoch that cannot have come about; it is counted.
bool DefinitionExchange::is_far_ahead(const std::string& set, const SetVersion& version) {
    const bool far = epoch_of(version.generation) > epoch_here(set) + kMaximumEpochLead;
    counters_.epochs_refused += far ? 1 : 0;
    return far;
}

}  // namespace weir::definitions
