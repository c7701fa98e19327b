#include "gossip/definition_codec.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hash.h"

namespace weir::gossip {
namespace {

using limiter::BurstSpec;
using limiter::QuotaDefinition;
using limiter::RateLimit;

constexpr std::uint8_t kHasParent = 1;
constexpr std::uint8_t kHidden = 2;

/// Constants of the protocol version: "weir document id".
constexpr HashKey kDocumentKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                                std::byte{' '}, std::byte{'d'}, std::byte{'o'}, std::byte{'c'},
                                std::byte{'u'}, std::byte{'m'}, std::byte{'e'}, std::byte{'n'},
                                std::byte{'t'}, std::byte{' '}, std::byte{'i'}, std::byte{'d'}}};

/// The largest definition: two names and eight limits with three borders each.
constexpr std::size_t kMaximumValue = 2 * (limiter::kMaxNameBytes + 2) + 16 + 8 * 48;

void write_border(ByteWriter& writer, const std::optional<BurstSpec>& border) {
    writer.u8(border ? static_cast<std::uint8_t>(1 + static_cast<int>(border->kind)) : 0);
    if (border) {
        writer.f64(border->value);
    }
}

double read_amount(ByteReader& reader) {
    const double value = reader.f64();
    if (!std::isfinite(value) || value < 0) {
        reader.fail();
        return 0;
    }
    return value;
}

template <class E>
E read_enum(ByteReader& reader, std::uint8_t count) {
    const std::uint8_t value = reader.u8();
    if (value >= count) {
        reader.fail();
        return E{};
    }
    return static_cast<E>(value);
}

std::optional<BurstSpec> read_border(ByteReader& reader) {
    const std::uint8_t kind = reader.u8();
    if (kind == 0) {
        return std::nullopt;
    }
    if (kind > 2) {
        reader.fail();
        return std::nullopt;
    }
    return BurstSpec{static_cast<BurstSpec::Kind>(kind - 1), read_amount(reader)};
}

void write_limit(ByteWriter& writer, const RateLimit& limit) {
    writer.u8(0);  // kind of limit: rate
    writer.u8(static_cast<std::uint8_t>(limit.unit));
    writer.f64(limit.amount);
    writer.varint(static_cast<std::uint64_t>(limit.period.count()));
    write_border(writer, limit.low);
    write_border(writer, limit.high);
    write_border(writer, limit.debt);
    writer.u8(static_cast<std::uint8_t>(limit.law));
    writer.u8(static_cast<std::uint8_t>(limit.scope));
}

RateLimit read_limit(ByteReader& reader) {
    RateLimit limit;
    if (reader.u8() != 0) {
        reader.fail();  // a kind of a later version
        return limit;
    }
    limit.unit = read_enum<limiter::Unit>(reader, limiter::kUnits);
    limit.amount = read_amount(reader);
    const std::uint64_t period = reader.varint();
    if (period == 0 ||
        period > static_cast<std::uint64_t>(Duration(std::chrono::hours(24 * 400)).count())) {
        reader.fail();
        return limit;
    }
    limit.period = Duration(static_cast<Duration::rep>(period));
    limit.low = read_border(reader);
    limit.high = read_border(reader);
    limit.debt = read_border(reader);
    limit.law = read_enum<limiter::Law>(reader, 2);
    limit.scope = read_enum<limiter::Scope>(reader, 2);
    return limit;
}

void write_value(ByteWriter& writer, const QuotaDefinition& definition) {
    writer.u8(static_cast<std::uint8_t>((definition.parent ? kHasParent : 0) |
                                        (definition.hide_headers ? kHidden : 0)));
    if (definition.parent) {
        writer.string(*definition.parent);
    }
    writer.u8(static_cast<std::uint8_t>(definition.mode));
    writer.varint(definition.max_instances);
    writer.varint(definition.max_children);
    writer.varint(definition.limits.size());
    for (const RateLimit& limit : definition.limits) {
        write_limit(writer, limit);
    }
}

std::uint32_t read_u32(ByteReader& reader) {
    const std::uint64_t value = reader.varint();
    if (value > 0xffff'ffffU) {
        reader.fail();
        return 0;
    }
    return static_cast<std::uint32_t>(value);
}

void read_value(ByteReader& reader, QuotaDefinition& definition) {
    const std::uint8_t flags = reader.u8();
    definition.hide_headers = (flags & kHidden) != 0;
    if ((flags & kHasParent) != 0) {
        definition.parent = std::string(reader.string(limiter::kMaxNameBytes));
    }
    definition.mode = read_enum<limiter::Mode>(reader, 3);
    definition.max_instances = read_u32(reader);
    definition.max_children = read_u32(reader);
    const std::uint64_t limits = reader.varint();
    if (limits > limiter::kMaxLimitsPerQuota) {
        reader.fail();
        return;
    }
    for (std::uint64_t i = 0; i < limits && reader.ok(); ++i) {
        definition.limits.push_back(read_limit(reader));
    }
}

Error undecodable() { return error(ErrorCode::truncated, "not a well-formed quota definition"); }

}  // namespace

std::string encode_definition(const QuotaDefinition& definition) {
    std::array<std::byte, kMaximumValue> buffer{};
    ByteWriter writer(buffer);
    write_value(writer, definition);
    return std::string(as_text(writer.written()));
}

Result<QuotaDefinition> decode_definition(std::string_view name, std::string_view value) {
    ByteReader reader(as_bytes(value));
    QuotaDefinition definition;
    definition.name = std::string(name);
    read_value(reader, definition);
    if (!reader.ok() || reader.remaining() != 0) {
        return undecodable();
    }
    return definition;
}

Result<std::vector<std::byte>> encode_document(std::span<const QuotaDefinition> definitions) {
    std::vector<const QuotaDefinition*> sorted;
    for (const QuotaDefinition& definition : definitions) {
        sorted.push_back(&definition);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const QuotaDefinition* a, const QuotaDefinition* b) { return a->name < b->name; });
    std::vector<std::byte> bytes;
    std::array<std::byte, kMaximumValue> buffer{};
    for (const QuotaDefinition* definition : sorted) {
        ByteWriter writer(buffer);
        writer.string(definition->name);
        write_value(writer, *definition);
        if (!writer.ok()) {
            return error(ErrorCode::too_large, "quota " + definition->name + " is too large");
        }
        bytes.insert(bytes.end(), writer.written().begin(), writer.written().end());
        if (bytes.size() > kMaximumDocument) {
            return error(ErrorCode::too_large,
                         "the document takes more than 16 MiB in binary form");
        }
    }
    return bytes;
}

Result<std::vector<QuotaDefinition>> decode_document(ByteSpan bytes) {
    if (bytes.size() > kMaximumDocument) {
        return error(ErrorCode::too_large, "the document takes more than 16 MiB in binary form");
    }
    ByteReader reader(bytes);
    std::vector<QuotaDefinition> definitions;
    while (reader.ok() && reader.remaining() > 0) {
        QuotaDefinition& definition = definitions.emplace_back();
        definition.name = std::string(reader.string(limiter::kMaxNameBytes));
        read_value(reader, definition);
    }
    if (!reader.ok()) {
        return undecodable();
    }
    return definitions;
}

std::uint64_t document_hash(ByteSpan bytes) { return keyed_hash(as_text(bytes), kDocumentKey); }

}  // namespace weir::gossip
