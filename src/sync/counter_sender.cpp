// What goes out: whether the budget has room for a message about counters, and its encoding. What
// is for this member itself does not go through the network.
#include <array>
#include <type_traits>

#include "base/assert.h"
#include "base/records.h"
#include "sync/counter_exchange.h"

namespace weir::sync {
namespace {

/// The shares of the budget's burst that are left for what is more urgent: answers, which end what
/// is said again and again, and before them nothing; then what has leapt.
constexpr double kForAnswers = 0.2;
constexpr double kForUrgent = 0.5;
/// On leaving, so much is left for quiet limits, windows and hand-overs, which come after deltas.
constexpr double kForHandOvers = 0.5;

}  // namespace

void CounterExchange::send_messages() {
    const auto goes_to = [this](const gossip::MemberId& to) {
        return leaving_ || delta_messages_.is_filling(to) || quiet_messages_.is_filling(to);
    };
    delta_answers_.send_due(now_, goes_to);
    quiet_answers_.send_due(now_, goes_to);
    delta_messages_.send_all(now_);
    quiet_messages_.send_all(now_);
}

template <class Entry>
void CounterExchange::send_entry(const gossip::MemberId& to, gossip::MessageType type,
                                 const Entry& entry) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    write_empty_head(writer);
    if constexpr (std::is_same_v<Entry, LimitKey>) {
        encode_question(writer, entry);
    } else {
        encode(writer, entry);
    }
    if (!writer.ok() || !transport_.send(to, type, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void CounterExchange::send_delta(const gossip::MemberId& owner, const DeltaEntry& entry) {
    if (owner == self_) {
        if (owner_.receive(self_, self_number_, entry, now_, *this)) {
            if (const auto total = owner_.answer(self_number_, entry.key, now_)) {
                send_total(self_, *total);
            }
        }
        return;
    }
    std::array<std::byte, kMaximumEntrySize> buffer;
    ByteWriter writer(buffer);
    encode(writer, entry);
    WEIR_ASSERT(writer.ok() && entry.run != 0);
    delta_messages_.add(owner, writer.written(), said_in(entry), now_, entry.answer_may_wait);
}

/// Whether the budget has room for what may wait, or for what may not. When this member leaves
/// there is no later: what finds no room then is lost anyway.
bool CounterExchange::has_budget(bool urgent) const {
    return leaving_ || room_left() > (urgent ? kForAnswers : kForUrgent);
}

double CounterExchange::room_left() const {  // the messages that are being filled count
    const std::size_t filling = delta_messages_.filling() + quiet_messages_.filling();
    return transport_.counter_room(filling, now_);
}

bool CounterExchange::has_room_for_delta(const gossip::MemberId& owner, bool urgent) {
    return owner == self_ ||
           (leaving_ ? room_left() > kForHandOvers
                     : has_budget(urgent) && delta_messages_.has_room(owner, now_));
}

Duration CounterExchange::delta_answer_wait(const gossip::MemberId& owner) {
    return delta_messages_.answer_wait(owner);
}

bool CounterExchange::answer_goes_to(const gossip::MemberId& owner) {
    return delta_answers_.is_due(owner, now_);
}

bool CounterExchange::has_room_for_quiet(const gossip::MemberId& owner, bool urgent) {
    return owner == self_ || (has_budget(urgent) && quiet_messages_.has_room(owner, now_));
}

Duration CounterExchange::quiet_answer_wait(const gossip::MemberId& owner) {
    return quiet_messages_.answer_wait(owner);
}

bool CounterExchange::has_room_to_publish(bool urgent) { return has_budget(urgent); }

void CounterExchange::send_quiet(const gossip::MemberId& owner, const QuietEntry& entry) {
    if (owner != self_) {
        std::array<std::byte, kMaximumEntrySize> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        WEIR_ASSERT(writer.ok() && entry.run != 0);
        quiet_messages_.add(owner, writer.written(), said_in(entry), now_);
    } else if (owner_.receive_quiet(self_, self_number_, entry, now_, *this).taken_in) {
        quiet_.acknowledge(said_in(entry), now_);
    }
}

void CounterExchange::send_quiet_answer(const gossip::MemberId& to, const QuietAnswer& answer) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    encode(writer, answer);
    if (!writer.ok() || !transport_.send(to, gossip::MessageType::quiet_answer, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void CounterExchange::send_order(const gossip::MemberId& to, const QuietOrder& order) {
    if (to == self_) {
        take_order(order, self_);
    } else {
        send_entry(to, gossip::MessageType::quiet_order, order);
    }
}

void CounterExchange::send_total(const gossip::MemberId& to, const TotalEntry& entry) {
    ++counters_.totals_sent;
    WEIR_ASSERT(entry.life != 0);
    if (to == self_) {
        reporter_.receive(self_, entry, now_);
    } else {
        send_entry(to, gossip::MessageType::total, entry);
    }
}

void CounterExchange::send_handover(const gossip::MemberId& to, const HandoverEntry& entry) {
    if (to != self_) {
        send_entry(to, gossip::MessageType::handover, entry);
    }
}

void CounterExchange::send_name(const gossip::MemberId& to, const NameEntry& entry) {
    send_entry(to, gossip::MessageType::name_tell, entry);
}

void CounterExchange::ask_name(const gossip::MemberId& to, const LimitKey& key) {
    if (to != self_) {
        send_entry(to, gossip::MessageType::name_ask, key);
    }
}

void CounterExchange::ask_owner(const gossip::MemberId& to, std::uint16_t shards) {
    std::array<std::byte, 2> buffer;
    ByteWriter writer(buffer);
    writer.u16(shards);
    if (!transport_.send(to, gossip::MessageType::owner_ask, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void CounterExchange::send_children(const gossip::MemberId& to, bool answers,
                                    const ChildPart& part) {
    if (to == self_) {
        fair_.receive_totals(part, now_);
        return;
    }
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    encode(writer, part);
    const auto type =
        answers ? gossip::MessageType::child_totals : gossip::MessageType::child_rates;
    if (!has_budget(false) || !writer.ok() || !transport_.send(to, type, writer.written())) {
        ++counters_.dropped_entries;
    }
}

}  // namespace weir::sync
