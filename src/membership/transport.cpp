#include "membership/transport.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::membership {
namespace {

/// Bytes beyond the budget that a member may send about counters when it leaves: a thousand full
/// datagrams.
constexpr double kLastWords = 1'232'000;

/// The share of membership's burst that each urgency must leave to more urgent messages.
constexpr std::array<double, kUrgencies> kLeft{0, 0.125, 0.25, 0.5};

std::uint64_t to_us(Instant now) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count());
}

std::size_t type_index(gossip::MessageType type) {
    return is_known(type) ? static_cast<std::size_t>(type) : 0;
}

/// Whether a sender that is not a member may send the message: it either changes nothing or proves
/// itself.
bool needs_no_membership(gossip::MessageType type) {
    return type == gossip::MessageType::ping || type == gossip::MessageType::answer ||
           type == gossip::MessageType::obituary;
}

}  // namespace

Transport::Transport(const TransportSettings& settings, std::span<const gossip::Key> keys,
                     gossip::NonceSource& nonces, Random random)
    : settings_(settings),
      cluster_(gossip::cluster_tag(settings.cluster_name)),
      sealer_(keys, nonces),
      membership_(settings.membership, settings.self, settings.flags, random.fork()),
      queue_(settings.maximum_queued_bytes),
      budgets_{gossip::Budget(settings.membership_budget), gossip::Budget(settings.counter_budget),
               gossip::Budget(settings.definition_budget)} {}

void Transport::start(Instant now) {
    membership_.start(now);
    owners_.start(membership_);
}

void Transport::set_seeds(std::vector<Endpoint> seeds) { membership_.set_seeds(std::move(seeds)); }
void Transport::set_keys(std::span<const gossip::Key> keys) { sealer_.set_keys(keys); }
void Transport::set_hints(ByteSpan payload) { membership_.set_hints(payload); }

std::span<const Received> Transport::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    received_.clear();
    ++counters_.datagrams_in;
    counters_.bytes_in += datagram.size();
    const gossip::Sealer::Opened opened = sealer_.open(datagram);
    if (opened.rejection) {
        refuse(*opened.rejection, datagram, from, now);
        return {};
    }
    if (!sealer_.seals_with(opened.key)) {
        ++counters_.opened_with_second_key;
    }
    ByteReader reader(opened.content);
    gossip::Envelope envelope = gossip::decode_envelope(reader);
    envelope.sent_at_us = opened.sent_at_us;
    const ByteSpan body = opened.content.last(reader.remaining());
    if (!reader.ok() || !gossip::well_framed(body)) {
        reject(gossip::DatagramRejection::malformed);
        return {};
    }
    if (const auto rejection = check(envelope, body)) {
        refuse(*rejection, datagram, from, now);
        return {};
    }
    const bool addressed = envelope.receiver != 0;
    const MessageOrigin origin{envelope.sender, from, addressed, answer_room(datagram.size())};
    if (addressed) {
        receive_addressed(origin, envelope, body, opened.key, now);
    } else {
        receive_open(origin, body, now);
    }
    pump(now);
    return received_;
}

/// Refuses a whole datagram. Its sender is remembered if that helps to find an error of
/// configuration.
void Transport::refuse(gossip::DatagramRejection reason, ByteSpan datagram, const Endpoint& from,
                       Instant now) {
    reject(reason);
    if (gossip::Strangers::concerns(reason)) {
        strangers_.note(from, reason, gossip::claimed_key(datagram), now);
    }
}

std::optional<gossip::DatagramRejection> Transport::check(const gossip::Envelope& envelope,
                                                          ByteSpan body) const {
    if (envelope.cluster != cluster_) {
        return gossip::DatagramRejection::other_cluster;
    }
    if (envelope.sender.incarnation == self().incarnation) {
        return gossip::DatagramRejection::own_packet;
    }
    if (envelope.receiver == 0) {
        ByteReader reader(body);
        const auto message = gossip::next_message(reader);
        const bool lone_ping =
            message && message->type == gossip::MessageType::ping && reader.remaining() == 0;
        return lone_ping ? std::nullopt : std::optional(gossip::DatagramRejection::unaddressed);
    }
    if (envelope.receiver != self().incarnation) {
        return gossip::DatagramRejection::other_receiver;
    }
    return std::nullopt;
}

/// A ping without this member's incarnation is answered, within limits, and has no other effect.
void Transport::receive_open(const MessageOrigin& origin, ByteSpan body, Instant now) {
    ByteReader reader(body);
    const auto message = gossip::next_message(reader);
    WEIR_ASSERT(message.has_value());  // check() has made sure of it
    count_in(message->type);
    if (const auto rejection = membership_.receive(origin, *message, now)) {
        reject(*rejection);
    }
}

void Transport::receive_addressed(const MessageOrigin& origin, const gossip::Envelope& envelope,
                                  ByteSpan body, gossip::KeyId key, Instant now) {
    WEIR_ASSERT(envelope.receiver == self().incarnation);
    Standing standing = membership_.standing(origin.sender);
    Duration age{};
    if (standing == Standing::dead && sessions_.left_lately(origin.sender)) {
        receive_late(origin, envelope, body, now);
        return;
    }
    if (standing == Standing::member) {
        const Sessions::Admitted admitted = sessions_.admit(envelope, key, now);
        if (admitted.rejection) {
            reject(*admitted.rejection);
            return;
        }
        age = admitted.age;
        membership_.heard(origin.sender, now);
    }
    bool stranger = false;
    ByteReader reader(body);
    while (const auto message = gossip::next_message(reader)) {
        if (standing != Standing::member) {
            stranger = stranger || message->type != gossip::MessageType::answer;
            if (!needs_no_membership(message->type)) {
                continue;
            }
        }
        deliver(origin, *message, age, now);
        standing = membership_.standing(origin.sender);
    }
    if (stranger && standing != Standing::member) {
        reject(standing == Standing::dead ? gossip::DatagramRejection::dead_sender
                                          : gossip::DatagramRejection::unknown_sender);
        membership_.met(origin, now);
    }
}

/// A datagram of a member that said goodbye a moment ago: its hand-overs, and what it tells last of
/// what it has admitted, may come after the goodbye.
void Transport::receive_late(const MessageOrigin& origin, const gossip::Envelope& envelope,
                             ByteSpan body, Instant now) {
    const Sessions::Admitted admitted = sessions_.admit_late(envelope, now);
    if (admitted.rejection) {
        reject(*admitted.rejection);
        return;
    }
    ByteReader reader(body);
    while (const auto message = gossip::next_message(reader)) {
        if (message->type == gossip::MessageType::handover ||
            message->type == gossip::MessageType::delta ||
            message->type == gossip::MessageType::quiet ||
            message->type == gossip::MessageType::window_report ||
            message->type == gossip::MessageType::quiet_order) {
            deliver(origin, *message, admitted.age, now);
        } else {
            reject(gossip::DatagramRejection::dead_sender);
        }
    }
}

void Transport::deliver(const MessageOrigin& origin, const gossip::Message& message, Duration age,
                        Instant now) {
    count_in(message.type);
    if (!is_known(message.type)) {
        reject(gossip::DatagramRejection::unknown_message);
        return;
    }
    if (gossip::lane_of(message.type) == gossip::Lane::membership &&
        message.type != gossip::MessageType::hints) {
        if (const auto rejection = membership_.receive(origin, message, now)) {
            reject(*rejection);
        }
        return;
    }
    const bool level = message.type == gossip::MessageType::total ||
                       message.type == gossip::MessageType::delta_answer;
    if (level && age > settings_.oldest_total) {
        reject(gossip::DatagramRejection::stale);
        return;
    }
    received_.push_back({origin.sender, message.type, message.payload});
}

void Transport::count_in(gossip::MessageType type) { ++counters_.messages_in[type_index(type)]; }

/// How many bytes of messages fit into a datagram of this size that is sent from here.
std::size_t Transport::answer_room(std::size_t datagram) const {
    const std::size_t family = self().address.is_v4() ? 12 : 0;
    const std::size_t overhead = sealer_.sealed_size(gossip::kMaximumEnvelope - family);
    return datagram > overhead ? std::min(datagram - overhead, gossip::kMaximumBody) : 0;
}

bool Transport::send(const gossip::MemberId& to, gossip::MessageType type, ByteSpan payload) {
    const gossip::Lane lane = gossip::lane_of(type);
    const bool may = lane != gossip::Lane::membership && membership_.find(to) != nullptr;
    if (!may || !queue_.add(to, type, payload)) {
        ++counters_.dropped[static_cast<std::size_t>(lane)];
        return false;
    }
    return true;
}

void Transport::tick(Instant now) {
    membership_.tick(now);
    sessions_.tick(now);
    pump(now);
}

Instant Transport::next_tick() const { return membership_.next_tick(); }

double Transport::counter_room(std::size_t to_come, Instant now) const {
    const gossip::Budget& budget = budgets_[static_cast<std::size_t>(gossip::Lane::counters)];
    const std::size_t datagrams = queue_.bodies(gossip::Lane::counters).size();
    const auto waiting = static_cast<double>(queue_.bytes(gossip::Lane::counters) + to_come +
                                             datagrams * gossip::kDatagramOverhead);
    return (budget.left(now) - waiting) / budget.burst();
}

void Transport::grant_last_words() {
    budgets_[static_cast<std::size_t>(gossip::Lane::counters)].grant(kLastWords);
}

void Transport::begin_leaving() {
    membership_.begin_leaving();
    owners_.recompute(membership_);
}

void Transport::goodbye() { membership_.goodbye(); }

void Transport::pump(Instant now) {
    const MembershipCounters& seen = membership_.counters();
    WEIR_ASSERT(counted_conflicts_ <= seen.conflicts);
    WEIR_ASSERT(counted_refusals_ <= seen.refused_members);
    for (; counted_conflicts_ < seen.conflicts; ++counted_conflicts_) {
        reject(gossip::DatagramRejection::address_conflict);
    }
    for (; counted_refusals_ < seen.refused_members; ++counted_refusals_) {
        reject(gossip::DatagramRejection::member_table_full);
    }
    for (const MembershipEvent& event : membership_.take_events()) {
        follow(event, now);
        events_.push_back(event);
    }
    owners_.follow(membership_, now);  // once, however many members came or went
}

/// Keeps sessions and owners in step with the members.
void Transport::follow(const MembershipEvent& event, Instant now) {
    switch (event.kind) {
        case MembershipEvent::Kind::conflict:
            strangers_.note(event.member.address, gossip::DatagramRejection::address_conflict, 0,
                            now);
            return;
        case MembershipEvent::Kind::suspected:
        case MembershipEvent::Kind::cleared:
            return;
        case MembershipEvent::Kind::left:
            sessions_.left(event.member, now);
            break;
        case MembershipEvent::Kind::dead:
        case MembershipEvent::Kind::replaced:
            sessions_.end(event.member);
            break;
        case MembershipEvent::Kind::renewed:
            sessions_.end_all();  // datagrams for the former incarnation are refused from now on
            break;
        case MembershipEvent::Kind::joined:
        case MembershipEvent::Kind::changed:
            break;
    }
    owners_.members_changed();
}

std::uint64_t Transport::next_sequence(const gossip::MemberId& to) {
    const std::uint64_t fresh = counters_.datagrams_out + 1;
    return membership_.find(to) == nullptr ? fresh : sessions_.next_sequence(to, fresh);
}

void Transport::emit(const gossip::MemberId& to, ByteSpan body, gossip::Lane lane, double reserve,
                     Instant now, std::vector<OutgoingDatagram>& out) {
    const auto index = static_cast<std::size_t>(lane);
    std::array<std::byte, gossip::kMaximumEnvelope + gossip::kMaximumBody> content{};
    ByteWriter writer(content);
    const gossip::Envelope envelope{cluster_, self(), to.incarnation, next_sequence(to),
                                    to_us(now)};
    encode(writer, envelope);
    writer.bytes(body);
    WEIR_ASSERT(writer.ok());
    const std::size_t size = sealer_.sealed_size(writer.size());
    WEIR_ASSERT(size <= gossip::kMaximumDatagram);
    if (!budgets_[index].take(size, now, reserve)) {
        ++counters_.dropped[index];
        return;
    }
    out.push_back({to.address, sealer_.seal(writer.written(), envelope.sent_at_us)});
    ++counters_.datagrams_out;
    counters_.bytes_out += size;
    counters_.lane_bytes_out[index] += size;
    ByteReader reader(body);
    while (const auto message = gossip::next_message(reader)) {
        ++counters_.messages_out[type_index(message->type)];
    }
}

/// Sends the most urgent datagrams first. Less urgent ones leave a part of the burst to those.
void Transport::flush_membership(Instant now, std::vector<OutgoingDatagram>& out) {
    const std::vector<MembershipDatagram> datagrams = membership_.take_datagrams();
    const double burst = budgets_[static_cast<std::size_t>(gossip::Lane::membership)].burst();
    for (std::size_t urgency = 0; urgency < kUrgencies; ++urgency) {
        const double reserve = burst * kLeft[urgency];
        for (const MembershipDatagram& datagram : datagrams) {
            WEIR_ASSERT(!datagram.body.empty());
            if (static_cast<std::size_t>(datagram.urgency) != urgency) {
                continue;
            }
            emit({datagram.to, datagram.receiver}, datagram.body, gossip::Lane::membership, reserve,
                 now, out);
        }
    }
}

std::vector<OutgoingDatagram> Transport::flush(Instant now) {
    std::vector<OutgoingDatagram> out;
    flush_membership(now, out);
    for (const gossip::Lane lane : {gossip::Lane::counters, gossip::Lane::definitions}) {
        for (const SendQueue::Body& queued : queue_.bodies(lane)) {
            emit(queued.to, queued.bytes, lane, 0, now, out);
        }
    }
    queue_.clear();
    return out;
}

std::vector<MembershipEvent> Transport::take_events() { return std::exchange(events_, {}); }

}  // namespace weir::membership
