#include "definitions/stream.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "definitions/messages.h"
#include "definitions/store.h"
#include "gossip/wire.h"

namespace weir::definitions {
namespace {

using gossip::MemberId;

constexpr std::size_t kLength = 4;
/// Cluster, both numbers, direction, counter, type.
constexpr std::size_t kStreamEnvelope = 4 + 8 + 8 + 1 + 4 + 1;
constexpr std::size_t kAllLeaves = DefinitionMap::kBuckets * DefinitionMap::kLeaves;
constexpr std::size_t kDocumentPiece = 60'000;
/// Whoever lacks so many leaves lacks most: it takes entries in the order of their names, in which
/// its tree grows at one end, in half of the time that it needs for the order of hashes.
constexpr std::size_t kMostlyDifferent = kAllLeaves / 4 * 3;
/// A frame is sent as it is when so many were looked at for it, some milliseconds of the control
/// thread: most may be known to the other side, or none of an override.
constexpr std::size_t kLookedAtForFrame = 4096;

void write_member(ByteWriter& writer, const MemberId& member) {
    gossip::encode(writer, member.address);
    writer.u64(member.incarnation);
}

MemberId read_member(ByteReader& reader) {
    MemberId member;
    member.address = gossip::decode_endpoint(reader);
    member.incarnation = reader.u64();
    return member;
}

std::uint32_t leaf_hash(const DefinitionMap::Hashes& hashes, std::size_t leaf) {
    return static_cast<std::uint32_t>(hashes[leaf]);
}

}  // namespace

// --- both sides ---------------------------------------------------------------------------------

DefinitionStream::DefinitionStream(BulkContext context, bool server)
    : context_(std::move(context)), server_(server) {}

bool DefinitionStream::receive(ByteSpan bytes, Instant now) {
    while (!bytes.empty()) {
        // Up to the length, then up to the frame's end: never more than one frame is kept.
        const auto length = [&]() -> std::size_t {
            return ByteReader(ByteSpan(input_).first(kLength)).u32();
        };
        const std::size_t wanted =
            input_.size() < kLength ? kLength - input_.size() : kLength + length() - input_.size();
        const std::size_t taken = std::min(wanted, bytes.size());
        input_.insert(input_.end(), bytes.begin(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(taken));
        bytes = bytes.subspan(taken);
        if (input_.size() < kLength) {
            continue;
        }
        if (length() > gossip::kMaximumFrame || length() == 0) {
            ++context_.counters->frames_refused;
            return false;
        }
        if (input_.size() == kLength + length()) {
            if (!take(ByteSpan(input_).subspan(kLength), now)) {
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
        // The first frame of each side: the puller cannot know ours, the server must.
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
    std::vector<std::byte> frame(kLength + sealed.size());
    ByteWriter writer(frame);
    writer.u32(static_cast<std::uint32_t>(sealed.size()));
    writer.bytes(sealed);
    ++context_.counters->frames_out;
    return frame;
}

// --- the side that asks -------------------------------------------------------------------------

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
    writer.u8(static_cast<std::uint8_t>(writers.size()));
    for (const Version& version : writers) {
        encode(writer, version);
    }
    for (std::size_t bucket = 0; bucket < DefinitionMap::kBuckets; ++bucket) {
        const auto hashes = map.leaf_hashes(bucket);
        for (std::size_t leaf = 0; leaf < DefinitionMap::kLeaves; ++leaf) {
            writer.u32(leaf_hash(hashes, leaf));
        }
    }
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
        return true;
    }
    if (type == Type::end) {
        done_ = true;
        good_ = reader.u8() == 0 && reader.ok();
        return true;
    }
    return false;
}

// --- the side that answers ----------------------------------------------------------------------

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
    leaves_.clear();
    const std::uint8_t writers = reader.u8();
    if (writers > DefinitionMap::kWriters) {
        return false;
    }
    for (std::uint8_t i = 0; i < writers; ++i) {
        known_.push_back(decode_version(reader));
    }
    DefinitionMap::Hashes own{};
    for (std::size_t i = 0; i < kAllLeaves; ++i) {
        if (i % DefinitionMap::kLeaves == 0) {
            own = context().store->overrides().leaf_hashes(i / DefinitionMap::kLeaves);
        }
        if (reader.u32() != leaf_hash(own, i % DefinitionMap::kLeaves)) {
            leaves_.push_back(static_cast<std::uint16_t>(i));
        }
    }
    std::reverse(leaves_.begin(), leaves_.end());
    in_order_ = without_sent_ = leaves_.size() >= kMostlyDifferent;
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
    leaves_.clear();
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
    if (!answering_) {
        return std::nullopt;
    }
    if (document_ != nullptr && at_ < document_->size()) {
        const std::size_t size = std::min(kDocumentPiece, document_->size() - at_);
        writer.bytes(ByteSpan(*document_).subspan(at_, size));
        at_ += size;
        return Type::document;
    }
    if (!leaves_.empty() && write_entries(writer, now)) {
        return Type::entries;
    }
    answering_ = false;
    document_.reset();
    ++context().counters->served;
    writer.u8(found_ ? 0 : 1);
    return Type::end;
}

/// False when there is no room for it.
bool DefinitionServe::write_entry(ByteWriter& writer, const DefinitionEntry& entry, Instant now) {
    if (writer.remaining() < kMaximumEntry + gossip::kMessageOverhead) {
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

/// As many entries as fit one frame, perhaps none; false when there are none left.
bool DefinitionServe::write_entries(ByteWriter& writer, Instant now) {
    const DefinitionMap& map = context().store->overrides();
    if (in_order_) {
        write_in_order(writer, now);
        return true;
    }
    bool full = false;
    std::size_t looked_at = 0;
    while (!leaves_.empty() && !full) {
        const std::uint16_t leaf = leaves_.back();
        map.for_each_in_leaf(
            leaf / DefinitionMap::kLeaves, leaf % DefinitionMap::kLeaves,
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
            leaves_.pop_back();
            after_.clear();
        }
    }
    return writer.size() > 0 || !leaves_.empty();
}

}  // namespace weir::definitions
