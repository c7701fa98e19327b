#include "sync/child_messages.h"

#include <algorithm>

#include "base/assert.h"
#include "base/records.h"
#include "limiter/definition.h"
#include "sync/number_forms.h"

namespace weir::sync {
namespace {

constexpr std::uint8_t kFull = 1;

}  // namespace

std::vector<ChildPart> parts_of(const ChildPart& whole) {
    const std::vector<limiter::ChildRate>& children = whole.rates.children;
    const std::size_t count =
        std::max<std::size_t>(1, (children.size() + kChildrenPerPart - 1) / kChildrenPerPart);
    WEIR_ASSERT(count <= kMostParts);
    std::vector<ChildPart> parts;
    for (std::size_t i = 0; i < count; ++i) {
        ChildPart& part = parts.emplace_back(whole);
        part.part = static_cast<std::uint8_t>(i);
        part.parts = static_cast<std::uint8_t>(count);
        const std::size_t end = std::min(children.size(), (i + 1) * kChildrenPerPart);
        part.rates.children.assign(
            children.begin() + static_cast<std::ptrdiff_t>(i * kChildrenPerPart),
            children.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return parts;
}

void encode(ByteWriter& writer, const ChildPart& part) {
    WEIR_ASSERT(part.part < part.parts);
    {
        const RecordWriter head(writer);
        encode(writer, part.parent);
        writer.u16(part.number);
        writer.u8(part.part);
        writer.u8(part.parts);
        writer.u8(flag(part.rates.full, kFull));
        write_real(writer, part.rates.total);
        write_real(writer, part.rates.rest);
        write_real(writer, part.line);
        writer.varint(part.origins);
    }
    for (const limiter::ChildRate& child : part.rates.children) {
        const RecordWriter record(writer);
        writer.u64(child.child);
        write_real(writer, child.rate);
        write_real(writer, child.share);
    }
}

ChildPart decode_child_part(ByteReader& reader) {
    ChildPart part;
    {
        RecordReader record(reader);
        ByteReader& head = record.fields();
        part.parent = decode_key(head);
        if (of_later_version(part.parent)) {
            reader.bytes(reader.remaining());
            return part;
        }
        part.number = head.u16();
        part.part = head.u8();
        part.parts = head.u8();
        part.rates.full = (head.u8() & kFull) != 0;
        part.rates.total = read_real(head);
        part.rates.rest = read_real(head);
        part.line = read_real(head);
        part.origins = static_cast<std::uint32_t>(std::min<std::uint64_t>(head.varint(), 1U << 20));
    }
    while (reader.ok() && reader.remaining() > 0) {
        RecordReader record(reader);
        ByteReader& fields = record.fields();
        limiter::ChildRate& child = part.rates.children.emplace_back();
        child.child = fields.u64();
        child.rate = read_real(fields);
        child.share = read_real(fields);
    }
    return part;
}

bool plausible(const ChildPart& part) {
    const auto can_be = [](const limiter::ChildRate& child) {
        return within({child.rate}, kLargestRate) && child.share >= limiter::kLeastShare / 2 &&
               child.share <= 2 * limiter::kMostShare;
    };
    return part.part < part.parts && part.parts <= kMostParts &&
           part.rates.children.size() <= kChildrenPerPart &&
           within({part.rates.total, part.rates.rest, part.line}, kLargestRate) &&
           std::all_of(part.rates.children.begin(), part.rates.children.end(), can_be);
}

}  // namespace weir::sync
