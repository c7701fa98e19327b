#include "membership/self.h"

#include "base/assert.h"

namespace weir::membership {
namespace {

gossip::Incarnation draw_incarnation(Random& random) {
    gossip::Incarnation incarnation = 0;
    while (incarnation == 0) {
        incarnation = random.next();
    }
    return incarnation;
}

}  // namespace

Self::Self(const Endpoint& address, MemberFlags flags, Random& random)
    : id_{address, draw_incarnation(random)}, flags_(flags) {}

MemberUpdate Self::update(MemberState state) const {
    WEIR_ASSERT(id_.incarnation != 0);
    return {id_, state, flags_, counter_, 0};
}

void Self::refute(std::uint64_t counter) {
    WEIR_ASSERT(counter >= counter_);
    counter_ = counter + 1;
}

void Self::begin_leaving() {
    flags_.leaving = true;
    ++counter_;
}

void Self::renew(Random& random) {
    id_.incarnation = draw_incarnation(random);
    counter_ = 0;
}

}  // namespace weir::membership
