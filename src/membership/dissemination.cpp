#include "membership/dissemination.h"

#include <algorithm>
#include <cmath>

namespace weir::membership {

void Dissemination::spread(const MemberUpdate& update) {
    WEIR_ASSERT(update.id.incarnation != 0);
    const bool tells = context_.settings.lists || update.id == context_.self.id();
    if (tells && rumours_.add(update)) {
        ++context_.events.counters().dropped_rumours;
    }
}

std::uint32_t Dissemination::times_told() const {
    const double members = static_cast<double>(members_.size() + 1);
    return context_.settings.rumour_factor *
           static_cast<std::uint32_t>(std::max(1.0, std::ceil(std::log10(members + 1))));
}

void Dissemination::write(DatagramBody& body, std::size_t room) {
    WEIR_ASSERT(room <= body.room());
    const std::size_t before = body.size();
    rumours_.write(body.writer(), room, times_told());
    WEIR_ASSERT(body.size() <= before + room);
}

void Dissemination::tick(Instant now) {
    if (now < next_ || rumours_.empty() || members_.empty()) {
        return;
    }
    next_ = now + context_.settings.rumour_interval;
    const std::size_t fanout = context_.settings.rumour_fanout;
    for (const gossip::MemberId& id :
         members_.pick(fanout, context_.self.address(), context_.random)) {
        DatagramBody body;
        write(body, body.room());
        if (body.size() > 0) {
            context_.outbox.add(id, body, Urgency::news);
        }
    }
}

}  // namespace weir::membership
