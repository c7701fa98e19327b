// The part of DefinitionExchange that pushes edits made here to every peer until it has
// acknowledged them.

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/assert.h"
#include "base/records.h"
#include "definitions/exchange.h"
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
/// How long an overtaken edit is pushed to peers that appear: after a split they appear one by one,
/// within some seconds.
constexpr Duration kOvertakenCounts = std::chrono::seconds(30);

}  // namespace

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
    WEIR_ASSERT(pushes_.size() <= kMaximumPushes);
}

/// Pushes edits that were overtaken to peers that appeared after they were made. Such peers may
/// never have seen them: when a split heals, the sides learn each other's changes peer by peer, and
/// the newer change may come first.
void DefinitionExchange::tell_overtaken(Instant now, std::span<const MemberId> peers) {
    for (DefinitionEntry& entry : store_.take_overtaken()) {
        overtaken_.push_back({std::move(entry), {}, now + kOvertakenCounts});
        if (overtaken_.size() > DefinitionStore::kMaximumOvertaken) {
            overtaken_.pop_front();
        }
    }
    WEIR_ASSERT(overtaken_.size() <= DefinitionStore::kMaximumOvertaken);
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
        // An edit that a newer change has overtaken is pushed, too, so that every history shows
        // that it lost.
        const std::size_t size = entry_size(push.entry);
        if (size > kMaximumEntry) {
            // No edit made here is so long, so a peer has forged one in the name of this member.
            push.waiting.clear();
            ++counters_.pushes_given_up;
            continue;
        }
        for (const MemberId& peer : push.waiting) {
            Payload& payload = payloads[peer];
            if (!payload.fits(size)) {
                sink.send(peer, MessageType::definition_push, payload.bytes());
                payload.restart();
            }
            payload.begin_entries();
            encode(payload.writer(), push.entry, now);
            WEIR_ASSERT(payload.writer().ok());
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
    answer.begin_entries();
    skip_head(reader);
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
            encode_acknowledgement(answer.writer(), version);
        }
    }
    if (answer.has_entries()) {
        sink.send(from, MessageType::definition_acknowledge, answer.bytes());
    }
    return reader.ok();
}

bool DefinitionExchange::on_acknowledge(const MemberId& from, ByteReader& reader) {
    skip_head(reader);
    while (reader.ok() && reader.remaining() > 0) {
        const Version version = decode_acknowledgement(reader);
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
    WEIR_ASSERT(recent_.size() <= kRecent);
}

/// Sends, without being asked, entries that were written recently and are newer than all entries
/// that the peer knows of their writer.
void DefinitionExchange::push_recent(const MemberId& to, const std::vector<Version>& known,
                                     Instant now, MessageSink& sink) {
    Payload payload;
    payload.begin_entries();
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
            WEIR_ASSERT(payload.writer().ok());
        }
    }
    if (payload.has_entries()) {
        sink.send(to, MessageType::definition_push, payload.bytes());
    }
}

}  // namespace weir::definitions
