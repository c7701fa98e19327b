#include "definitions/codec.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "base/hash.h"
#include "base/planted.h"

namespace weir::definitions {
namespace {

using limiter::BurstSpec;
using limiter::QuotaDefinition;
using limiter::RateLimit;

constexpr std::uint8_t kHasParent = 1;
constexpr std::uint8_t kHidden = 2;
constexpr std::uint8_t kHasFields = 4;  // numbered fields follow; unknown ones are skipped

enum class Field : std::uint64_t {
    enforced_share = 1,
    isolation = 2,
    safe = 3,
    headers = 4,
    refusal = 5
};
constexpr std::uint8_t kHasBody = 1;
constexpr std::uint8_t kIetf = 1;
constexpr std::uint8_t kXRateLimit = 2;

/// Constants of the protocol version: "weir document id".
constexpr HashKey kDocumentKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                                std::byte{' '}, std::byte{'d'}, std::byte{'o'}, std::byte{'c'},
                                std::byte{'u'}, std::byte{'m'}, std::byte{'e'}, std::byte{'n'},
                                std::byte{'t'}, std::byte{' '}, std::byte{'i'}, std::byte{'d'}}};

/// No definition needs more room, whether it is valid or not: nothing is ever cut.
std::size_t most_bytes(const QuotaDefinition& definition) {
    constexpr std::size_t kFixed = 256;  // flags, counts, lengths
    constexpr std::size_t kLimit = 64;   // 50 with three borders, 9 of its safe capacity
    const limiter::QuotaOptions& options = *definition.options;
    return kFixed + kLimit * definition.limits.size() + definition.name.size() +
           definition.parent.value_or("").size() + options.enforced_by.size() +
           options.refusal.content_type.size() + options.refusal.body.value_or("").size();
}

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

/// The mode's place outside the fields: a peer that skips them must not enforce everything.
limiter::Mode plain_mode(const QuotaDefinition& definition) {
    return definition.enforced_share < 1 ? limiter::Mode::shadow : definition.mode;
}

template <class Write>
void write_field(ByteWriter& writer, Field number, Write write) {
    std::vector<std::byte> buffer(writer.remaining());
    ByteWriter field(buffer);
    write(field);
    writer.varint(static_cast<std::uint64_t>(number));
    writer.string(as_text(field.written()));
}

void write_share(ByteWriter& writer, const QuotaDefinition& definition) {
    if (definition.enforced_share == 1 && definition.options->enforced_by.empty()) {
        return;
    }
    write_field(writer, Field::enforced_share, [&](ByteWriter& field) {
        field.u8(static_cast<std::uint8_t>(definition.mode));
        field.f64(definition.enforced_share);
        field.string(definition.options->enforced_by);
    });
}

void write_isolation(ByteWriter& writer, const QuotaDefinition& definition) {
    if (definition.when_isolated != limiter::IsolationMode::safe) {
        write_field(writer, Field::isolation, [&](ByteWriter& field) {
            field.u8(static_cast<std::uint8_t>(definition.when_isolated));
        });
    }
    const auto given = [](const RateLimit& limit) { return limit.safe.has_value(); };
    if (std::none_of(definition.limits.begin(), definition.limits.end(), given)) {
        return;
    }
    write_field(writer, Field::safe, [&](ByteWriter& field) {
        for (std::size_t i = 0; i < definition.limits.size(); ++i) {
            if (definition.limits[i].safe) {
                field.u8(static_cast<std::uint8_t>(i));
                field.f64(*definition.limits[i].safe);
            }
        }
    });
}

void write_answers(ByteWriter& writer, const limiter::QuotaOptions& options) {
    if (options.headers) {
        write_field(writer, Field::headers, [&](ByteWriter& field) {
            field.u8(static_cast<std::uint8_t>((options.headers->ietf ? kIetf : 0) |
                                               (options.headers->x_ratelimit ? kXRateLimit : 0)));
        });
    }
    if (const limiter::RefusalForm& form = options.refusal; form != limiter::RefusalForm{}) {
        write_field(writer, Field::refusal, [&](ByteWriter& field) {
            field.u16(form.status);
            field.string(form.content_type);
            field.u8(form.body ? kHasBody : 0);
            field.string(form.body.value_or(""));
        });
    }
}

/// What was added to definitions after their first form; nothing when all of it is at its default.
std::string encode_fields(const QuotaDefinition& definition) {
    std::vector<std::byte> buffer(most_bytes(definition));
    ByteWriter writer(buffer);
    write_share(writer, definition);
    write_isolation(writer, definition);
    write_answers(writer, *definition.options);
    WEIR_ASSERT(writer.ok());
    return std::string(as_text(writer.written()));
}

void write_value(ByteWriter& writer, const QuotaDefinition& definition) {
    const std::string fields = encode_fields(definition);
    writer.u8(static_cast<std::uint8_t>((definition.parent ? kHasParent : 0) |
                                        (definition.hide_headers ? kHidden : 0) |
                                        (fields.empty() ? 0 : kHasFields)));
    if (definition.parent) {
        writer.string(*definition.parent);
    }
    writer.u8(static_cast<std::uint8_t>(plain_mode(definition)));
    writer.varint(definition.max_instances);
    writer.varint(definition.max_children);
    writer.varint(definition.limits.size());
    for (const RateLimit& limit : definition.limits) {
        write_limit(writer, limit);
    }
    if (!fields.empty()) {
        writer.string(fields);
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

void read_share(ByteReader& reader, QuotaDefinition& definition, limiter::QuotaOptions& options) {
    definition.mode = read_enum<limiter::Mode>(reader, 3);
    definition.enforced_share = read_amount(reader);
    options.enforced_by = std::string(reader.string(limiter::kMaxFieldName));
}

void read_safe(ByteReader& reader, QuotaDefinition& definition) {
    while (reader.ok() && reader.remaining() > 0) {
        const std::size_t index = reader.u8();
        const double safe = read_amount(reader);
        if (index < definition.limits.size() || planted(Planted::safe_index)) {
            definition.limits[index].safe = safe;
        }
    }
}

void read_refusal(ByteReader& reader, limiter::RefusalForm& form) {
    form.status = reader.u16();
    form.content_type = std::string(reader.string(limiter::kMaxContentType));
    const bool has_body = (reader.u8() & kHasBody) != 0;
    const std::string_view body = reader.string(limiter::kMaxRefusalBody);
    form.body = has_body ? std::optional(std::string(body)) : std::nullopt;
}

/// A known field may have grown at its end in a later version; that is skipped, too.
void read_field(std::uint64_t number, ByteReader& reader, QuotaDefinition& definition,
                limiter::QuotaOptions& options) {
    switch (static_cast<Field>(number)) {
        case Field::enforced_share:
            return read_share(reader, definition, options);
        case Field::isolation:
            definition.when_isolated = read_enum<limiter::IsolationMode>(reader, 3);
            return;
        case Field::safe:
            return read_safe(reader, definition);
        case Field::headers: {
            const std::uint8_t forms = reader.u8();
            options.headers =
                limiter::HeaderForms{(forms & kIetf) != 0, (forms & kXRateLimit) != 0};
            return;
        }
        case Field::refusal:
            return read_refusal(reader, options.refusal);
    }
}

void read_fields(ByteReader& reader, QuotaDefinition& definition) {
    limiter::QuotaOptions options;
    ByteReader fields(as_bytes(reader.string(kMaximumDocument)));
    while (reader.ok() && fields.ok() && fields.remaining() > 0) {
        const std::uint64_t number = fields.varint();
        ByteReader field(as_bytes(fields.string(kMaximumDocument)));
        if (fields.ok()) {
            read_field(number, field, definition, options);
        }
        if (!field.ok()) {
            fields.fail();
        }
    }
    if (!fields.ok()) {
        reader.fail();
    }
    definition.options = std::move(options);
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
    if (reader.ok() && (flags & kHasFields) != 0) {
        read_fields(reader, definition);
    }
}

Error undecodable() { return error(ErrorCode::truncated, "not a well-formed quota definition"); }

}  // namespace

std::string encode_definition(const QuotaDefinition& definition) {
    std::vector<std::byte> buffer(most_bytes(definition));
    ByteWriter writer(buffer);
    write_value(writer, definition);
    WEIR_ASSERT(writer.ok());
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

Result<std::vector<std::byte>> encode_document(std::span<const QuotaDefinition> definitions,
                                               std::size_t most) {
    std::vector<const QuotaDefinition*> sorted;
    for (const QuotaDefinition& definition : definitions) {
        sorted.push_back(&definition);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const QuotaDefinition* a, const QuotaDefinition* b) { return a->name < b->name; });
    std::vector<std::byte> bytes;
    std::vector<std::byte> buffer;
    for (const QuotaDefinition* definition : sorted) {
        buffer.resize(std::max(buffer.size(), most_bytes(*definition)));
        ByteWriter writer(buffer);
        writer.string(definition->name);
        write_value(writer, *definition);
        WEIR_ASSERT(writer.ok());
        bytes.insert(bytes.end(), writer.written().begin(), writer.written().end());
        if (bytes.size() > most) {
            return error(ErrorCode::too_large, "the document takes more than " +
                                                   std::to_string(most >> 20U) +
                                                   " MiB in binary form");
        }
    }
    return bytes;
}

Result<std::vector<QuotaDefinition>> decode_document(ByteSpan bytes) {
    if (bytes.size() > kMaximumDocument) {
        return error(ErrorCode::too_large, "the document takes more than 256 MiB in binary form");
    }
    ByteReader reader(bytes);
    std::vector<QuotaDefinition> definitions;
    while (reader.remaining() > 0) {
        auto definition = decode_next(reader);
        if (!definition) {
            return definition.error();
        }
        definitions.push_back(std::move(*definition));
    }
    return definitions;
}

Result<QuotaDefinition> decode_next(ByteReader& reader) {
    QuotaDefinition definition;
    definition.name = std::string(reader.string(limiter::kMaxNameBytes));
    read_value(reader, definition);
    if (!reader.ok() || definition.name.empty()) {
        return undecodable();
    }
    return definition;
}

std::uint64_t document_hash(ByteSpan bytes) { return keyed_hash(as_text(bytes), kDocumentKey); }

}  // namespace weir::definitions
