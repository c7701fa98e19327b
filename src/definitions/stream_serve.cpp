// The side that sends definitions. Part of stream.h.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "definitions/messages.h"
#include "definitions/store.h"
#include "definitions/stream.h"
#include "gossip/wire.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;

constexpr std::size_t kDocumentPiece = 60'000;
/// From this number of differing slots on, a puller gets entries in the order of their names. Its
/// tree then grows at one end, which takes half of the time that the order of hashes takes.
constexpr std::size_t kMostlyDifferent = DefinitionMap::kAllSlots / 4 * 3;
/// After this number of names has been looked at for a frame, which takes some milliseconds of the
/// control thread, the frame is sent even if it is not full: most names may be known to the other
/// side or have no override.
constexpr std::size_t kLookedAtForFrame = 4096;

MemberId read_member(ByteReader& reader) {
    MemberId member;
    member.address = gossip::decode_endpoint(reader);
    member.incarnation = reader.u64();
    return member;
}

}  // namespace

DefinitionServe::DefinitionServe(BulkContext context)
    : DefinitionStream(std::move(context), true) {}

bool DefinitionServe::on_message(Type type, ByteReader& reader, Instant) {
    if (type == Type::hello && !greeted_) {
        return on_hello(reader);
    }
    if (!welcomed_ || answering_ || ++questions_ > kMostQuestions) {
        return false;
    }
    if (type == Type::ask_overrides) {
        return on_ask_overrides(reader);
    }
    return type == Type::ask_document && on_ask_document(reader);
}

bool DefinitionServe::on_hello(ByteReader& reader) {
    const MemberId from = read_member(reader);
    const std::uint64_t receiver = reader.u64();
    greeted_ = reader.ok() && receiver == context().self.incarnation && context().is_member(from);
    return greeted_;
}

bool DefinitionServe::on_ask_overrides(ByteReader& reader) {
    known_.clear();
    slots_.clear();
    const std::uint8_t writers = reader.u8();
    if (writers > DefinitionMap::kWriters) {
        return false;
    }
    for (std::uint8_t i = 0; i < writers; ++i) {
        known_.push_back(decode_version(reader));
    }
    ShortHashes own{};
    for (std::size_t i = 0; i < DefinitionMap::kAllSlots; ++i) {
        if (i % DefinitionMap::kSlots == 0) {
            own = shorten(context().store->overrides().slot_hashes(i / DefinitionMap::kSlots));
        }
        if (reader.u32() != own[i % DefinitionMap::kSlots]) {
            slots_.push_back(static_cast<std::uint16_t>(i));
        }
    }
    WEIR_ASSERT(slots_.size() <= DefinitionMap::kAllSlots &&
                known_.size() <= DefinitionMap::kWriters);
    std::reverse(slots_.begin(), slots_.end());
    in_order_ = without_sent_ = slots_.size() >= kMostlyDifferent;
    after_.clear();
    answering_ = found_ = true;
    document_.reset();
    return reader.ok();
}

bool DefinitionServe::on_ask_document(ByteReader& reader) {
    const std::string set(reader.string(kMaximumSetName));
    const std::uint64_t generation = reader.varint();
    const std::uint64_t content = reader.u64();
    if (!reader.ok()) {
        return false;
    }
    found_ = false;
    for (const SetStatus& status : context().store->sets()) {
        found_ = found_ || (status.set == set && status.generation == generation &&
                            status.content_hash == content);
    }
    document_ = found_ ? context().store->document_bytes(set) : nullptr;
    found_ = document_ != nullptr;
    slots_.clear();
    at_ = 0;
    answering_ = true;
    return true;
}

bool DefinitionServe::known(const Version& version) const {
    return std::any_of(known_.begin(), known_.end(), [&](const Version& known) {
        return known.writer == version.writer && known.epoch >= version.epoch;
    });
}

std::optional<DefinitionStream::Type> DefinitionServe::write(ByteWriter& writer, Instant now) {
    if (greeted_ && !std::exchange(welcomed_, greeted_)) {
        writer.u64(context().self.incarnation);
        return Type::welcome;
    }
    WEIR_ASSERT(!answering_ || (greeted_ && welcomed_ && questions_ <= kMostQuestions));
    if (!answering_) {
        return std::nullopt;
    }
    if (document_ != nullptr && at_ < document_->size()) {
        const std::size_t size = std::min(kDocumentPiece, document_->size() - at_);
        writer.bytes(ByteSpan(*document_).subspan(at_, size));
        at_ += size;
        WEIR_ASSERT(writer.ok() && at_ <= document_->size());
        return Type::document;
    }
    if (!slots_.empty() && write_entries(writer, now)) {
        return Type::entries;
    }
    answering_ = false;
    document_.reset();
    ++context().counters->served;
    writer.u8(found_ ? 0 : 1);
    return Type::end;
}

/// Writes one entry. False when there is no room for it.
bool DefinitionServe::write_entry(ByteWriter& writer, const DefinitionEntry& entry, Instant now) {
    if (writer.remaining() < kMaximumStoredEntry) {
        return false;
    }
    after_ = entry.name;
    if (!known(entry.version)) {
        encode(writer, entry, now);
    }
    return true;
}

void DefinitionServe::write_in_order(ByteWriter& writer, Instant now) {
    const std::string from = after_;
    const auto reached = context().store->for_each_override(
        from, kLookedAtForFrame,
        [&](const DefinitionEntry& entry) { return write_entry(writer, entry, now); });
    in_order_ = reached.has_value();
    after_ = reached.value_or(std::string());
}

/// Writes as many entries as fit into a frame, perhaps none. False when none are left.
bool DefinitionServe::write_entries(ByteWriter& writer, Instant now) {
    WEIR_ASSERT(!slots_.empty());
    const DefinitionMap& map = context().store->overrides();
    if (in_order_) {
        write_in_order(writer, now);
        return true;
    }
    bool full = false;
    std::size_t looked_at = 0;
    while (!slots_.empty() && !full) {
        const std::uint16_t slot = slots_.back();
        WEIR_ASSERT(slot < DefinitionMap::kAllSlots);
        map.for_each_in_slot(
            slot / DefinitionMap::kSlots, slot % DefinitionMap::kSlots,
            [&](const DefinitionEntry& entry) {
                full = looked_at++ == kLookedAtForFrame;
                if (full) {
                    return false;
                }
                if (without_sent_ && entry.kind == EntryKind::set && entry.in_force(now)) {
                    after_ = entry.name;
                    return true;
                }
                full = !write_entry(writer, entry, now);
                return !full;
            },
            after_);
        if (!full) {
            slots_.pop_back();
            after_.clear();
        }
    }
    return writer.size() > 0 || !slots_.empty();
}

}  // namespace weir::definitions
