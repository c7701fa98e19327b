#include "membership/outbox.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace weir::membership {
namespace {

bool begins_with_answer(const MembershipDatagram& datagram) {
    ByteReader reader(datagram.body);
    const auto message = gossip::next_message(reader);
    return message && message->type == gossip::MessageType::answer;
}

}  // namespace

void Outbox::add(const gossip::MemberId& to, const DatagramBody& body, Urgency urgency) {
    WEIR_ASSERT(body.size() > 0);
    datagrams_.push_back({to.address, to.incarnation, body.bytes(), urgency});
}

void Outbox::add(const gossip::MemberId& to, const DatagramBody& body) {
    add(to, body, Urgency::now);
}

void Outbox::add_open(const Endpoint& to, const DatagramBody& ping) {
    add({to, 0}, ping, Urgency::now);
}

std::vector<MembershipDatagram> Outbox::take() {
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
        MembershipDatagram& before = merged[place->second];
        WEIR_ASSERT(before.to == body.to && before.receiver == body.receiver);
        std::vector<std::byte>& shared = before.body;
        shared.insert(shared.end(), body.body.begin(), body.body.end());
        WEIR_ASSERT(shared.size() <= gossip::kMaximumBody);
    }
    return merged;
}

}  // namespace weir::membership
