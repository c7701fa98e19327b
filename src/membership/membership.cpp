#include "membership/membership.h"

#include <utility>

#include "base/records.h"

namespace weir::membership {
namespace {

/// The granularity of ticks; every deadline is at most this late.
constexpr Duration kTick = std::chrono::milliseconds(20);
/// How many members hear of a goodbye from the leaving member itself.
constexpr std::size_t kGoodbyes = 64;
/// How long members that are gone are shown.
constexpr Duration kShown = std::chrono::minutes(1);

}  // namespace

Membership::Membership(const MembershipSettings& settings, const Endpoint& self, MemberFlags flags,
                       Random random)
    : context_(settings, self, flags, random),
      census_(context_.self, members_, dead_),
      dissemination_(context_, members_),
      lists_(context_, members_),
      pings_(context_, members_, dissemination_, lists_),
      responder_(context_, members_, census_, dissemination_, lists_, pings_),
      prober_(context_, members_, pings_),
      search_(context_, members_, census_, pings_),
      transitions_(context_, members_, dead_, dissemination_, pings_, prober_, search_),
      updates_(context_, members_, dead_, census_, dissemination_, pings_, prober_, transitions_),
      renewal_(context_, members_, dead_, census_, dissemination_, pings_, prober_, search_),
      proofs_(context_, members_, dead_, lists_, pings_, prober_, transitions_, renewal_) {}

void Membership::start(Instant now) {
    last_tick_ = now;
    next_tick_ = now;
    search_.start(now);
    dissemination_.start(now);
    lists_.start(now);
    prober_.start(now);
}

void Membership::tick(Instant now) {
    notice_pause(now);
    last_tick_ = now;
    next_tick_ = now + kTick;
    if (gone_) {
        return;
    }
    dead_.forget_old(now);
    pings_.tick(now);
    tick_probe(now);
    transitions_.tick(now);
    search_.tick(now);
    dissemination_.tick(now);
}

bool Membership::is_at_work() const {
    return pings_.any_with_deadline() || !members_.suspects().empty() ||
           (!members_.empty() && !dissemination_.idle());
}

/// After a stop, probes that were under way say nothing about the other members.
void Membership::notice_pause(Instant now) {
    if (now - last_tick_ <= context_.settings.pause_threshold) {
        return;
    }
    ++context_.events.counters().pauses;
    last_tick_ = now;
    pings_.forget_all();
    prober_.resume(now);
    members_.restart_suspicions(now);
}

void Membership::tick_probe(Instant now) {
    prober_.ask_others_if_late(now);
    if (!prober_.round_is_over(now)) {
        return;
    }
    if (const auto failed = prober_.end_round()) {
        transitions_.probe_failed(*failed, now);
    }
    prober_.begin_round(now);
}

std::optional<gossip::DatagramRejection> Membership::receive(const MessageOrigin& origin,
                                                             const gossip::Message& message,
                                                             Instant now) {
    if (gone_) {
        return std::nullopt;
    }
    notice_pause(now);
    ByteReader reader(message.payload);
    const auto rejection = dispatch(origin, message.type, reader, now);
    return reader.ok() ? rejection : gossip::DatagramRejection::bad_message;
}

/// Handles a message. One that does not decode fails the reader and changes nothing. Of several
/// updates in one message, those before the first bad one count.
std::optional<gossip::DatagramRejection> Membership::dispatch(const MessageOrigin& origin,
                                                              gossip::MessageType type,
                                                              ByteReader& reader, Instant now) {
    using Type = gossip::MessageType;
    const gossip::MemberId& sender = origin.sender;
    switch (type) {
        case Type::ping:
            if (const Ping ping = decode_ping(reader); reader.ok()) {
                return responder_.on_ping(origin, ping, now);
            }
            break;
        case Type::answer:
            if (const PingAnswer answer = decode_answer(reader); reader.ok()) {
                return proofs_.on_answer(sender, answer, now);
            }
            break;
        case Type::ping_request:
            if (const PingRequest request = decode_ping_request(reader); reader.ok()) {
                responder_.on_ping_request(sender, request, now);
            }
            break;
        case Type::indirect_answer:
        case Type::indirect_failure:
            if (const IndirectAnswer answer = decode_indirect_answer(reader); reader.ok()) {
                return prober_.on_indirect(answer.nonce, type == Type::indirect_answer, now);
            }
            break;
        case Type::member_updates:
            on_updates(sender, reader, now);
            break;
        case Type::member_list_ask:
            if (const MemberListAsk ask = decode_member_list_ask(reader); reader.ok()) {
                lists_.send(sender, ask.after);
            }
            break;
        case Type::member_list:
            if (const MemberList list = decode_member_list(reader); reader.ok()) {
                on_list(sender, list, now);
            }
            break;
        case Type::obituary:
            if (const Obituary obituary = decode_obituary(reader); reader.ok()) {
                renewal_.on_obituary(obituary, now);
            }
            break;
        default:
            return gossip::DatagramRejection::unknown_message;
    }
    return std::nullopt;
}

void Membership::on_updates(const gossip::MemberId& sender, ByteReader& reader, Instant now) {
    skip_head(reader);
    while (reader.ok() && reader.remaining() > 0) {
        if (const MemberUpdate update = decode_member_update(reader); reader.ok()) {
            updates_.apply(update, sender, now);
        }
    }
}

void Membership::on_list(const gossip::MemberId& sender, const MemberList& list, Instant now) {
    for (const MemberUpdate& update : list.members) {
        if (update.state == MemberState::alive) {
            updates_.apply(update, sender, now);
        }
    }
    if (list.more && !list.members.empty()) {
        lists_.ask(sender, list.members.back().id.address);
    }
}

void Membership::heard(const gossip::MemberId& sender, Instant now) {
    if (members_.find(sender) != nullptr) {
        members_.heard(sender, now);
        last_heard_ = now;
    }
}

void Membership::met(const MessageOrigin& origin, Instant now) {
    if (!gone_) {
        proofs_.met(origin.sender, now);
    }
}

void Membership::begin_leaving() {
    context_.self.begin_leaving();
    dissemination_.spread(context_.self.update(MemberState::alive));
}

void Membership::goodbye() {
    for (const gossip::MemberId& id :
         members_.pick(kGoodbyes, context_.self.address(), context_.random)) {
        DatagramBody body;
        const MemberUpdate goodbye = context_.self.update(MemberState::left);
        body.add(gossip::MessageType::member_updates, std::span(&goodbye, 1));
        context_.outbox.add(id, body);
    }
    gone_ = true;
}

void Membership::question(const gossip::MemberId& member, Instant now) {
    if (members_.find(member) != nullptr) {
        prober_.question(member, now);
    }
}

const Member* Membership::find(const gossip::MemberId& id) const {
    const Peer* const known = members_.find(id);
    return known != nullptr ? &known->member : nullptr;
}

const Member* Membership::find(const Endpoint& address) const {
    const Peer* const known = members_.find(address);
    return known != nullptr ? &known->member : nullptr;
}

std::vector<Member> Membership::recently_gone(Instant now) const {
    std::vector<Member> result;
    for (const DeadMember& dead : dead_.since(now - kShown)) {
        Member member;
        member.id = dead.id;
        member.state = dead.cause;
        member.since = dead.since;
        result.push_back(member);
    }
    return result;
}

}  // namespace weir::membership
