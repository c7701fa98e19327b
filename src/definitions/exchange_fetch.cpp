// The part of DefinitionExchange that asks for and sends partitions of the map and pages of
// documents.

#include <algorithm>

#include "base/assert.h"
#include "definitions/exchange.h"
#include "definitions/messages.h"
#include "definitions/payload.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;
using gossip::MessageSink;
using gossip::MessageType;

constexpr std::size_t kPartitionPages = 8;
constexpr std::uint8_t kPagesAtOnce = 32;
constexpr std::size_t kMaximumFetches = 4;
constexpr Duration kFetchInterval = std::chrono::milliseconds(200);
constexpr std::uint32_t kFetchTries = 25;
/// A document of more pages than this is pulled in bulk.
constexpr std::uint32_t kManyPages = 64;

}  // namespace

// --- partitions ---------------------------------------------------------------------------------

void DefinitionExchange::ask_partition(const MemberId& to, std::uint8_t partition, bool mutual,
                                       MessageSink& sink) {
    const PartitionAsk ask{partition, mutual, shorten(store_.overrides().slot_hashes(partition))};
    send_value(sink, to, MessageType::definition_partition_ask, ask);
}

bool DefinitionExchange::on_partition_ask(const MemberId& from, ByteReader& reader, Instant now,
                                          MessageSink& sink) {
    const PartitionAsk ask = decode_partition_ask(reader);
    if (!reader.ok()) {
        return false;
    }
    const ShortHashes own = shorten(store_.overrides().slot_hashes(ask.partition));
    std::vector<const DefinitionEntry*> entries;
    for (std::size_t slot = 0; slot < own.size(); ++slot) {
        if (own[slot] != ask.slots[slot]) {
            store_.overrides().for_each_in_slot(ask.partition, slot,
                                                [&](const DefinitionEntry& entry) {
                                                    // A longer one is told in bulk.
                                                    if (entry_size(entry) <= kMaximumEntry) {
                                                        entries.push_back(&entry);
                                                    }
                                                    return true;
                                                });
        }
    }
    if (ask.mutual && own != ask.slots) {
        ask_partition(from, ask.partition, false, sink);
    }
    std::size_t next = 0;
    for (std::size_t page = 0; page < kPartitionPages && next < entries.size(); ++page) {
        std::size_t size = gossip::kMaximumPayload - kMaximumEntry;  // the head
        std::size_t end = next;
        for (; end < entries.size(); ++end) {
            size += entry_size(*entries[end]);
            if (size > gossip::kMaximumPayload) {
                break;
            }
        }
        const bool more = page + 1 == kPartitionPages && end < entries.size();
        Payload payload;
        encode(payload.writer(), PartitionHead{ask.partition, more});
        for (; next < end; ++next) {
            encode(payload.writer(), *entries[next], now);
        }
        ++counters_.pages_sent;
        sink.send(from, MessageType::definition_partition, payload.bytes());
    }
    return true;
}

bool DefinitionExchange::on_partition(const MemberId& from, ByteReader& reader, Instant now,
                                      MessageSink& sink) {
    const PartitionHead head = decode_partition_head(reader);
    if (!reader.ok()) {
        return false;
    }
    bool any = false;
    while (reader.ok() && reader.remaining() > 0) {
        DefinitionEntry entry = decode_entry(reader, now);
        if (reader.ok()) {
            ++counters_.entries_received;
            any = store_.merge(std::move(entry), now) == MergeOutcome::applied || any;
        }
    }
    if (head.more && any) {  // asking again without progress would never end
        ask_partition(from, head.partition, false, sink);
    }
    return reader.ok();
}

// --- documents ----------------------------------------------------------------------------------

bool DefinitionExchange::compare_sets(
    const MemberId& from, const std::vector<std::string>& named,
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& versions, Instant now,
    MessageSink& sink) {
    std::map<std::string, SetVersion, std::less<>> own;
    for (const SetStatus& set : store_.sets()) {
        if (set.generation) {
            own[set.set] = {*set.generation, set.content_hash};
        }
    }
    WEIR_ASSERT(named.size() == versions.size());
    bool newer_here = false;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const auto& [generation, content] = versions[i];
        const SetVersion there{generation, content};
        const auto found = own.find(named[i]);
        if (found != own.end() && !supersedes(there, found->second)) {
            newer_here = newer_here || supersedes(found->second, there);
            continue;
        }
        if (is_far_ahead(named[i], there) || store_.take_known(named[i], there, now)) {
            continue;
        }
        const auto loading = store_.loading_generation(named[i]);
        if (loading && *loading >= generation) {
            continue;
        }
        const auto refused = refused_.find(named[i]);
        if (refused != refused_.end() && refused->second.generation == generation &&
            refused->second.content == content) {
            continue;
        }
        if (store_.refused_of_peer(named[i], generation, content)) {
            continue;
        }
        const auto under_way = fetches_.find(named[i]);
        const bool better = under_way == fetches_.end() ? fetches_.size() < kMaximumFetches
                                                        : under_way->second.generation < generation;
        if (better) {
            Fetch& fetch = fetches_[named[i]];
            fetch = Fetch{generation, from, content, {}, 0, 0, 0, now, false};
            ask_pages(named[i], fetch, now, sink);
        }
    }
    for (const auto& [set, version] : own) {
        newer_here = newer_here || (std::find(named.begin(), named.end(), set) == named.end());
    }
    return newer_here;
}

/// Counts which contents the live peers have of the generations that are in force here.
void DefinitionExchange::compare_contents() {
    for (const SetStatus& set : store_.sets()) {
        if (!set.generation || is_automatic(*set.generation)) {
            continue;
        }
        PeerContents contents;
        for (const auto& [peer, said] : said_) {
            const auto found =
                std::find_if(said.sets.begin(), said.sets.end(),
                             [&](const PeerDefinitions::Set& one) { return one.name == set.set; });
            if (found != said.sets.end() && found->generation == *set.generation) {
                ++contents[found->content];
            }
        }
        store_.note_peer_contents(set.set, std::move(contents));
    }
}

void DefinitionExchange::ask_pages(const std::string& set, Fetch& fetch, Instant now,
                                   MessageSink& sink) {
    std::size_t& first = fetch.first_missing;
    while (first < fetch.pages.size() && !fetch.pages[first].empty()) {
        ++first;
    }
    WEIR_ASSERT(first <= fetch.pages.size());
    fetch.next = now + kFetchInterval;
    ++fetch.idle_tries;
    send_value(sink, fetch.from, MessageType::document_ask,
               DocumentAsk{set, fetch.generation, static_cast<std::uint32_t>(first), kPagesAtOnce});
}

void DefinitionExchange::tick_fetches(Instant now, MessageSink& sink) {
    WEIR_ASSERT(fetches_.size() <= kMaximumFetches);
    for (auto it = fetches_.begin(); it != fetches_.end();) {
        if (it->second.in_bulk) {
            ++it;
            continue;
        }
        if (it->second.idle_tries > kFetchTries) {
            it = fetches_.erase(it);  // a digest will start it again, from another peer
            continue;
        }
        if (now >= it->second.next) {
            ask_pages(it->first, it->second, now, sink);
        }
        ++it;
    }
}

bool DefinitionExchange::on_document_ask(const MemberId& from, ByteReader& reader,
                                         MessageSink& sink) {
    const DocumentAsk ask = decode_document_ask(reader);
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
    DocumentPage page;
    page.set = ask.set;
    page.generation = ask.generation;
    page.content = document_hash(*bytes);
    page.pages = static_cast<std::uint32_t>(
        std::max<std::size_t>(1, (bytes->size() + kPageBytes - 1) / kPageBytes));
    const std::uint32_t count = std::min(ask.pages, kPagesAtOnce);
    for (std::uint32_t i = 0; i < count && ask.first_page + i < page.pages; ++i) {
        page.page = ask.first_page + i;
        const std::size_t begin = page.page * kPageBytes;
        const std::size_t end = std::min(begin + kPageBytes, bytes->size());
        page.bytes.assign(bytes->begin() + static_cast<std::ptrdiff_t>(begin),
                          bytes->begin() + static_cast<std::ptrdiff_t>(end));
        ++counters_.pages_sent;
        send_value(sink, from, MessageType::document_page, page);
    }
    return true;
}

bool DefinitionExchange::on_document_page(const MemberId& from, ByteReader& reader, Instant now,
                                          MessageSink& sink) {
    DocumentPage page = decode_document_page(reader);
    if (!reader.ok()) {
        return false;
    }
    const auto found = fetches_.find(page.set);
    if (found == fetches_.end() || found->second.generation != page.generation ||
        found->second.from != from || found->second.content != page.content) {
        return true;  // the page belongs to a fetch that has ended
    }
    Fetch& fetch = found->second;
    if (fetch.pages.empty()) {
        fetch.pages.resize(page.pages);
        if (page.pages > kManyPages && may_wish(from, now)) {
            wishes_.push_back(
                {from, BulkWish::WantedDocument{page.set, fetch.generation, fetch.content}, false});
            fetch.in_bulk = true;
            ++counters_.bulk_wishes;
        }
    }
    if (fetch.pages.size() != page.pages) {
        return false;
    }
    WEIR_ASSERT(page.page < fetch.pages.size());  // decoding has compared the two
    std::vector<std::byte>& place = fetch.pages[page.page];
    if (place.empty() && !page.bytes.empty()) {
        place = std::move(page.bytes);
        ++fetch.have;
        WEIR_ASSERT(fetch.have <= fetch.pages.size());
        fetch.idle_tries = 0;
    }
    const bool empty_document = page.pages == 1 && place.empty();
    if (fetch.have == fetch.pages.size() || empty_document) {
        std::vector<std::byte> bytes;
        for (const std::vector<std::byte>& piece : fetch.pages) {
            bytes.insert(bytes.end(), piece.begin(), piece.end());
        }
        finish(page.set, std::move(bytes), now);
    } else if (fetch.in_bulk) {
        return true;
    } else if ((page.page + 1) % kPagesAtOnce == 0 || fetch.have % kPagesAtOnce == 0) {
        ask_pages(page.set, fetch, now, sink);
    }
    return true;
}

void DefinitionExchange::finish(const std::string& set, std::vector<std::byte> bytes, Instant now) {
    const auto node = fetches_.extract(set);
    WEIR_ASSERT(!node.empty());
    const Fetch& fetch = node.mapped();
    if (document_hash(bytes) != fetch.content) {
        ++counters_.documents_refused;
        return;
    }
    auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    const DocumentReport report =
        store_.offer_document({set, fetch.generation, std::move(shared), fetch.content, true}, now);
    if (report.outcome == DocumentOutcome::applied || report.outcome == DocumentOutcome::loading) {
        ++counters_.documents_fetched;
        refused_.erase(set);
    } else if (report.outcome == DocumentOutcome::invalid ||
               report.outcome == DocumentOutcome::no_room) {
        ++counters_.documents_refused;
        if (refused_.size() < DefinitionStore::kMaximumSets) {
            refused_[set] = {fetch.generation, fetch.content};
        }
    }
}

}  // namespace weir::definitions
