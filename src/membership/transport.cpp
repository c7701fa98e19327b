#include "membership/transport.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::membership {
namespace {

constexpr Duration kLateHandover = std::chrono::seconds(2);
/// In larger fleets owners are computed at most once per interval.
constexpr std::size_t kSmallFleet = 64;
constexpr Duration kOwnersInterval = std::chrono::milliseconds(100);
/// Of membership's burst, what each urgency leaves to those before it.
constexpr std::array<double, kUrgencies> kLeft{0, 0.125, 0.25, 0.5};

std::uint64_t to_us(Instant now) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count());
}

std::size_t type_index(gossip::MessageType type) {
    return is_known(type) ? static_cast<std::size_t>(type) : 0;
}

/// What anybody may send to us: it either changes nothing or carries its own proof.
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
      budgets_{gossip::Budget(settings.membership_budget), gossip::Budget(settings.counter_budget),
               gossip::Budget(settings.definition_budget)} {}

void Transport::start(Instant now) {
    membership_.start(now);
    recompute_owners();
    owner_changes_.clear();  // alone from the beginning is no change
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
    const gossip::Envelope envelope = gossip::decode_envelope(reader);
    const ByteSpan body = opened.content.last(reader.remaining());
    if (!reader.ok() || !gossip::well_framed(body)) {
        reject(gossip::Rejection::malformed);
        return {};
    }
    if (const auto rejection = check(envelope, body)) {
        refuse(*rejection, datagram, from, now);
        return {};
    }
    const bool addressed = envelope.receiver != 0;
    const Origin origin{envelope.sender, from, addressed, answer_room(datagram.size())};
    if (addressed) {
        receive_addressed(origin, envelope, body, opened.key, now);
    } else {
        receive_open(origin, body, now);
    }
    pump(now);
    return received_;
}

/// A whole datagram; who sent it is remembered if that helps to find a mistake.
void Transport::refuse(gossip::Rejection reason, ByteSpan datagram, const Endpoint& from,
                       Instant now) {
    reject(reason);
    if (gossip::Strangers::concerns(reason)) {
        strangers_.note(from, reason, gossip::claimed_key(datagram), now);
    }
}

gossip::KeyId Transport::key_of(const gossip::MemberId& member) const {
    const auto found = sessions_.find(member);
    return found == sessions_.end() ? 0 : found->second.key;
}

std::optional<gossip::Rejection> Transport::check(const gossip::Envelope& envelope,
                                                  ByteSpan body) const {
    if (envelope.cluster != cluster_) {
        return gossip::Rejection::other_cluster;
    }
    if (envelope.sender.incarnation == self().incarnation) {
        return gossip::Rejection::own_packet;
    }
    if (envelope.receiver == 0) {
        ByteReader reader(body);
        const auto message = gossip::next_message(reader);
        const bool lone_ping =
            message && message->type == gossip::MessageType::ping && reader.remaining() == 0;
        return lone_ping ? std::nullopt : std::optional(gossip::Rejection::unaddressed);
    }
    if (envelope.receiver != self().incarnation) {
        return gossip::Rejection::other_receiver;
    }
    return std::nullopt;
}

/// A ping that does not name us: answered (within limits), and nothing else.
void Transport::receive_open(const Origin& origin, ByteSpan body, Instant now) {
    ByteReader reader(body);
    const auto message = gossip::next_message(reader);
    count_in(message->type);
    if (const auto rejection = membership_.receive(origin, *message, now)) {
        reject(*rejection);
    }
}

void Transport::receive_addressed(const Origin& origin, const gossip::Envelope& envelope,
                                  ByteSpan body, gossip::KeyId key, Instant now) {
    Standing standing = membership_.standing(origin.sender);
    Duration age{};
    if (standing == Standing::dead) {
        const auto found = sessions_.find(origin.sender);
        if (found != sessions_.end() && found->second.left_at) {
            receive_late(origin, envelope, body, found->second, now);
            return;
        }
    }
    if (standing == Standing::member) {
        PeerSession& peer = sessions_[origin.sender];
        const auto admitted = admit(peer, envelope, now);
        if (!admitted) {
            return;
        }
        peer.key = key;
        age = *admitted;
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
        reject(standing == Standing::dead ? gossip::Rejection::dead_sender
                                          : gossip::Rejection::unknown_sender);
        membership_.met(origin, now);
    }
}

/// From a member that said goodbye a moment ago: what it handed over may have been overtaken.
void Transport::receive_late(const Origin& origin, const gossip::Envelope& envelope, ByteSpan body,
                             PeerSession& peer, Instant now) {
    const auto age = admit(peer, envelope, now);
    ByteReader reader(body);
    while (const auto message = gossip::next_message(reader)) {
        if (age && message->type == gossip::MessageType::handover) {
            deliver(origin, *message, *age, now);
        } else if (age) {
            reject(gossip::Rejection::dead_sender);
        }
    }
}

void Transport::deliver(const Origin& origin, const gossip::Message& message, Duration age,
                        Instant now) {
    count_in(message.type);
    if (!is_known(message.type)) {
        reject(gossip::Rejection::unknown_message);
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
        reject(gossip::Rejection::stale);
        return;
    }
    received_.push_back({origin.sender, message.type, message.payload, age});
}

void Transport::count_in(gossip::MessageType type) { ++counters_.messages_in[type_index(type)]; }

/// The packet's age, if it is neither a replay nor beyond reason.
std::optional<Duration> Transport::admit(PeerSession& peer, const gossip::Envelope& envelope,
                                         Instant now) {
    if (const auto rejection = peer.session.window.accept(envelope.sequence)) {
        reject(*rejection);
        return std::nullopt;
    }
    const auto age = peer.session.age.age(envelope.sent_at_us, now);
    if (!age) {
        reject(gossip::Rejection::clock);
    }
    return age;
}

/// How many bytes of messages a datagram of this size could carry if we sent it.
std::size_t Transport::answer_room(std::size_t datagram) const {
    const std::size_t family = self().address.is_v4() ? 12 : 0;
    const std::size_t overhead = sealer_.sealed_size(gossip::kMaximumEnvelope - family);
    return datagram > overhead ? std::min(datagram - overhead, gossip::kMaximumBody) : 0;
}

bool Transport::send(const gossip::MemberId& to, gossip::MessageType type, ByteSpan payload) {
    const gossip::Lane lane = gossip::lane_of(type);
    const auto index = static_cast<std::size_t>(lane);
    const std::size_t size = gossip::message_size(payload.size());
    if (size > gossip::kMaximumBody || lane == gossip::Lane::membership ||
        membership_.find(to) == nullptr || queued_bytes_ + size > settings_.maximum_queued_bytes) {
        ++counters_.dropped[index];
        return false;
    }
    Queue& queue = queues_[index];
    const auto open = open_bodies_.find({to, lane});
    if (open == open_bodies_.end() ||
        queue[open->second].bytes.size() + size > gossip::kMaximumBody) {
        open_bodies_[{to, lane}] = queue.size();
        queue.push_back({to, {}});
    }
    std::vector<std::byte>& body = queue[open_bodies_[{to, lane}]].bytes;
    const std::size_t before = body.size();
    body.resize(before + size);
    ByteWriter writer{std::span(body).subspan(before)};
    gossip::write_message(writer, type, payload);
    queued_bytes_ += size;
    return true;
}

void Transport::tick(Instant now) {
    membership_.tick(now);
    while (!leavers_.empty() && now - leavers_.front().first > kLateHandover) {
        sessions_.erase(leavers_.front().second);
        leavers_.pop_front();
    }
    pump(now);
}

Instant Transport::next_tick() const { return membership_.next_tick(); }

void Transport::begin_leaving(Instant now) {
    membership_.begin_leaving(now);
    recompute_owners();
}

void Transport::goodbye(Instant now) { membership_.goodbye(now); }

void Transport::pump(Instant now) {
    const MembershipCounters& seen = membership_.counters();
    for (; counted_conflicts_ < seen.conflicts; ++counted_conflicts_) {
        reject(gossip::Rejection::address_conflict);
    }
    for (; counted_refusals_ < seen.refused_members; ++counted_refusals_) {
        reject(gossip::Rejection::member_table_full);
    }
    bool moved = false;
    for (const MembershipEvent& event : membership_.take_events()) {
        moved = follow(event, now) || moved;
        events_.push_back(event);
    }
    owners_moved_ = owners_moved_ || moved;
    // Once, however many came or went; while hundreds come at once, not for each of their packets.
    if (owners_moved_ && (membership_.live_count() <= kSmallFleet || now >= next_owners_)) {
        owners_moved_ = false;
        next_owners_ = now + kOwnersInterval;
        recompute_owners();
    }
}

/// Keeps the sessions in step; true when owners may have changed.
bool Transport::follow(const MembershipEvent& event, Instant now) {
    using Kind = MembershipEvent::Kind;
    switch (event.kind) {
        case Kind::conflict:
            strangers_.note(event.member.address, gossip::Rejection::address_conflict, 0, now);
            return false;
        case Kind::suspected:
        case Kind::cleared:
            return false;
        case Kind::left:
            if (const auto found = sessions_.find(event.member); found != sessions_.end()) {
                found->second.left_at = now;
                leavers_.emplace_back(now, event.member);
            }
            break;
        case Kind::dead:
        case Kind::replaced:
            sessions_.erase(event.member);
            break;
        case Kind::renewed:
            sessions_.clear();  // whatever was addressed to our former incarnation is refused
            break;
        case Kind::joined:
        case Kind::changed:
            break;
    }
    return true;
}

void Transport::recompute_owners() {
    std::vector<Candidate> candidates{{self(), membership_.flags()}};
    for (const Member& member : membership_.live()) {
        candidates.push_back({member.id, member.flags});
    }
    for (OwnerChange& change : owners_.recompute(candidates)) {
        owner_changes_.push_back(std::move(change));
    }
}

/// A session begins above every number used before, so that nobody who remembers an earlier one
/// takes its datagrams for replays.
std::uint64_t Transport::next_sequence(const gossip::MemberId& to) {
    const std::uint64_t fresh = counters_.datagrams_out + 1;
    if (membership_.find(to) == nullptr) {
        return fresh;
    }
    std::uint64_t& next = sessions_[to].session.next_sequence;
    next = next == 0 ? fresh : next + 1;
    return next;
}

void Transport::emit(const gossip::MemberId& to, ByteSpan body, gossip::Lane lane, double reserve,
                     Instant now, std::vector<OutgoingDatagram>& out) {
    const auto index = static_cast<std::size_t>(lane);
    std::array<std::byte, gossip::kMaximumEnvelope + gossip::kMaximumBody> content{};
    ByteWriter writer(content);
    encode(writer,
           gossip::Envelope{cluster_, self(), to.incarnation, next_sequence(to), to_us(now)});
    writer.bytes(body);
    WEIR_ASSERT(writer.ok());
    const std::size_t size = sealer_.sealed_size(writer.size());
    if (!budgets_[index].take(size, now, reserve)) {
        ++counters_.dropped[index];
        return;
    }
    out.push_back({to.address, sealer_.seal(writer.written())});
    ++counters_.datagrams_out;
    counters_.bytes_out += size;
    counters_.lane_bytes_out[index] += size;
    ByteReader reader(body);
    while (const auto message = gossip::next_message(reader)) {
        ++counters_.messages_out[type_index(message->type)];
    }
}

/// The most urgent first; each kind leaves a part of the burst to those before it.
void Transport::flush_membership(Instant now, std::vector<OutgoingDatagram>& out) {
    const std::vector<MembershipDatagram> datagrams = membership_.take_datagrams();
    const double burst = budgets_[static_cast<std::size_t>(gossip::Lane::membership)].burst();
    for (std::size_t urgency = 0; urgency < kUrgencies; ++urgency) {
        const double reserve = burst * kLeft[urgency];
        for (const MembershipDatagram& datagram : datagrams) {
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
        for (const QueuedBody& queued : queues_[static_cast<std::size_t>(lane)]) {
            emit(queued.to, queued.bytes, lane, 0, now, out);
        }
        queues_[static_cast<std::size_t>(lane)].clear();
    }
    open_bodies_.clear();
    queued_bytes_ = 0;
    return out;
}

std::vector<MembershipEvent> Transport::take_events() { return std::exchange(events_, {}); }

std::vector<OwnerChange> Transport::take_owner_changes() {
    return std::exchange(owner_changes_, {});
}

}  // namespace weir::membership
