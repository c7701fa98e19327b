#include "membership/responder.h"

#include <algorithm>

namespace weir::membership {
namespace {

gossip::BudgetSettings per_second(double amount) { return {amount, amount}; }

}  // namespace

Responder::Responder(Context& context, const MemberTable& members, const Census& census,
                     Dissemination& dissemination, MemberLists& lists, Pings& pings)
    : context_(context),
      members_(members),
      census_(census),
      dissemination_(dissemination),
      lists_(lists),
      pings_(pings),
      answers_(per_second(context.settings.answers_per_second)),
      open_answers_(per_second(context.settings.open_answers_per_second)),
      news_(per_second(context.settings.answered_news_per_second)) {}

/// Unknown senders may ask more often the more members there are already.
bool Responder::may_answer(bool to_member, Instant now) {
    if (to_member) {
        return answers_.take(1, now);
    }
    const MembershipSettings& settings = context_.settings;
    const double more = settings.open_answers_per_member * static_cast<double>(members_.size());
    open_answers_.resize(
        per_second(std::min(settings.open_answers_limit, settings.open_answers_per_second + more)));
    return open_answers_.take(1, now);
}

std::optional<gossip::DatagramRejection> Responder::on_ping(const MessageOrigin& origin,
                                                            const Ping& ping, Instant now) {
    const bool trusted = origin.addressed && members_.find(origin.sender) != nullptr;
    if (!may_answer(trusted, now)) {
        return gossip::DatagramRejection::ping_limit;
    }
    const Self& self = context_.self;
    DatagramBody body;
    body.add(gossip::MessageType::answer,
             PingAnswer{ping.nonce, trusted ? lists_.digest() : 0, self.flags(), self.counter()});
    if (body.size() > origin.answer_room) {
        return gossip::DatagramRejection::amplification;
    }
    if (trusted) {
        lists_.compare(origin.sender, ping.digest, now);
        add_rumours(body, origin.answer_room, now);
    } else {
        challenge_back(origin, body, now);
    }
    WEIR_ASSERT(body.size() <= origin.answer_room);
    context_.outbox.add({origin.from, origin.sender.incarnation}, body,
                        trusted ? Urgency::now : Urgency::greeting);
    return std::nullopt;
}

/// Adds few rumours to the answer: most travel with pings or in separate datagrams.
void Responder::add_rumours(DatagramBody& answer, std::size_t answer_room, Instant now) {
    WEIR_ASSERT(answer.size() <= answer_room);
    const std::size_t room = std::min(answer_room - answer.size(), answer.room());
    if (!dissemination_.idle() && news_.take(room, now)) {
        dissemination_.write(answer, room);
    }
}

/// A sender that does not know this process wants to become a member, so a ping of this process
/// goes along with the answer; but only if the ping came from the address that it claims.
void Responder::challenge_back(const MessageOrigin& origin, DatagramBody& answer, Instant now) {
    const gossip::MemberId& asker = origin.sender;
    const bool wanted = origin.from == asker.address && asker.address != context_.self.address() &&
                        census_.standing(asker) == Standing::unknown &&
                        answer.size() + kBarePing <= origin.answer_room;
    if (wanted) {
        pings_.challenge_along(asker, answer, now);
    }
}

void Responder::on_ping_request(const gossip::MemberId& sender, const PingRequest& request,
                                Instant now) {
    if (request.target != context_.self.id()) {
        pings_.favour(sender, request, now);
    }
}

}  // namespace weir::membership
