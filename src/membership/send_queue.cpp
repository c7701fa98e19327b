#include "membership/send_queue.h"

#include <span>

#include "base/assert.h"

namespace weir::membership {

bool SendQueue::add(const gossip::MemberId& to, gossip::MessageType type, ByteSpan payload) {
    const std::size_t size = gossip::message_size(payload.size());
    if (size > gossip::kMaximumBody || bytes_ + size > maximum_bytes_) {
        return false;
    }
    LaneQueue& lane = lanes_[static_cast<std::size_t>(gossip::lane_of(type))];
    std::vector<std::byte>& body = body_with_room(lane, to, size);
    const std::size_t before = body.size();
    body.resize(before + size);
    ByteWriter writer{std::span(body).subspan(before)};
    gossip::write_message(writer, type, payload);
    WEIR_ASSERT(writer.ok() && writer.remaining() == 0);
    lane.bytes += size;
    bytes_ += size;
    WEIR_ASSERT(bytes_ <= maximum_bytes_);
    return true;
}

std::vector<std::byte>& SendQueue::body_with_room(LaneQueue& lane, const gossip::MemberId& to,
                                                  std::size_t size) {
    const auto [open, first] = lane.open.try_emplace(to, lane.bodies.size());
    if (first || lane.bodies[open->second].bytes.size() + size > gossip::kMaximumBody) {
        open->second = lane.bodies.size();
        lane.bodies.push_back({to, {}});
    }
    Body& body = lane.bodies[open->second];
    WEIR_ASSERT(body.to == to);
    return body.bytes;
}

const std::vector<SendQueue::Body>& SendQueue::bodies(gossip::Lane lane) const {
    const auto index = static_cast<std::size_t>(lane);
    WEIR_ASSERT(index < lanes_.size());
    return lanes_[index].bodies;
}

std::size_t SendQueue::bytes(gossip::Lane lane) const {
    const auto index = static_cast<std::size_t>(lane);
    WEIR_ASSERT(index < lanes_.size());
    return lanes_[index].bytes;
}

void SendQueue::clear() {
    for (LaneQueue& lane : lanes_) {
        for (const Body& body : lane.bodies) {
            WEIR_ASSERT(body.bytes.size() <= bytes_);
            bytes_ -= body.bytes.size();
        }
        lane.bodies.clear();
        lane.bytes = 0;
        lane.open.clear();
    }
    WEIR_ASSERT(bytes_ == 0);
}

}  // namespace weir::membership
