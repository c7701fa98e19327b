// What comes in: each message of the counters is dispatched and understood here. Whatever is wrong
// with a message is counted and held against its sender; nothing is answered to it.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/records.h"
#include "limiter/limiter.h"
#include "sync/counter_exchange.h"

namespace weir::sync {

void CounterExchange::receive(const membership::Received& message, Instant now) {
    now_ = now;
    const MemberNumber sender = silence_.number(message.sender, now_);
    ByteReader reader(message.payload);
    if (message.type == gossip::MessageType::owner_ask) {
        owner_.owner_asked(message.sender, reader.u16(), now_, *this);
        return;
    }
    if (message.type == gossip::MessageType::child_rates ||
        message.type == gossip::MessageType::child_totals) {
        receive_children(reader, message.sender, sender,
                         message.type == gossip::MessageType::child_totals);
        return;
    }
    if (message.type == gossip::MessageType::delta) {
        receive_deltas(reader, message.sender, sender);
    } else if (message.type == gossip::MessageType::delta_answer) {
        receive_answers(reader, message.sender, sender);
    } else if (message.type == gossip::MessageType::quiet) {
        receive_quiet(reader, message.sender, sender);
    } else if (message.type == gossip::MessageType::quiet_answer) {
        receive_quiet_answer(reader, message.sender);
        if (!reader.ok()) {
            refuse_values(sender);
        }
        return;
    } else if (message.type == gossip::MessageType::clock) {  // it is one record, without a head
        if (!clock_.receive(message.sender, reader, now_)) {
            refuse_values(sender);
        }
        return;
    } else {
        skip_head(reader);
    }
    while (reader.ok() && reader.remaining() > 0) {
        if (!receive_entry(message, reader, sender)) {
            return;
        }
    }
    if (message.type == gossip::MessageType::quiet_order ||
        message.type == gossip::MessageType::quiet) {
        reporter_.tell_woken(now_, *this);
        delta_messages_.send_all(now_);
    }
    if (!reader.ok()) {
        refuse_values(sender);
    }
}

bool CounterExchange::receive_entry(const membership::Received& message, ByteReader& reader,
                                    MemberNumber sender) {
    switch (message.type) {
        case gossip::MessageType::total:
            receive_total(reader, message.sender, sender);
            return true;
        case gossip::MessageType::handover:
            receive_handover(reader, sender);
            return true;
        case gossip::MessageType::quiet_order:
            receive_order(reader, message.sender, sender);
            return true;
        case gossip::MessageType::name_ask:
            receive_name_ask(reader, message.sender);
            return true;
        case gossip::MessageType::name_tell:
            receive_name_tell(reader, sender);
            return true;
        case gossip::MessageType::hints:
            receive_hint(reader, sender);
            return true;
        case gossip::MessageType::allowance_report:
            receive_allowance(reader, message.sender, sender);
            return true;
        case gossip::MessageType::window_report:
            receive_window_report(reader, message.sender, sender);
            return true;
        case gossip::MessageType::window_grant:
            receive_window_grant(reader, message.sender, sender);
            return true;
        case gossip::MessageType::allowance_grant:
            receive_grant(reader, message.sender, sender);
            return true;
        default:
            return false;
    }
}

bool CounterExchange::skips(const LimitKey& key, const gossip::MemberId& from) {
    const bool later = of_later_version(key);
    if (later) {
        skip(key, from);
    }
    return later;
}

/// Counts an entry about a limit of a kind of which this version has no such entries.
void CounterExchange::skip(const LimitKey& key, const gossip::MemberId& from) {
    ++counters_.skipped_kinds;
    WEIR_ASSERT(key.kind < later_kinds_.size());
    later_kinds_[key.kind] = {key.kind, from.address, now_};
}

std::vector<LaterKind> CounterExchange::later_kinds(Instant now) const {
    constexpr Duration kShown = std::chrono::minutes(1);
    std::vector<LaterKind> kinds;
    std::copy_if(
        later_kinds_.begin(), later_kinds_.end(), std::back_inserter(kinds),
        [&](const LaterKind& one) { return one.peer != Endpoint{} && now - one.at <= kShown; });
    return kinds;
}

void CounterExchange::refuse_values(MemberNumber sender) {
    ++counters_.refused_values;
    silence_.refused(sender);
}

void CounterExchange::refuse_leap(MemberNumber sender) {
    ++counters_.refused_leaps;
    silence_.refused(sender);
}

void CounterExchange::receive_quiet(ByteReader& reader, const gossip::MemberId& from,
                                    MemberNumber sender) {
    QuietAnswer answer;
    answer.tag = read_delta_head(reader);
    for (std::uint64_t index = 0; reader.ok() && reader.remaining() > 0; ++index) {
        QuietEntry entry = decode_quiet(reader);
        if (!reader.ok()) {
            return;
        }
        QuietReceipt receipt{.taken_in = entry.place == 0 || owner_.find_place(sender, entry)};
        if (!receipt.taken_in) {
            ++counters_.refused_unknown;
        } else if (!skips(entry.key, from)) {
            receipt = owner_.receive_quiet(from, sender, entry, now_, *this);
        }
        if (!receipt.taken_in) {
            answer.left.push_back(index);
        } else if (entry.place == 0) {
            answer.places.push_back(receipt.place);
        }
    }
    if (!reader.ok() || silence_.is_gone(sender)) {
        return;  // who has said goodbye waits for no answer
    }
    if (!answer.left.empty()) {
        send_quiet_answer(from, answer);  // it is told again, and by then all of it may be known
        return;
    }
    quiet_answers_.add(from, std::move(answer), now_);
}

void CounterExchange::receive_quiet_answer(ByteReader& reader, const gossip::MemberId& from) {
    const QuietAnswer answer = decode_quiet_answer(reader);
    if (!reader.ok()) {
        return;
    }
    std::vector<QuietSaid>* said = quiet_messages_.answered(from, answer.tag, now_);
    if (said == nullptr) {
        return;
    }
    const std::vector<QuietSaid> told =
        std::exchange(*said, {});  // what is taken in may make us send
    // Places are matched by their order. Where there are more of them than entries that had keys,
    // nobody knows what the answer means.
    const auto with_keys = static_cast<std::size_t>(std::count_if(
        told.begin(), told.end(), [](const QuietSaid& each) { return each.place == 0; }));
    if (answer.places.size() > with_keys) {
        ++counters_.refused_unknown;
        return;
    }
    auto place = answer.places.begin();
    for (std::size_t i = 0; i < told.size(); ++i) {
        QuietSaid entry = told[i];
        const membership::OwnerList& owners =
            transport_.owners().of(membership::shard_of(entry.key.quota));
        const bool first = !owners.empty() && owners.front() == from;
        if (std::find(answer.left.begin(), answer.left.end(), i) != answer.left.end()) {
            if (first) {
                quiet_.forget_place(entry, now_);
            }
            continue;
        }
        if (entry.place == 0 && place != answer.places.end()) {
            entry.place = static_cast<std::uint32_t>(*place++);
        }
        if (first) {
            quiet_.acknowledge(entry, now_);
        } else {
            quiet_.acknowledge_former(entry, now_);
        }
    }
}

void CounterExchange::receive_order(ByteReader& reader, const gossip::MemberId& from,
                                    MemberNumber sender) {
    const QuietOrder order = decode_order(reader);
    if (!reader.ok() || skips(order.key, from)) {
        return;
    }
    if (!plausible(order)) {
        return refuse_values(sender);
    }
    const membership::Shard shard = membership::shard_of(order.key.quota);
    // A snapshot may be read by a member that owned the limit before it was restarted.
    if (order.kind != OrderKind::kept && !transport_.owners().owns(from, shard) &&
        !owner_.was_owner(from, shard)) {
        ++counters_.refused_not_owner;
        return;
    }
    take_order(order, from);
}

void CounterExchange::take_order(const QuietOrder& order, const gossip::MemberId& from) {
    switch (order.kind) {
        case OrderKind::wake:
            reporter_.wake_quiet(order.key, order.run, order.admitted, now_, transport_.owners());
            break;
        case OrderKind::level:
            owner_.take_level(order, now_);
            break;
        case OrderKind::hand_over:
            owner_.take_over(order, now_, *this);
            break;
        case OrderKind::fall_quiet:
            reporter_.let_fall_quiet(from, order, now_);
            break;
        case OrderKind::kept:
            owner_.take_kept(order, silence_.number(from, now_), now_, *this);
            break;
    }
}

/// What is told of a parent's children counts only at an owner of the parent, and the answer only
/// if it is an owner's.
void CounterExchange::receive_children(ByteReader& reader, const gossip::MemberId& from,
                                       MemberNumber sender, bool answers) {
    const ChildPart part = decode_child_part(reader);
    if (reader.ok() && skips(part.parent, from)) {
        return;
    }
    if (!reader.ok() || !plausible(part)) {
        return refuse_values(sender);
    }
    const membership::Shard shard = membership::shard_of(part.parent.quota);
    if (!transport_.owners().owns(answers ? from : self_, shard)) {
        ++counters_.refused_not_owner;
    } else if (answers) {
        fair_.receive_totals(part, now_);
    } else {
        fair_.receive_rates(from, part, now_, *this);
    }
}

/// Whether an entry about a limit that only counts was understood, is about a limit of the
/// message's kind, and can be true.
template <class Entry>
bool CounterExchange::takes_entry(const ByteReader& reader, const Entry& entry, bool of_kind,
                                  const gossip::MemberId& from, MemberNumber sender) {
    if (!reader.ok()) {
        return false;
    }
    if (!of_kind) {
        skip(entry.key, from);
        return false;
    }
    if (!plausible(entry)) {
        refuse_values(sender);
        return false;
    }
    return true;
}

void CounterExchange::receive_allowance(ByteReader& reader, const gossip::MemberId& from,
                                        MemberNumber sender) {
    const AllowanceReport report = decode_allowance_report(reader);
    if (takes_entry(reader, report, is_in_flight(report.key), from, sender)) {
        allowance_owner_.receive(from, sender, report, now_, *this);
    }
}

void CounterExchange::receive_grant(ByteReader& reader, const gossip::MemberId& from,
                                    MemberNumber sender) {
    const AllowanceGrant grant = decode_allowance_grant(reader);
    if (!takes_entry(reader, grant, is_in_flight(grant.key), from, sender)) {
        return;
    }
    const membership::OwnerList& owners =
        transport_.owners().of(membership::shard_of(grant.key.quota));
    if (owners.empty() || owners.front() != from) {
        ++counters_.refused_not_owner;
        return;
    }
    allowance_origin_.receive(grant, now_);
}

/// An origin's own report, or what an owner tells of a member that is gone.
void CounterExchange::receive_window_report(ByteReader& reader, const gossip::MemberId& from,
                                            MemberNumber sender) {
    const WindowReport report = decode_window_report(reader);
    if (takes_entry(reader, report, is_of_windows(report.key), from, sender)) {
        window_owner_.receive(from, sender, report, now_, *this);
    }
}

void CounterExchange::receive_window_grant(ByteReader& reader, const gossip::MemberId& from,
                                           MemberNumber sender) {
    const WindowGrant grant = decode_window_grant(reader);
    if (!takes_entry(reader, grant, is_of_windows(grant.key), from, sender)) {
        return;
    }
    const membership::OwnerList& owners =
        transport_.owners().of(membership::shard_of(grant.key.quota));
    if (grant.granted && (owners.empty() || owners.front() != from)) {
        ++counters_.refused_not_owner;
        return;
    }
    window_owner_.noted(from, grant);
    window_origin_.receive(from, grant, now_);
}

void CounterExchange::receive_total(ByteReader& reader, const gossip::MemberId& from,
                                    MemberNumber sender) {
    const TotalEntry entry = decode_total(reader);
    if (reader.ok() && !skips(entry.key, from)) {
        take_total(entry, from, sender);
    }
}

void CounterExchange::take_total(const TotalEntry& entry, const gossip::MemberId& from,
                                 MemberNumber sender) {
    if (!plausible(entry)) {
        return refuse_values(sender);
    }
    switch (reporter_.receive(from, entry, now_)) {
        case Reporter::TotalVerdict::taken:
            break;
        case Reporter::TotalVerdict::doubted:
            silence_.refused(sender);  // named, though its word is taken
            break;
        case Reporter::TotalVerdict::refused:
            refuse_leap(sender);
            break;
    }
}

void CounterExchange::receive_handover(ByteReader& reader, MemberNumber sender) {
    const HandoverEntry entry = decode_handover(reader);
    if (!reader.ok() || skips(entry.key, silence_.id(sender))) {
        return;
    }
    if (!plausible(entry)) {
        return refuse_values(sender);
    }
    const membership::Shard shard = membership::shard_of(entry.key.quota);
    const gossip::MemberId& from = silence_.id(sender);
    if (!transport_.owners().owns(from, shard) && !owner_.was_owner(from, shard)) {
        // Nobody is named for it: after a split heals we may be the one who does not know yet.
        ++counters_.refused_not_owner;
        return;
    }
    ++counters_.handovers_received;
    if (!owner_.receive(sender, entry, now_, *this)) {
        refuse_leap(sender);
    }
}

void CounterExchange::receive_name_ask(ByteReader& reader, const gossip::MemberId& from) {
    const LimitKey key = decode_question(reader);
    if (!reader.ok() || skips(key, from)) {
        return;
    }
    NameEntry entry;
    limiter::LimitParameters parameters;
    limiter::Isolation isolation;
    entry.key = key;
    if (!resolve(key, entry.name, parameters, isolation)) {
        const OwnedLimit* limit = owner_.find(key);
        if (limit == nullptr || limit->name.empty() || !limit->parameters) {
            return;
        }
        entry.name = limit->name;
        parameters = *limit->parameters;
    }
    entry.rate = parameters.rate;
    entry.low = parameters.low;
    entry.high = parameters.high;
    entry.debt = limiter::debt(parameters, 1);
    entry.law = static_cast<std::uint8_t>(parameters.law);
    ++counters_.names_told;
    send_name(from, entry);
}

void CounterExchange::receive_name_tell(ByteReader& reader, MemberNumber sender) {
    const NameEntry entry = decode_name(reader);
    if (!reader.ok() || skips(entry.key, silence_.id(sender))) {
        return;
    }
    if (!plausible(entry)) {
        return refuse_values(sender);
    }
    owner_.name_told(sender, entry, now_);
}

void CounterExchange::receive_hint(ByteReader& reader, MemberNumber sender) {
    const HotEntry entry = decode_hot(reader);
    if (!reader.ok() || skips(entry.key, silence_.id(sender))) {
        return;
    }
    if (!plausible(entry)) {
        return refuse_values(sender);
    }
    // It may tell on what others told it: nobody is to blame.
    if (hot_.note(entry, now_) && !reporter_.rumour(entry, now_, transport_.owners())) {
        ++counters_.refused_leaps;
    }
}

}  // namespace weir::sync
