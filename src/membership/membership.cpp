#include "membership/membership.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "membership/body.h"

namespace weir::membership {
namespace {

/// The granularity of ticks; every deadline is at most this late.
constexpr Duration kTick = std::chrono::milliseconds(20);
constexpr std::size_t kGoodbyes = 64;
constexpr std::size_t kRenewalPings = 16;
constexpr std::size_t kMaximumSeeds = 4096;

bool begins_with_answer(const MembershipDatagram& datagram) {
    ByteReader reader(datagram.body);
    const auto message = gossip::next_message(reader);
    return message && message->type == gossip::MessageType::answer;
}

gossip::Incarnation draw_incarnation(Random& random) {
    gossip::Incarnation incarnation = 0;
    while (incarnation == 0) {
        incarnation = random.next();
    }
    return incarnation;
}

}  // namespace

Membership::Membership(const MembershipSettings& settings, const Endpoint& self, MemberFlags flags,
                       Random random)
    : settings_(settings),
      self_{self, 0},
      flags_(flags),
      random_(random),
      answers_({settings.answers_per_second, settings.answers_per_second}),
      open_answers_({settings.open_answers_per_second, settings.open_answers_per_second}),
      answered_news_({settings.answered_news_per_second, settings.answered_news_per_second}) {
    self_.incarnation = draw_incarnation(random_);
}

void Membership::start(Instant now) {
    last_tick_ = now;
    next_tick_ = now;
    next_seeds_ = now;
    seed_wait_ = settings_.seed_interval;
    next_lost_ = now;
    next_rumours_ = now;
    next_list_ = now;
    next_probe_ = now + from_seconds(random_.unit() * to_seconds(settings_.probe_period));
}

void Membership::set_seeds(std::vector<Endpoint> seeds) {
    std::sort(seeds.begin(), seeds.end());
    seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
    seeds.resize(std::min(seeds.size(), kMaximumSeeds));
    if (seeds != seeds_) {
        seed_wait_ = settings_.seed_interval;
    }
    seeds_ = std::move(seeds);
}

void Membership::set_hints(ByteSpan payload) {
    const ByteSpan kept = payload.size() <= kMaximumHints ? payload : ByteSpan{};
    hints_.assign(kept.begin(), kept.end());
}

void Membership::tick(Instant now) {
    notice_pause(now);
    last_tick_ = now;
    next_tick_ = now + kTick;
    if (gone_) {
        return;
    }
    dead_.forget_old(now);
    tick_pings(now);
    tick_probe(now);
    tick_suspicions(now);
    tick_seeds(now);
    tick_lost(now);
    tick_rumours(now);
}

/// After a stop, what was under way says nothing about the others.
void Membership::notice_pause(Instant now) {
    if (now - last_tick_ <= settings_.pause_threshold) {
        return;
    }
    ++counters_.pauses;
    last_tick_ = now;
    pings_.clear();
    probe_.reset();
    next_probe_ = now + settings_.probe_period;
    for (auto& [address, known] : members_) {
        if (known.suspicion) {
            known.suspicion->restart(now);
        }
    }
}

std::optional<gossip::Rejection> Membership::receive(const Origin& origin,
                                                     const gossip::Message& message, Instant now) {
    if (gone_) {
        return std::nullopt;
    }
    notice_pause(now);
    ByteReader reader(message.payload);
    std::optional<gossip::Rejection> rejection;
    switch (message.type) {
        case gossip::MessageType::ping:
            if (const Ping ping = decode_ping(reader); reader.ok()) {
                rejection = on_ping(origin, ping, now);
            }
            break;
        case gossip::MessageType::answer:
            if (const Answer answer = decode_answer(reader); reader.ok()) {
                rejection = on_answer(origin, answer, now);
            }
            break;
        case gossip::MessageType::ping_request:
            if (const PingRequest request = decode_ping_request(reader); reader.ok()) {
                on_ping_request(origin.sender, request, now);
            }
            break;
        case gossip::MessageType::indirect_answer:
        case gossip::MessageType::indirect_failure:
            if (const IndirectAnswer answer = decode_indirect_answer(reader); reader.ok()) {
                rejection = on_indirect(answer.nonce,
                                        message.type == gossip::MessageType::indirect_answer, now);
            }
            break;
        case gossip::MessageType::member_updates:
            while (reader.ok() && reader.remaining() > 0) {
                if (const MemberUpdate update = decode_member_update(reader); reader.ok()) {
                    apply(update, origin.sender, now);
                }
            }
            break;
        case gossip::MessageType::member_list_ask:
            if (const MemberListAsk ask = decode_member_list_ask(reader); reader.ok()) {
                send_list(origin.sender, ask.after);
            }
            break;
        case gossip::MessageType::member_list:
            if (const MemberList list = decode_member_list(reader); reader.ok()) {
                on_list(origin.sender, list, now);
            }
            break;
        case gossip::MessageType::obituary:
            if (const Obituary obituary = decode_obituary(reader);
                reader.ok() && obituary.dead == self_.incarnation) {
                renew(now, !larger_side());
            }
            break;
        default:
            return gossip::Rejection::unknown_message;
    }
    return reader.ok() ? rejection : gossip::Rejection::bad_message;
}

void Membership::heard(const gossip::MemberId& sender, Instant now) {
    if (Peer* known = peer(sender)) {
        known->member.last_heard = now;
    }
}

void Membership::met(const Origin& origin, Instant now) {
    if (gone_) {
        return;
    }
    if (origin.sender.address == self_.address) {
        conflict(origin.sender, now);
    } else {
        challenge(origin.sender, now);
    }
}

Standing Membership::standing(const gossip::MemberId& id) const {
    if (find(id) != nullptr) {
        return Standing::member;
    }
    return dead_.find(id) != nullptr ? Standing::dead : Standing::unknown;
}

void Membership::join(const gossip::MemberId& id, MemberFlags flags, std::uint64_t counter,
                      Instant now) {
    if (members_.size() >= kMaximumMembers) {
        ++counters_.refused_members;
        return;
    }
    members_[id.address] =
        Peer{{id, MemberState::alive, flags, counter, now, now, Duration::zero()}, now, {}};
    const auto place = static_cast<std::ptrdiff_t>(random_.below(probe_order_.size() + 1));
    probe_order_.insert(probe_order_.begin() + place, id.address);
    members_digest_ ^= member_hash(id, flags);
    report(MembershipEvent::Kind::joined, id);
    spread({id, MemberState::alive, flags, counter, 0});
    follow_size();
}

/// Who is not known yet may ask the more often, the more members there are already.
void Membership::follow_size() {
    const double more = settings_.open_answers_per_member * static_cast<double>(members_.size());
    const double answers =
        std::min(settings_.open_answers_limit, settings_.open_answers_per_second + more);
    open_answers_.resize({answers, answers});
}

void Membership::remove(gossip::MemberId id, MemberState cause, Instant now) {
    const auto found = members_.find(id.address);
    const std::uint64_t counter = found->second.member.counter;
    members_digest_ ^= member_hash(id, found->second.member.flags);
    suspects_.erase(id.address);
    members_.erase(found);
    seed_wait_ = settings_.seed_interval;
    std::erase(probe_order_, id.address);
    if (probe_ && probe_->target == id) {
        probe_.reset();
    }
    dead_.add({id, cause, now});
    follow_size();
    if (cause == MemberState::dead) {
        ++counters_.deaths;
        report(MembershipEvent::Kind::dead, id);
    } else {
        report(cause == MemberState::left ? MembershipEvent::Kind::left
                                          : MembershipEvent::Kind::replaced,
               id);
    }
    spread({id, cause, {}, counter, 0});
}

/// Somebody repeated the random number of a ping of ours: this incarnation lives, and lives there.
void Membership::prove(const gossip::MemberId& id, const Answer& answer, Instant asked,
                       Instant now) {
    if (id.address == self_.address) {
        conflict(id, now);
        return;
    }
    if (const DeadMember* dead = dead_.find(id)) {
        resolve_dead(DeadMember(*dead), now);
        return;
    }
    const auto found = members_.find(id.address);
    if (found != members_.end() && found->second.member.id == id) {
        found->second.member.last_heard = now;
        return;
    }
    if (found != members_.end() && asked <= found->second.met) {
        // It may have answered before the one that we know by now began. Who is there today?
        ping_seed(id.address, now);
        return;
    }
    if (found != members_.end()) {
        remove(found->second.member.id, MemberState::replaced, now);
    }
    join(id, answer.flags, answer.counter, now);
    if (answer.digest == 0) {  // it does not know us
        send_ping({PingKind::probe, id.address, id, {}, 0, {}, {}}, now);
    }
}

/// One that we had given up lives after all: one of the two must take a new incarnation.
void Membership::resolve_dead(const DeadMember& dead, Instant now) {
    if (dead.cause == MemberState::replaced) {
        conflict(dead.id, now);
        return;
    }
    if (dead.cause == MemberState::dead && !larger_side()) {
        renew(now, true);
        return;
    }
    Body body;
    body.add(gossip::MessageType::obituary, Obituary{dead.id.incarnation});
    datagrams_.push_back({dead.id.address, dead.id.incarnation, body.bytes()});
    if (dead.cause == MemberState::dead) {
        ask_lost(lost(), now);
    }
}

/// Whether those who live here are more than those given up; of equal halves the one with the
/// lowest address. Both sides of a healed split come to opposite answers. One that died again and
/// again is one.
bool Membership::larger_side() const {
    std::vector<Endpoint> lost;
    for (const DeadMember& dead : dead_.since(Instant::min())) {
        if (dead.cause == MemberState::dead && !members_.contains(dead.id.address) &&
            dead.id.address != self_.address) {
            lost.push_back(dead.id.address);
        }
    }
    std::sort(lost.begin(), lost.end());
    lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
    const std::size_t here = members_.size() + 1;
    if (here != lost.size()) {
        return here > lost.size();
    }
    const Endpoint lowest_here =
        members_.empty() ? self_.address : std::min(self_.address, members_.begin()->first);
    return lowest_here <= lost.front();
}

void Membership::renew(Instant now, bool forget_dead) {
    if (last_renewal_ && now - *last_renewal_ < settings_.renewal_interval) {
        return;
    }
    last_renewal_ = now;
    ++counters_.renewals;
    self_.incarnation = draw_incarnation(random_);
    counter_ = 0;
    pings_.clear();
    probe_.reset();
    rumours_.clear();
    std::vector<Endpoint> given_up = lost();
    if (forget_dead) {
        dead_.forget_silent();
    }
    report(MembershipEvent::Kind::renewed, self_);
    for (const gossip::MemberId& id : pick(kRenewalPings, self_.address)) {
        send_ping({PingKind::probe, id.address, id, {}, 0, {}, {}}, now);
    }
    ask_lost(std::move(given_up), now);
    next_seeds_ = now;
    seed_wait_ = settings_.seed_interval;
}

void Membership::report(MembershipEvent::Kind kind, const gossip::MemberId& member) {
    events_.push_back({kind, member});
}

void Membership::conflict(const gossip::MemberId& member, Instant now) {
    ++counters_.conflicts;
    if (now >= next_conflict_) {
        next_conflict_ = now + std::chrono::seconds(1);
        report(MembershipEvent::Kind::conflict, member);
    }
}

std::uint64_t Membership::member_hash(const gossip::MemberId& id, MemberFlags flags) {
    std::uint64_t hash = mix(id.incarnation ^ id.address.port);
    for (std::uint8_t byte : id.address.address) {
        hash = mix(hash + byte);
    }
    return mix(hash + (flags.leaving ? 1 : 0) + (flags.anchor ? 2 : 0));
}

std::uint64_t Membership::digest() const {
    const std::uint64_t all = member_hash(self_, flags_) ^ members_digest_;
    return std::max<std::uint64_t>(all, 1);  // 0 means: not told
}

const Member* Membership::find(const gossip::MemberId& id) const {
    const auto found = members_.find(id.address);
    return found != members_.end() && found->second.member.id == id ? &found->second.member
                                                                    : nullptr;
}

const Member* Membership::find(const Endpoint& address) const {
    const auto found = members_.find(address);
    return found != members_.end() ? &found->second.member : nullptr;
}

Membership::Peer* Membership::peer(const gossip::MemberId& id) {
    const auto found = members_.find(id.address);
    return found != members_.end() && found->second.member.id == id ? &found->second : nullptr;
}

/// Random different live members.
std::vector<gossip::MemberId> Membership::pick(std::size_t count, const Endpoint& except) {
    const auto excepted = members_.find(except);
    const std::size_t gap = members_.index_of(excepted);
    const std::size_t size = members_.size() - (excepted != members_.end() ? 1 : 0);
    count = std::min(count, size);
    // A shuffle's first steps; `moved` holds the few places that no longer hold their own number.
    std::map<std::size_t, std::size_t> moved;
    const auto at = [&moved](std::size_t place) {
        const auto found = moved.find(place);
        return found != moved.end() ? found->second : place;
    };
    std::vector<gossip::MemberId> picked;
    picked.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = i + random_.below(size - i);
        const std::size_t index = at(place);
        moved[place] = at(i);
        picked.push_back(members_.nth(index < gap ? index : index + 1)->second.member.id);
    }
    return picked;
}

std::uint32_t Membership::rumour_limit() const {
    const double members = static_cast<double>(members_.size() + 1);
    return settings_.rumour_factor *
           static_cast<std::uint32_t>(std::max(1.0, std::ceil(std::log10(members + 1))));
}

MemberUpdate Membership::own_update(MemberState state) const {
    return {self_, state, flags_, counter_, 0};
}

void Membership::begin_leaving(Instant) {
    flags_.leaving = true;
    ++counter_;
    spread(own_update(MemberState::alive));
}

void Membership::goodbye(Instant) {
    for (const gossip::MemberId& id : pick(kGoodbyes, self_.address)) {
        Body body;
        body.add(gossip::MessageType::member_updates, own_update(MemberState::left));
        datagrams_.push_back({id.address, id.incarnation, body.bytes()});
    }
    gone_ = true;
}

std::vector<MembershipDatagram> Membership::take_datagrams() {
    std::vector<MembershipDatagram> bodies = std::exchange(datagrams_, {});
    std::stable_partition(bodies.begin(), bodies.end(), begins_with_answer);
    std::vector<MembershipDatagram> merged;
    std::map<std::tuple<Endpoint, gossip::Incarnation, Urgency>, std::size_t> places;
    for (MembershipDatagram& body : bodies) {
        const auto [place, first] =
            places.try_emplace({body.to, body.receiver, body.urgency}, merged.size());
        if (first || body.receiver == 0 ||
            merged[place->second].body.size() + body.body.size() > gossip::kMaximumBody) {
            place->second = merged.size();
            merged.push_back(std::move(body));
            continue;
        }
        std::vector<std::byte>& shared = merged[place->second].body;
        shared.insert(shared.end(), body.body.begin(), body.body.end());
    }
    return merged;
}
std::vector<MembershipEvent> Membership::take_events() { return std::exchange(events_, {}); }

std::vector<Member> Membership::live() const {
    std::vector<Member> result;
    result.reserve(members_.size());
    for (const auto& [address, known] : members_) {
        result.push_back(known.member);
    }
    return result;
}

std::vector<Member> Membership::recently_gone(Instant now) const {
    std::vector<Member> result;
    for (const DeadMember& dead : dead_.since(now - std::chrono::minutes(1))) {
        Member member;
        member.id = dead.id;
        member.state = dead.cause;
        member.since = dead.since;
        result.push_back(member);
    }
    return result;
}

}  // namespace weir::membership
