#include "definitions/exchange.h"

#include <utility>

#include "base/assert.h"
#include "definitions/messages.h"
#include "definitions/payload.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;
using gossip::MessageSink;
using gossip::MessageType;

constexpr double kDigestSeconds = 1;
constexpr std::size_t kLargeFleet = 64;
constexpr std::uint64_t kTurnsInLargeFleet = 5;

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
        case MessageType::definition_partition_ask:
            good = on_partition_ask(from, reader, now, sink);
            break;
        case MessageType::definition_partition:
            good = on_partition(from, reader, now, sink);
            break;
        case MessageType::document_ask:
            good = on_document_ask(from, reader, sink);
            break;
        case MessageType::document_page:
            good = on_document_page(from, reader, now, sink);
            break;
        case MessageType::set_count:
            good = on_set_count(from, reader, now);
            break;
        default:
            break;
    }
    counters_.bad_messages += good ? 0 : 1;
    return good;
}

bool DefinitionExchange::takes_turn(std::size_t peers) {
    const bool rare = ++turns_ % kTurnsInLargeFleet == 0;
    return rare || peers <= kLargeFleet || !settled() || store_.counters().edits != edits_seen_;
}

void DefinitionExchange::tick(Instant now, std::span<const MemberId> peers, MessageSink& sink) {
    edits_seen_ = store_.counters().edits;
    forget_gone(peers);
    adopt_edits(now, peers);
    greet(now, peers, sink);
    tell_overtaken(now, peers);
    for (const MemberId& peer : std::exchange(ask_again_, {})) {
        send_digest(peer, false, sink);
    }
    tick_pushes(now, sink);
    tick_fetches(now, sink);
    tick_files(now, peers, sink);
    if (now >= next_digest_) {
        next_digest_ = now + from_seconds(kDigestSeconds * (0.75 + random_.unit() / 2));
        WEIR_ASSERT(next_digest_ > now);
        forget_said(peers);
        compare_contents();
        if (!peers.empty()) {
            send_digest(peers[random_.below(peers.size())], false, sink);
        }
    }
}

}  // namespace weir::definitions
