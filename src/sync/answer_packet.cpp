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

bool AnswerPacket::add(const gossip::MemberId& to, const TotalEntry& entry) {
    if (answered_ || to != to_ || entry.key != said_.key) {
        return false;
    }
    append(entry);
    answered_ = true;
    return true;
}

void AnswerPacket::append(const std::optional<TotalEntry>& entry) {
    EntryBuffer buffer;
    ByteWriter writer(buffer);
    encode_answer(writer, said_, entry);
    WEIR_ASSERT(writer.ok());
    if (payload_.size() + writer.size() > gossip::kMaximumPayload) {
        send();
        begin();
    }
    append_bytes(payload_, writer.written());
    WEIR_ASSERT(payload_.size() <= gossip::kMaximumPayload);
}

void AnswerPacket::next() {
    if (!answered_) {
        append(std::nullopt);
    }
    answered_ = false;
    ++index_;
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
