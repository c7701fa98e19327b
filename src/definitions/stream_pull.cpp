// The side that asks for definitions. Part of stream.h.

#include <utility>

#include "base/assert.h"
#include "definitions/messages.h"
#include "definitions/store.h"
#include "definitions/stream.h"
#include "gossip/wire.h"

namespace weir::definitions {
namespace {

void write_member(ByteWriter& writer, const gossip::MemberId& member) {
    gossip::encode(writer, member.address);
    writer.u64(member.incarnation);
}

}  // namespace

DefinitionPull::DefinitionPull(BulkContext context, BulkWish wish)
    : DefinitionStream(std::move(context), false), wish_(std::move(wish)) {}

std::optional<DefinitionStream::Type> DefinitionPull::write(ByteWriter& writer, Instant) {
    if (!std::exchange(greeted_, true)) {
        write_member(writer, context().self);
        writer.u64(wish_.from.incarnation);
        return Type::hello;
    }
    if (!welcome_ || std::exchange(asked_, true)) {
        return std::nullopt;
    }
    write_question(writer);
    return wish_.document ? Type::ask_document : Type::ask_overrides;
}

void DefinitionPull::write_question(ByteWriter& writer) const {
    if (wish_.document) {
        writer.string(wish_.document->set);
        writer.varint(wish_.document->generation);
        writer.u64(wish_.document->content);
        return;
    }
    const DefinitionMap& map = context().store->overrides();
    const auto writers = wish_.only_newer ? map.writers() : std::vector<Version>();
    WEIR_ASSERT(writers.size() <= DefinitionMap::kWriters);
    writer.u8(static_cast<std::uint8_t>(writers.size()));
    for (const Version& version : writers) {
        encode(writer, version);
    }
    for (std::size_t partition = 0; partition < DefinitionMap::kPartitions; ++partition) {
        for (const std::uint32_t hash : shorten(map.slot_hashes(partition))) {
            writer.u32(hash);
        }
    }
    WEIR_ASSERT(writer.ok());  // a question is much shorter than a frame
}

bool DefinitionPull::on_message(Type type, ByteReader& reader, Instant now) {
    if (type == Type::welcome && !welcome_) {
        welcome_ = reader.u64() == wish_.from.incarnation && reader.ok();
        return welcome_;
    }
    if (!asked_ || done_) {
        return false;
    }
    if (type == Type::entries && !wish_.document) {
        while (reader.ok() && reader.remaining() > 0) {
            DefinitionEntry entry = decode_entry(reader, now);
            if (reader.ok()) {
                static_cast<void>(context().store->merge(std::move(entry), now));
            }
        }
        return reader.ok();
    }
    if (type == Type::document && wish_.document) {
        const ByteSpan piece = reader.bytes(reader.remaining());
        if (document_.size() + piece.size() > context().most_bytes) {
            return false;
        }
        document_.insert(document_.end(), piece.begin(), piece.end());
        WEIR_ASSERT(document_.size() <= context().most_bytes);
        return true;
    }
    if (type == Type::end) {
        done_ = true;
        good_ = reader.u8() == 0 && reader.ok();
        return true;
    }
    return false;
}

}  // namespace weir::definitions
