// Deltas that come in and their answers: at once, or later with something else.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "sync/answer_packet.h"
#include "sync/counter_exchange.h"

namespace weir::sync {

void CounterExchange::receive_deltas(ByteReader& reader, const gossip::MemberId& from,
                                     MemberNumber sender) {
    const std::uint16_t tag = read_delta_head(reader);
    if (!reader.ok()) {
        return;
    }
    std::vector<DeltaEntry> entries;
    while (reader.remaining() > 0) {
        entries.push_back(decode_delta(reader));
        if (!reader.ok()) {
            entries.pop_back();
            break;
        }
    }
    Unanswered message{tag, {}};
    for (const DeltaEntry& entry : entries) {
        ++counters_.deltas_received;
        const bool taken =
            !skips(entry.key, from) && owner_.receive(from, sender, entry, now_, *this);
        message.said.push_back(taken ? std::optional(said_in(entry)) : std::nullopt);
    }
    if (silence_.is_gone(sender)) {
        return;  // who has said goodbye waits for no answer
    }
    const bool waits = !entries.empty() &&
                       std::all_of(entries.begin(), entries.end(),
                                   [](const DeltaEntry& each) { return each.answer_may_wait; });
    if (waits) {
        delta_answers_.add(from, std::move(message), now_);
    } else {
        answered_at_once_ = true;
        answer_deltas(from, message);
    }
}

/// Answers a delta message, at once or after it has waited, with the totals of now.
void CounterExchange::answer_deltas(const gossip::MemberId& to, const Unanswered& message) {
    const MemberNumber number = silence_.number(to, now_);
    if (silence_.is_gone(number)) {
        return;
    }
    AnswerPacket answer(transport_, to, message.tag, counters_.dropped_entries);
    for (const std::optional<SaidCounts>& said : message.said) {
        const std::optional<TotalEntry> total =
            said ? owner_.answer(number, said->key, now_) : std::nullopt;
        counters_.totals_sent += total ? 1U : 0U;
        answer.add(said.value_or(SaidCounts{}), total);
    }
    answer.send();
    owner_.publish_deferred(number, now_, *this);
}

void CounterExchange::receive_answers(ByteReader& reader, const gossip::MemberId& from,
                                      MemberNumber sender) {
    const auto [tag, first] = read_answer_head(reader);
    if (!reader.ok()) {
        return;
    }
    const std::vector<SaidCounts>* known = delta_messages_.answered(from, tag, now_);
    if (known == nullptr || first >= known->size()) {
        ++counters_.refused_unknown;
        reader.bytes(reader.remaining());
        return;
    }
    WEIR_ASSERT(first < known->size());
    // Copied: what is taken in may make us send.
    const std::vector<SaidCounts> said(known->begin() + static_cast<std::ptrdiff_t>(first),
                                       known->end());
    for (const SaidCounts& each : said) {
        if (reader.remaining() == 0) {
            return;  // the rest comes in another message
        }
        const auto entry = decode_answer(reader, each);
        if (!reader.ok()) {
            return;
        }
        if (entry) {
            take_total(*entry, from, sender);
        }
    }
    if (reader.remaining() > 0) {
        reader.fail();
    }
}

}  // namespace weir::sync
