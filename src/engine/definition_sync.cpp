#include "engine/definition_sync.h"

#include <algorithm>
#include <array>

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
constexpr std::size_t kBucketPages = 8;
constexpr std::uint8_t kPagesAtOnce = 32;
constexpr std::size_t kMaximumFetches = 4;
constexpr Duration kFetchInterval = std::chrono::milliseconds(200);
constexpr std::uint32_t kFetchTries = 25;

/// One message under construction.
class Payload {
  public:
    Payload() : writer_(buffer_) {}
    Payload(const Payload&) = delete;
    Payload& operator=(const Payload&) = delete;
    ByteWriter& writer() { return writer_; }
    [[nodiscard]] ByteSpan bytes() const { return writer_.written(); }
    [[nodiscard]] bool fits(std::size_t size) const { return writer_.remaining() >= size; }
    void restart() { writer_ = ByteWriter(buffer_); }

  private:
    std::array<std::byte, gossip::kMaximumPayload> buffer_{};
    ByteWriter writer_;
};

template <class T>
bool send_value(MessageSink& sink, const MemberId& to, MessageType type, const T& value) {
    Payload payload;
    encode(payload.writer(), value);
    return payload.writer().ok() && sink.send(to, type, payload.bytes());
}

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
    std::erase_if(greeted_, [&](const MemberId& id) {
        return std::find(peers.begin(), peers.end(), id) == peers.end();
    });
    std::size_t greetings = 0;
    for (const MemberId& peer : peers) {
        if (greetings < kGreetingsAtOnce && greeted_.insert(peer).second) {
            send_digest(peer, false, sink);
            ++greetings;
        }
    }
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

// --- buckets ------------------------------------------------------------------------------------

void DefinitionSync::ask_bucket(const MemberId& to, std::uint8_t bucket, bool mutual,
                                MessageSink& sink) {
    const gossip::BucketAsk ask{bucket, mutual,
                                gossip::shorten(store_.overrides().leaf_hashes(bucket))};
    send_value(sink, to, MessageType::definition_bucket_ask, ask);
}

bool DefinitionSync::on_bucket_ask(const MemberId& from, ByteReader& reader, Instant now,
                                   MessageSink& sink) {
    const gossip::BucketAsk ask = gossip::decode_bucket_ask(reader);
    if (!reader.ok()) {
        return false;
    }
    const gossip::ShortHashes own = gossip::shorten(store_.overrides().leaf_hashes(ask.bucket));
    std::vector<const DefinitionEntry*> entries;
    for (std::size_t leaf = 0; leaf < own.size(); ++leaf) {
        if (own[leaf] != ask.leaves[leaf]) {
            store_.overrides().for_each_in_leaf(ask.bucket, leaf,
                                                [&](const DefinitionEntry& entry) {
                                                    entries.push_back(&entry);
                                                    return true;
                                                });
        }
    }
    if (ask.mutual && own != ask.leaves) {
        ask_bucket(from, ask.bucket, false, sink);
    }
    std::size_t next = 0;
    for (std::size_t page = 0; page < kBucketPages && next < entries.size(); ++page) {
        std::size_t size = 2;
        std::size_t end = next;
        for (; end < entries.size(); ++end) {
            size += gossip::entry_size(*entries[end]);
            if (size > gossip::kMaximumPayload) {
                break;
            }
        }
        const bool more = page + 1 == kBucketPages && end < entries.size();
        Payload payload;
        payload.writer().u8(ask.bucket);
        payload.writer().u8(more ? 1 : 0);
        for (; next < end; ++next) {
            gossip::encode(payload.writer(), *entries[next], now);
        }
        ++counters_.pages_sent;
        sink.send(from, MessageType::definition_bucket, payload.bytes());
    }
    return true;
}

bool DefinitionSync::on_bucket(const MemberId& from, ByteReader& reader, Instant now,
                               MessageSink& sink) {
    const std::uint8_t bucket = reader.u8();
    const bool more = reader.u8() != 0;
    if (bucket >= DefinitionMap::kBuckets) {
        return false;
    }
    bool any = false;
    while (reader.ok() && reader.remaining() > 0) {
        DefinitionEntry entry = gossip::decode_entry(reader, now);
        if (reader.ok()) {
            ++counters_.entries_received;
            any = store_.merge(std::move(entry), now) == MergeOutcome::applied || any;
        }
    }
    if (more && any) {  // without progress asking again would go on for ever
        ask_bucket(from, bucket, false, sink);
    }
    return reader.ok();
}

// --- documents ----------------------------------------------------------------------------------

bool DefinitionSync::compare_sets(
    const MemberId& from, const std::vector<std::string>& named,
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& versions, Instant now,
    MessageSink& sink) {
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>, std::less<>> own;
    std::map<std::string, bool, std::less<>> known_conflict;
    for (const SetStatus& set : store_.sets()) {
        if (set.generation) {
            own[set.set] = {*set.generation, set.content_hash};
            known_conflict[set.set] = set.conflict;
        }
    }
    bool newer_here = false;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const auto& [generation, content] = versions[i];
        const auto found = own.find(named[i]);
        if (found != own.end() && found->second.first >= generation) {
            newer_here = newer_here || found->second.first > generation;
            if (found->second.first == generation && found->second.second != content &&
                !known_conflict[named[i]]) {
                store_.note_conflict(named[i]);
            }
            continue;
        }
        const auto under_way = fetches_.find(named[i]);
        const bool better = under_way == fetches_.end() ? fetches_.size() < kMaximumFetches
                                                        : under_way->second.generation < generation;
        if (better) {
            Fetch& fetch = fetches_[named[i]];
            fetch = Fetch{generation, from, content, {}, 0, 0, now};
            ask_pages(named[i], fetch, now, sink);
        }
    }
    for (const auto& [set, version] : own) {
        newer_here = newer_here || (std::find(named.begin(), named.end(), set) == named.end());
    }
    return newer_here;
}

void DefinitionSync::ask_pages(const std::string& set, Fetch& fetch, Instant now,
                               MessageSink& sink) {
    std::uint32_t first = 0;
    while (first < fetch.pages.size() && !fetch.pages[first].empty()) {
        ++first;
    }
    fetch.next = now + kFetchInterval;
    ++fetch.idle_tries;
    send_value(sink, fetch.from, MessageType::document_ask,
               gossip::DocumentAsk{set, fetch.generation, first, kPagesAtOnce});
}

void DefinitionSync::tick_fetches(Instant now, MessageSink& sink) {
    for (auto it = fetches_.begin(); it != fetches_.end();) {
        if (it->second.idle_tries > kFetchTries) {
            it = fetches_.erase(it);  // a digest will begin it anew, from somebody else
            continue;
        }
        if (now >= it->second.next) {
            ask_pages(it->first, it->second, now, sink);
        }
        ++it;
    }
}

bool DefinitionSync::on_document_ask(const MemberId& from, ByteReader& reader, MessageSink& sink) {
    const gossip::DocumentAsk ask = gossip::decode_document_ask(reader);
    if (!reader.ok()) {
        return false;
    }
    const auto bytes = store_.document_bytes(ask.set);
    std::optional<std::uint64_t> generation;
    for (const SetStatus& set : store_.sets()) {
        generation = set.set == ask.set && set.generation ? set.generation : generation;
    }
    if (bytes == nullptr || generation != ask.generation) {
        return true;
    }
    gossip::DocumentPage page;
    page.set = ask.set;
    page.generation = ask.generation;
    page.content = gossip::document_hash(*bytes);
    page.pages = static_cast<std::uint32_t>(
        std::max<std::size_t>(1, (bytes->size() + gossip::kPageBytes - 1) / gossip::kPageBytes));
    const std::uint32_t count = std::min(ask.pages, kPagesAtOnce);
    for (std::uint32_t i = 0; i < count && ask.first_page + i < page.pages; ++i) {
        page.page = ask.first_page + i;
        const std::size_t begin = page.page * gossip::kPageBytes;
        const std::size_t end = std::min(begin + gossip::kPageBytes, bytes->size());
        page.bytes.assign(bytes->begin() + static_cast<std::ptrdiff_t>(begin),
                          bytes->begin() + static_cast<std::ptrdiff_t>(end));
        ++counters_.pages_sent;
        send_value(sink, from, MessageType::document_page, page);
    }
    return true;
}

bool DefinitionSync::on_document_page(const MemberId& from, ByteReader& reader, Instant now,
                                      MessageSink& sink) {
    gossip::DocumentPage page = gossip::decode_document_page(reader);
    if (!reader.ok()) {
        return false;
    }
    const auto found = fetches_.find(page.set);
    if (found == fetches_.end() || found->second.generation != page.generation ||
        found->second.from != from || found->second.content != page.content) {
        return true;  // of a fetch that is over
    }
    Fetch& fetch = found->second;
    if (fetch.pages.empty()) {
        fetch.pages.resize(page.pages);
    }
    if (fetch.pages.size() != page.pages) {
        return false;
    }
    std::vector<std::byte>& place = fetch.pages[page.page];
    if (place.empty() && !page.bytes.empty()) {
        place = std::move(page.bytes);
        ++fetch.have;
        fetch.idle_tries = 0;
    }
    const bool empty_document = page.pages == 1 && place.empty();
    if (fetch.have == fetch.pages.size() || empty_document) {
        finish(page.set, now);
    } else if ((page.page + 1) % kPagesAtOnce == 0 || fetch.have % kPagesAtOnce == 0) {
        ask_pages(page.set, fetch, now, sink);
    }
    return true;
}

void DefinitionSync::finish(const std::string& set, Instant now) {
    const auto node = fetches_.extract(set);
    const Fetch& fetch = node.mapped();
    std::vector<std::byte> bytes;
    for (const std::vector<std::byte>& page : fetch.pages) {
        bytes.insert(bytes.end(), page.begin(), page.end());
    }
    if (gossip::document_hash(bytes) != fetch.content) {
        ++counters_.documents_refused;
        return;
    }
    const DocumentReport report = store_.apply_encoded(set, fetch.generation, bytes, now);
    if (report.outcome == DocumentOutcome::applied) {
        ++counters_.documents_fetched;
    } else if (report.outcome == DocumentOutcome::invalid) {
        ++counters_.documents_refused;
    }
}

}  // namespace weir::engine
