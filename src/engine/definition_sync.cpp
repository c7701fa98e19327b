#include "engine/definition_sync.h"

#include <algorithm>

#include "engine/definition_payload.h"
#include "engine/definition_store.h"
#include "gossip/definition_messages.h"

namespace weir::engine {
namespace {

using crdt::DefinitionEntry;
using crdt::DefinitionMap;
using crdt::MergeOutcome;
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

}  // namespace

DefinitionSync::DefinitionSync(DefinitionStore& store, Random random)
    : store_(store), random_(random) {}

bool DefinitionSync::settled() const { return pushes_.empty(); }

bool DefinitionSync::receive(const MemberId& from, MessageType type, ByteSpan payload, Instant now,
                             MessageSink& sink) {
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

void DefinitionSync::tick(Instant now, std::span<const MemberId> peers, MessageSink& sink) {
    adopt_edits(now, peers);
    greet(peers, sink);
    tick_pushes(now, sink);
    tick_fetches(now, sink);
    if (now >= next_digest_) {
        next_digest_ = now + from_seconds(kDigestSeconds * (0.75 + random_.unit() / 2));
        if (!peers.empty()) {
            send_digest(peers[random_.below(peers.size())], false, sink);
        }
    }
}

// --- pushes -------------------------------------------------------------------------------------

void DefinitionSync::adopt_edits(Instant now, std::span<const MemberId> peers) {
    for (const std::string& name : store_.take_edited()) {
        const DefinitionEntry* const entry = store_.overrides().find(name);
        if (entry == nullptr) {
            continue;
        }
        remember(name);
        std::erase_if(pushes_, [&](const Push& push) { return push.name == name; });
        if (pushes_.size() >= kMaximumPushes) {
            pushes_.pop_front();
            ++counters_.pushes_given_up;
        }
        pushes_.push_back({name, entry->version, {peers.begin(), peers.end()}, 0, now});
    }
    for (Push& push : pushes_) {
        std::erase_if(push.waiting, [&](const MemberId& id) {
            return std::find(peers.begin(), peers.end(), id) == peers.end();
        });
    }
    std::erase_if(pushes_, [](const Push& push) { return push.waiting.empty(); });
}

void DefinitionSync::tick_pushes(Instant now, MessageSink& sink) {
    std::map<MemberId, Payload> payloads;
    for (Push& push : pushes_) {
        const DefinitionEntry* const entry = store_.overrides().find(push.name);
        if (entry == nullptr || entry->version != push.version) {
            push.waiting.clear();  // overtaken by a newer change
            continue;
        }
        if (now < push.next) {
            continue;
        }
        push.next = now + kPushInterval;
        if (++push.tries > kPushTries) {
            push.waiting.clear();
            ++counters_.pushes_given_up;
            continue;
        }
        const std::size_t size = gossip::entry_size(*entry);
        for (const MemberId& peer : push.waiting) {
            Payload& payload = payloads[peer];
            if (!payload.fits(size)) {
                sink.send(peer, MessageType::definition_push, payload.bytes());
                payload.restart();
            }
            gossip::encode(payload.writer(), *entry, now);
            ++counters_.pushes_sent;
        }
    }
    for (const auto& [peer, payload] : payloads) {
        sink.send(peer, MessageType::definition_push, payload.bytes());
    }
    std::erase_if(pushes_, [](const Push& push) { return push.waiting.empty(); });
}

bool DefinitionSync::on_push(const MemberId& from, ByteReader& reader, Instant now,
                             MessageSink& sink) {
    Payload answer;
    while (reader.ok() && reader.remaining() > 0) {
        DefinitionEntry entry = gossip::decode_entry(reader, now);
        if (!reader.ok()) {
            break;
        }
        ++counters_.entries_received;
        const crdt::Version version = entry.version;
        const std::string name = entry.name;
        const MergeOutcome outcome = store_.merge(std::move(entry), now);
        if (outcome == MergeOutcome::applied) {
            remember(name);
        }
        if (outcome != MergeOutcome::epoch && outcome != MergeOutcome::full) {
            gossip::encode(answer.writer(), version);
        }
    }
    if (!answer.bytes().empty()) {
        sink.send(from, MessageType::definition_acknowledge, answer.bytes());
    }
    return reader.ok();
}

bool DefinitionSync::on_acknowledge(const MemberId& from, ByteReader& reader) {
    while (reader.ok() && reader.remaining() > 0) {
        const crdt::Version version = gossip::decode_version(reader);
        for (Push& push : pushes_) {
            if (reader.ok() && push.version == version) {
                push.waiting.erase(from);
            }
        }
    }
    std::erase_if(pushes_, [](const Push& push) { return push.waiting.empty(); });
    return reader.ok();
}

void DefinitionSync::remember(const std::string& name) {
    std::erase(recent_, name);
    recent_.push_back(name);
    if (recent_.size() > kRecent) {
        recent_.pop_front();
    }
}

// --- digests ------------------------------------------------------------------------------------

/// New peers get a digest at once, and so do some when a document came.
void DefinitionSync::greet(std::span<const MemberId> peers, MessageSink& sink) {
    std::vector<std::pair<std::string, std::uint64_t>> documents;
    for (const SetStatus& set : store_.sets()) {
        if (set.generation) {
            documents.emplace_back(set.set, *set.generation);
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
        send_digest(peer, false, sink);
        if (++greetings == kGreetingsAtOnce) {
            return;
        }
    }
    all_greeted_.assign(peers.begin(), peers.end());
}

void DefinitionSync::send_digest(const MemberId& to, bool with_buckets, MessageSink& sink) {
    gossip::DefinitionDigest digest;
    digest.root = store_.overrides().root_hash();
    digest.writers = store_.overrides().writers();
    if (with_buckets) {
        digest.buckets = gossip::shorten(store_.overrides().bucket_hashes());
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

bool DefinitionSync::on_digest(const MemberId& from, ByteReader& reader, Instant now,
                               MessageSink& sink) {
    const gossip::DefinitionDigest digest = gossip::decode_digest(reader);
    if (!reader.ok()) {
        return false;
    }
    std::vector<std::string> named;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> versions;
    for (const gossip::SetDigest& set : digest.sets) {
        named.push_back(set.set);
        versions.emplace_back(set.generation, set.content);
    }
    const bool newer_here = compare_sets(from, named, versions, now, sink);
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
    const gossip::ShortHashes own = gossip::shorten(store_.overrides().bucket_hashes());
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
void DefinitionSync::push_recent(const MemberId& to, const std::vector<crdt::Version>& known,
                                 Instant now, MessageSink& sink) {
    Payload payload;
    for (const std::string& name : recent_) {
        const DefinitionEntry* const entry = store_.overrides().find(name);
        if (entry == nullptr || !payload.fits(gossip::entry_size(*entry))) {
            continue;
        }
        const bool has = std::any_of(known.begin(), known.end(), [&](const crdt::Version& version) {
            return version.writer == entry->version.writer && version.epoch >= entry->version.epoch;
        });
        if (!has) {
            gossip::encode(payload.writer(), *entry, now);
        }
    }
    if (!payload.bytes().empty()) {
        sink.send(to, MessageType::definition_push, payload.bytes());
    }
}

}  // namespace weir::engine
