#include "definitions/exchange.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "definitions/messages.h"
#include "definitions/payload.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;
using gossip::MessageSink;
using gossip::MessageType;

constexpr std::size_t kMaximumPushes = 256;
constexpr std::uint32_t kPushTries = 30;
constexpr Duration kPushInterval = std::chrono::milliseconds(100);
constexpr std::size_t kRecent = 64;
constexpr double kDigestSeconds = 1;
constexpr std::size_t kAnnouncements = 64;
constexpr std::size_t kGreetingsAtOnce = 16;
constexpr std::size_t kBucketsAtOnce = 8;
constexpr std::size_t kMostWishes = 16;
/// Without bulk from a peer after it did not work.
constexpr Duration kNoBulk = std::chrono::seconds(30);
/// A split heals peer by peer, within some seconds.
constexpr Duration kOvertakenCounts = std::chrono::seconds(30);
/// If the maps still differ so soon after a pull of what is newer, all of it is pulled.
constexpr Duration kNewerCounts = std::chrono::seconds(30);

}  // namespace

DefinitionExchange::DefinitionExchange(DefinitionStore& store, Random random)
    : store_(store), random_(random) {}

bool DefinitionExchange::settled() const { return pushes_.empty(); }

bool DefinitionExchange::receive(const MemberId& from, MessageType type, ByteSpan payload,
                                 Instant now, MessageSink& sink) {
    ByteReader reader(payload);
    bool good = false;
    switch (type) {
        case MessageType::definition_push:
            good = on_push(from, reader, now, sink);
            break;
        case MessageType::definition_acknowledge:
            good = on_acknowledge(from, reader);
            break;
        case MessageType::definition_digest:
            good = on_digest(from, reader, now, sink);
            break;
        case MessageType::definition_bucket_ask:
            good = on_bucket_ask(from, reader, now, sink);
            break;
        case MessageType::definition_bucket:
            good = on_bucket(from, reader, now, sink);
            break;
        case MessageType::document_ask:
            good = on_document_ask(from, reader, sink);
            break;
        case MessageType::document_page:
            good = on_document_page(from, reader, now, sink);
            break;
        default:
            break;
    }
    counters_.bad_messages += good ? 0 : 1;
    return good;
}

void DefinitionExchange::tick(Instant now, std::span<const MemberId> peers, MessageSink& sink) {
    forget_gone(peers);
    adopt_edits(now, peers);
    greet(now, peers, sink);
    tell_overtaken(now, peers);
    for (const MemberId& peer : std::exchange(ask_again_, {})) {
        send_digest(peer, false, sink);
    }
    tick_pushes(now, sink);
    tick_fetches(now, sink);
    if (now >= next_digest_) {
        next_digest_ = now + from_seconds(kDigestSeconds * (0.75 + random_.unit() / 2));
        forget_said(peers);
        compare_contents();
        if (!peers.empty()) {
            send_digest(peers[random_.below(peers.size())], false, sink);
        }
    }
}

// --- pushes -------------------------------------------------------------------------------------

void DefinitionExchange::adopt_edits(Instant now, std::span<const MemberId> peers) {
    for (DefinitionEntry& entry : store_.take_edited()) {
        remember(entry.name);
        push(std::move(entry), {peers.begin(), peers.end()}, now);
    }
    for (Push& push : pushes_) {
        std::erase_if(push.waiting, [&](const MemberId& id) {
            return std::find(peers.begin(), peers.end(), id) == peers.end();
        });
    }
    std::erase_if(pushes_, [](const Push& push) { return push.waiting.empty(); });
}

void DefinitionExchange::push(DefinitionEntry entry, std::set<MemberId> to, Instant now) {
    if (pushes_.size() >= kMaximumPushes) {
        pushes_.pop_front();
        ++counters_.pushes_given_up;
        unheard_before_ = now;
    }
    pushes_.push_back({std::move(entry), std::move(to), 0, now});
}

/// Whoever was met after an edit was made may never have seen it, if a newer one was quicker: a
/// split that heals shows what its sides do not know of each other peer by peer.
void DefinitionExchange::tell_overtaken(Instant now, std::span<const MemberId> peers) {
    for (DefinitionEntry& entry : store_.take_overtaken()) {
        overtaken_.push_back({std::move(entry), {}, now + kOvertakenCounts});
        if (overtaken_.size() > DefinitionStore::kMaximumOvertaken) {
            overtaken_.pop_front();
        }
    }
    std::erase_if(overtaken_, [&](const Overtaken& one) { return now >= one.until; });
    for (Overtaken& one : overtaken_) {
        if (unheard_before_ < one.entry.written) {
            continue;
        }
        std::set<MemberId> untold;
        std::copy_if(peers.begin(), peers.end(), std::inserter(untold, untold.end()),
                     [&](const MemberId& peer) { return one.told.insert(peer).second; });
        if (!untold.empty()) {
            push(one.entry, std::move(untold), now);
        }
    }
}

void DefinitionExchange::tick_pushes(Instant now, MessageSink& sink) {
    std::map<MemberId, Payload> payloads;
    for (Push& push : pushes_) {
        if (now < push.next) {
            continue;
        }
        push.next = now + kPushInterval;
        if (++push.tries > kPushTries) {
            push.waiting.clear();
            ++counters_.pushes_given_up;
            unheard_before_ = now;
            continue;
        }
        // Also when a newer change has overtaken it: its loss is to be seen everywhere.
        const std::size_t size = entry_size(push.entry);
        for (const MemberId& peer : push.waiting) {
            Payload& payload = payloads[peer];
            if (!payload.fits(size)) {
                sink.send(peer, MessageType::definition_push, payload.bytes());
                payload.restart();
            }
            encode(payload.writer(), push.entry, now);
            ++counters_.pushes_sent;
        }
    }
    for (const auto& [peer, payload] : payloads) {
        sink.send(peer, MessageType::definition_push, payload.bytes());
    }
    std::erase_if(pushes_, [](const Push& push) { return push.waiting.empty(); });
}

bool DefinitionExchange::on_push(const MemberId& from, ByteReader& reader, Instant now,
                                 MessageSink& sink) {
    Payload answer;
    while (reader.ok() && reader.remaining() > 0) {
        DefinitionEntry entry = decode_entry(reader, now);
        if (!reader.ok()) {
            break;
        }
        ++counters_.entries_received;
        const Version version = entry.version;
        const std::string name = entry.name;
        const MergeOutcome outcome = store_.merge(std::move(entry), now);
        if (outcome == MergeOutcome::applied) {
            remember(name);
        }
        if (outcome != MergeOutcome::epoch && outcome != MergeOutcome::full) {
            encode(answer.writer(), version);
        }
    }
    if (!answer.bytes().empty()) {
        sink.send(from, MessageType::definition_acknowledge, answer.bytes());
    }
    return reader.ok();
}

bool DefinitionExchange::on_acknowledge(const MemberId& from, ByteReader& reader) {
    while (reader.ok() && reader.remaining() > 0) {
        const Version version = decode_version(reader);
        for (Push& push : pushes_) {
            if (reader.ok() && push.entry.version == version) {
                push.waiting.erase(from);
            }
        }
    }
    std::erase_if(pushes_, [](const Push& push) { return push.waiting.empty(); });
    return reader.ok();
}

void DefinitionExchange::remember(const std::string& name) {
    std::erase(recent_, name);
    recent_.push_back(name);
    if (recent_.size() > kRecent) {
        recent_.pop_front();
    }
}

// --- digests ------------------------------------------------------------------------------------

/// New peers get a digest at once, in a large fleet some of them; else hundreds would tell a
/// newcomer the same. So do some when a document came.
void DefinitionExchange::greet(Instant now, std::span<const MemberId> peers, MessageSink& sink) {
    std::vector<std::pair<std::string, std::uint64_t>> documents;
    for (const SetStatus& set : store_.sets()) {
        if (set.generation) {
            documents.emplace_back(set.set, *set.generation ^ set.content_hash);
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

void DefinitionExchange::send_digest(const MemberId& to, bool with_buckets, MessageSink& sink) {
    DefinitionDigest digest;
    digest.root = store_.overrides().root_hash();
    digest.writers = store_.overrides().writers();
    if (with_buckets) {
        digest.buckets = shorten(store_.overrides().bucket_hashes());
    }
    for (const SetStatus& set : store_.sets()) {
        if (set.generation) {
            digest.sets.push_back({set.set, *set.generation, set.content_hash});
        }
    }
    if (digest.sets.size() > 1) {  // more than fit take turns
        const auto first = static_cast<std::ptrdiff_t>(random_.below(digest.sets.size()));
        std::rotate(digest.sets.begin(), digest.sets.begin() + first, digest.sets.end());
    }
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
    std::vector<std::string> named;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> versions;
    for (const SetDigest& set : digest.sets) {
        named.push_back(set.set);
        versions.emplace_back(set.generation, set.content);
    }
    const bool newer_here = compare_sets(from, named, versions, now, sink);
    compare_contents();
    const bool differ = digest.root != store_.overrides().root_hash();
    if (differ) {
        ++counters_.digests_differed;
        push_recent(from, digest.writers, now, sink);
    }
    if (!digest.buckets) {
        if (differ || newer_here) {
            send_digest(from, true, sink);
        }
        return true;
    }
    const ShortHashes own = shorten(store_.overrides().bucket_hashes());
    std::size_t differing = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
        if (own[i] != (*digest.buckets)[i]) {
            ++differing;
        }
    }
    if (in_bulk_with(from)) {
        return true;
    }
    if (differing > kBucketsAtOnce && digest.root != 0 && may_wish(from, now)) {
        wish_for_overrides(from, now);
        return true;
    }
    const std::size_t start = random_.below(own.size());
    std::size_t asked = 0;
    for (std::size_t i = 0; i < own.size() && asked < kBucketsAtOnce; ++i) {
        const std::size_t bucket = (start + i) % own.size();
        if (own[bucket] != (*digest.buckets)[bucket]) {
            ask_bucket(from, static_cast<std::uint8_t>(bucket), true, sink);
            ++asked;
        }
    }
    return true;
}

/// What was written lately and is above all that they know of its writer goes without asking.
void DefinitionExchange::push_recent(const MemberId& to, const std::vector<Version>& known,
                                     Instant now, MessageSink& sink) {
    Payload payload;
    for (const std::string& name : recent_) {
        const DefinitionEntry* const entry = store_.overrides().find(name);
        if (entry == nullptr || !payload.fits(entry_size(*entry))) {
            continue;
        }
        const bool has = std::any_of(known.begin(), known.end(), [&](const Version& version) {
            return version.writer == entry->version.writer && version.epoch >= entry->version.epoch;
        });
        if (!has) {
            encode(payload.writer(), *entry, now);
        }
    }
    if (!payload.bytes().empty()) {
        sink.send(to, MessageType::definition_push, payload.bytes());
    }
}

// --- what peers have, and what is pulled in bulk ------------------------------------------------

void DefinitionExchange::note_said(const MemberId& from, const DefinitionDigest& digest,
                                   Instant now) {
    PeerDefinitions& said = said_[from];
    for (const SetDigest& set : digest.sets) {  // one datagram need not name all
        const auto known =
            std::find_if(said.sets.begin(), said.sets.end(),
                         [&](const PeerDefinitions::Set& one) { return one.name == set.set; });
        if (known != said.sets.end()) {
            *known = {set.set, set.generation, set.content};
        } else if (said.sets.size() < DefinitionStore::kMaximumSets) {
            said.sets.push_back({set.set, set.generation, set.content});
        }
    }
    said.overrides = digest.root;
    said.at = now;
}

const PeerDefinitions* DefinitionExchange::said(const MemberId& peer) const {
    const auto found = said_.find(peer);
    return found == said_.end() ? nullptr : &found->second;
}

/// Exactly, for what is said counts as votes; how many they are does not tell who they are.
void DefinitionExchange::forget_said(std::span<const MemberId> peers) {
    const std::set<MemberId> here(peers.begin(), peers.end());
    std::erase_if(said_, [&](const auto& item) { return !here.contains(item.first); });
}

/// Against growth only.
void DefinitionExchange::forget_gone(std::span<const MemberId> peers) {
    if (no_bulk_until_.size() + pulled_newer_.size() <= peers.size()) {
        return;
    }
    const std::set<MemberId> here(peers.begin(), peers.end());
    const auto gone = [&](const auto& item) { return !here.contains(item.first); };
    std::erase_if(no_bulk_until_, gone);
    std::erase_if(pulled_newer_, gone);
}

bool DefinitionExchange::may_wish(const MemberId& from, Instant now) const {
    const auto blocked = no_bulk_until_.find(from);
    return bulk_possible_ && wishes_.size() < kMostWishes &&
           (blocked == no_bulk_until_.end() || now >= blocked->second);
}

bool DefinitionExchange::in_bulk_with(const MemberId& from) const {
    return pulling_overrides_ == from;
}

/// First what is above the epochs known of each writer; if they still differ soon after, the rest.
void DefinitionExchange::wish_for_overrides(const MemberId& from, Instant now) {
    if (pulling_overrides_) {
        return;  // one after another: the next digest will tell what is still missing
    }
    const auto newer = pulled_newer_.find(from);
    const bool again = newer != pulled_newer_.end() && now - newer->second < kNewerCounts;
    wishes_.push_back({from, std::nullopt, !again && store_.overrides().size() > 0});
    pulling_overrides_ = from;
    ++counters_.bulk_wishes;
}

std::optional<BulkWish> DefinitionExchange::take_wish() {
    if (wishes_.empty()) {
        return std::nullopt;
    }
    BulkWish wish = std::move(wishes_.front());
    wishes_.pop_front();
    return wish;
}

void DefinitionExchange::end_wish(const BulkWish& wish, bool good, std::vector<std::byte> document,
                                  Instant now) {
    if (!good) {
        no_bulk_until_[wish.from] = now + kNoBulk;
        ++counters_.bulk_failures;
    }
    ask_again_.push_back(wish.from);
    if (!wish.document) {
        pulling_overrides_.reset();
        if (good && wish.only_newer) {
            pulled_newer_[wish.from] = now;
        }
        return;
    }
    const auto found = fetches_.find(wish.document->set);
    if (found == fetches_.end() || found->second.content != wish.document->content) {
        return;
    }
    if (good) {
        finish(wish.document->set, std::move(document), now);
    } else {
        found->second.in_bulk = false;
        found->second.next = now;
    }
}

}  // namespace weir::definitions
