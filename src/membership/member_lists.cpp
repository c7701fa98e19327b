#include "membership/member_lists.h"

#include <algorithm>

namespace weir::membership {
namespace {

/// A process that knows at most one other member asks more often, because its first list may get
/// lost.
constexpr Duration kFirstListInterval = std::chrono::milliseconds(200);

}  // namespace

std::uint64_t MemberLists::digest() const {
    const Self& self = context_.self;
    const std::uint64_t all = member_hash(self.id(), self.flags()) ^ members_.hash();
    return std::max<std::uint64_t>(all, 1);
}

void MemberLists::compare(const gossip::MemberId& sender, std::uint64_t theirs, Instant now) {
    if (!context_.settings.lists || theirs == 0 || theirs == digest() || now < next_ask_) {
        return;
    }
    next_ask_ = now + (members_.size() < 2 ? kFirstListInterval : context_.settings.list_interval);
    ask(sender, {});
}

void MemberLists::ask(const gossip::MemberId& sender, const Endpoint& after) {
    WEIR_ASSERT(sender.incarnation != 0);
    DatagramBody body;
    body.add(gossip::MessageType::member_list_ask, MemberListAsk{after});
    context_.outbox.add(sender, body);
}

void MemberLists::send(const gossip::MemberId& to, const Endpoint& after) {
    std::size_t room = gossip::kMaximumPayload - 2;  // the head of the message
    MemberList list;
    // This member comes first on the first page, then the others by address.
    if (after == Endpoint{}) {
        list.members.push_back(context_.self.update(MemberState::alive));
        room -= encoded_size(list.members.back());
    }
    const Peer* next = members_.next(after);
    while (next != nullptr) {
        const Member& member = next->member;
        const MemberUpdate update{member.id, MemberState::alive, member.flags, member.counter, 0};
        const std::size_t size = encoded_size(update);
        if (size > room) {
            break;
        }
        list.members.push_back(update);
        room -= size;
        next = members_.next(member.id.address);
    }
    list.more = next != nullptr;
    WEIR_ASSERT(!list.more || !list.members.empty());
    DatagramBody body;
    body.add(gossip::MessageType::member_list, list);
    context_.outbox.add(to, body, Urgency::list);
}

}  // namespace weir::membership
