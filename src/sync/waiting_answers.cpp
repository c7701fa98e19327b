#include "sync/waiting_answers.h"

#include <array>

namespace weir::sync {

void WaitingAnswers::send(const gossip::MemberId& to, const QuietAnswer& answer) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    encode(writer, answer);
    if (!writer.ok() || !sink_.send(to, gossip::MessageType::quiet_answer, writer.written())) {
        ++dropped_;
    }
}

}  // namespace weir::sync
