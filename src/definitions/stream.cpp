#include "definitions/stream.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/planted.h"
#include "gossip/wire.h"

namespace weir::definitions {
namespace {

constexpr std::size_t kFrameLength = 4;
/// The bytes before the content of a frame: cluster, both numbers, direction, counter, type.
constexpr std::size_t kStreamEnvelope = 4 + 8 + 8 + 1 + 4 + 1;
}  // namespace

DefinitionStream::DefinitionStream(BulkContext context, bool server)
    : context_(std::move(context)), server_(server) {
    WEIR_ASSERT(context_.store != nullptr && context_.sealer != nullptr);
    WEIR_ASSERT(context_.counters != nullptr && (!server_ || context_.is_member));
}

bool DefinitionStream::receive(ByteSpan bytes, Instant now) {
    while (!bytes.empty()) {
        // Reads up to the length, then up to the end of the frame, so that at most one frame is
        // kept.
        const auto length = [&]() -> std::size_t {
            return ByteReader(ByteSpan(input_).first(kFrameLength)).u32();
        };
        const std::size_t wanted = input_.size() < kFrameLength
                                       ? kFrameLength - input_.size()
                                       : kFrameLength + length() - input_.size();
        const std::size_t taken = std::min(wanted, bytes.size());
        input_.insert(input_.end(), bytes.begin(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(taken));
        bytes = bytes.subspan(taken);
        if (input_.size() < kFrameLength) {
            continue;
        }
        if (length() > gossip::kMaximumFrame || length() == 0) {
            ++context_.counters->frames_refused;
            return false;
        }
        if (input_.size() == kFrameLength + length()) {
            if (!take(ByteSpan(input_).subspan(kFrameLength), now)) {
                ++context_.counters->frames_refused;
                return false;
            }
            input_.clear();
        }
    }
    return true;
}

bool DefinitionStream::take(ByteSpan frame, Instant now) {
    const gossip::Sealer::Opened opened = context_.sealer->open_frame(frame);
    if (opened.rejection) {
        return false;
    }
    ByteReader reader(opened.content);
    const std::uint32_t cluster = reader.u32();
    const std::uint64_t asker = reader.u64();
    const std::uint64_t answerer = reader.u64();
    const bool from_server = reader.u8() == 1;
    const std::uint32_t counter = reader.u32();
    const auto type = static_cast<Type>(reader.u8());
    const bool in_order = counter == received_ || planted(Planted::frame_replay);
    if (!reader.ok() || cluster != context_.cluster || from_server == server_ || !in_order) {
        return false;
    }
    const std::uint64_t own = server_ ? answerer : asker;
    const std::uint64_t others = server_ ? asker : answerer;
    if (other_number_ == 0) {
        // In the first frame of the puller the server's number is not known yet; in the server's
        // first frame the puller's number must be right.
        if (others == 0 || own != (server_ ? 0 : context_.number)) {
            return false;
        }
        other_number_ = others;
    } else if (others != other_number_ || own != context_.number) {
        return false;
    }
    ++received_;
    ++context_.counters->frames_in;
    return on_message(type, reader, now);
}

std::vector<std::byte> DefinitionStream::next(Instant now) {
    std::vector<std::byte> content(gossip::kMaximumFrameContent);
    ByteWriter payload{std::span<std::byte>(content).subspan(kStreamEnvelope)};
    const std::optional<Type> type = write(payload, now);
    if (!type) {
        return {};
    }
    ByteWriter envelope(content);
    envelope.u32(context_.cluster);
    envelope.u64(server_ ? other_number_ : context_.number);
    envelope.u64(server_ ? context_.number : other_number_);
    envelope.u8(server_ ? 1 : 0);
    envelope.u32(sent_++);
    envelope.u8(static_cast<std::uint8_t>(*type));
    const auto sealed =
        context_.sealer->seal_frame(ByteSpan(content).first(kStreamEnvelope + payload.size()));
    std::vector<std::byte> frame(kFrameLength + sealed.size());
    ByteWriter writer(frame);
    writer.u32(static_cast<std::uint32_t>(sealed.size()));
    writer.bytes(sealed);
    ++context_.counters->frames_out;
    return frame;
}

}  // namespace weir::definitions
