#include "sync/answer_packet.h"

#include <array>
#include <optional>

#include "base/assert.h"

namespace weir::sync {
namespace {

using EntryBuffer = std::array<std::byte, kMaximumEntrySize>;

void append_bytes(std::vector<std::byte>& to, ByteSpan bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

AnswerPacket::AnswerPacket(gossip::MessageSink& sink, const gossip::MemberId& to, std::uint16_t tag,
                           std::uint64_t& dropped)
    : sink_(sink), to_(to), tag_(tag), dropped_(dropped) {
    begin();
}

void AnswerPacket::begin() {
    std::array<std::byte, 13> head;
    ByteWriter writer(head);
    write_answer_head(writer, {tag_, index_});
    WEIR_ASSERT(writer.ok());
    payload_.clear();
    append_bytes(payload_, writer.written());
    begin_size_ = payload_.size();
}

void AnswerPacket::add(const SaidCounts& said, const std::optional<TotalEntry>& total) {
    EntryBuffer buffer;
    ByteWriter writer(buffer);
    encode_answer(writer, said, total);
    WEIR_ASSERT(writer.ok());
    if (payload_.size() + writer.size() > gossip::kMaximumPayload) {
        send();
        begin();
    }
    append_bytes(payload_, writer.written());
    ++index_;
    WEIR_ASSERT(payload_.size() <= gossip::kMaximumPayload);
}

void AnswerPacket::send() {
    WEIR_ASSERT(payload_.size() >= begin_size_);
    if (payload_.size() == begin_size_) {
        return;
    }
    if (!sink_.send(to_, gossip::MessageType::delta_answer, payload_)) {
        ++dropped_;
    }
}

}  // namespace weir::sync
