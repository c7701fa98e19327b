#include "membership/renewal.h"

#include <utility>
#include <vector>

namespace weir::membership {
namespace {

/// How many members hear of a new incarnation from this process itself.
constexpr std::size_t kRenewalPings = 16;

}  // namespace

void Renewal::on_obituary(const Obituary& obituary, Instant now) {
    if (obituary.dead == context_.self.id().incarnation) {
        renew(!census_.larger_side(), now);
    }
}

void Renewal::resolve(const DeadMember& dead, Instant now) {
    WEIR_ASSERT(is_gone(dead.cause));
    WEIR_ASSERT(members_.find(dead.id) == nullptr);
    if (dead.cause == MemberState::replaced) {
        context_.events.conflict(dead.id, now);
        return;
    }
    if (dead.cause == MemberState::left) {
        send_obituary(dead.id);
        return;
    }
    if (!census_.larger_side()) {
        renew(true, now);
        return;
    }
    send_obituary(dead.id);
    search_.ask_lost(census_.lost(), now);
}

void Renewal::send_obituary(const gossip::MemberId& dead) {
    DatagramBody body;
    body.add(gossip::MessageType::obituary, Obituary{dead.incarnation});
    context_.outbox.add(dead, body);
}

void Renewal::renew(bool forget_silent, Instant now) {
    if (last_ && now - *last_ < context_.settings.renewal_interval) {
        return;
    }
    last_ = now;
    ++context_.events.counters().renewals;
    context_.self.renew(context_.random);
    pings_.forget_all();
    prober_.forget_probe();
    dissemination_.forget_all();
    std::vector<Endpoint> given_up = census_.lost();
    if (forget_silent) {
        dead_.forget_silent();
    }
    context_.events.report(MembershipEvent::Kind::renewed, context_.self.id());
    for (const gossip::MemberId& id :
         members_.pick(kRenewalPings, context_.self.address(), context_.random)) {
        pings_.probe(id, now);
    }
    search_.ask_lost(std::move(given_up), now);
    search_.restart(now);
}

}  // namespace weir::membership
