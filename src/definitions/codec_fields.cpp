// The numbered fields of a definition's binary form. Most rows of the table (fields.h) are written
// and read here by the kind of their value. Part of codec.h.

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/planted.h"
#include "definitions/codec.h"
#include "definitions/codec_parts.h"
#include "definitions/fields.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;
using limiter::RateLimit;

// The numbers of fields whose values travel together, in a form that is older than the table.
constexpr std::uint64_t kShareField = 1;  // enforce, enforce_by, and the mode that holds with them
constexpr std::uint64_t kRefusalField = 5;  // refusal.status, refusal.content_type, refusal.body
constexpr std::uint8_t kHasBody = 1;
constexpr std::uint8_t kIetf = 1;
constexpr std::uint8_t kXRateLimit = 2;

template <class Write>
void write_field(ByteWriter& writer, std::uint64_t number, Write write) {
    std::vector<std::byte> buffer(writer.remaining());
    ByteWriter field(buffer);
    write(field);
    WEIR_ASSERT(field.ok());
    WEIR_ASSERT(number != 0);
    writer.varint(number);
    writer.string(as_text(field.written()));
}

void write_share(ByteWriter& field, const QuotaDefinition& definition) {
    field.u8(static_cast<std::uint8_t>(definition.mode));
    field.f64(definition.enforced_share);
    field.string(definition.options->enforced_by);
}

void write_refusal(ByteWriter& field, const QuotaDefinition& definition) {
    const limiter::RefusalForm& form = definition.options->refusal;
    field.u16(form.status);
    field.string(form.content_type);
    field.u8(form.body ? kHasBody : 0);
    field.string(form.body.value_or(""));
}

/// Writes the families of fields. Whether the quota is hidden is a flag in the part before.
void write_headers(ByteWriter& field, const QuotaDefinition& definition) {
    WEIR_ASSERT(definition.options->headers.has_value());
    const limiter::HeaderForms forms = *definition.options->headers;
    field.u8(static_cast<std::uint8_t>((forms.ietf ? kIetf : 0) |
                                       (forms.x_ratelimit ? kXRateLimit : 0)));
}

std::uint64_t milliseconds_of(Duration time) {
    WEIR_ASSERT(time >= Duration::zero());
    return static_cast<std::uint64_t>(time / std::chrono::milliseconds(1));
}

/// Writes the value of a field that has a number of its own.
void write_quota_field(ByteWriter& writer, const QuotaField& row,
                       const QuotaDefinition& definition) {
    WEIR_ASSERT(row.number != 0);
    const bool forms = definition.options->headers.has_value();
    if (!is_set(row, definition) || (std::holds_alternative<HeadersValue>(row.value) && !forms)) {
        return;
    }
    write_field(writer, row.number, [&](ByteWriter& field) {
        std::visit(Overloaded{
                       [&](const WordValue<QuotaDefinition>& value) {
                           field.u8(static_cast<std::uint8_t>(value.get(definition)));
                       },
                       [&](const CountValue<QuotaDefinition>& value) {
                           field.varint(value.get(definition));
                       },
                       [&](const DurationValue& value) {
                           field.varint(milliseconds_of(*value.get(definition)));
                       },
                       [&](const TextValue<QuotaDefinition>& value) {
                           field.string(value.get(definition).value_or(std::string_view()));
                       },
                       [&](const ShareValue& value) { field.f64(value.get(definition)); },
                       [&](const KeyValue& value) { field.string(value.get(definition)); },
                       [&](const FlagValue& value) {
                           field.u8(value.get(definition).value_or(false) ? 1 : 0);
                       },
                       [&](const NumberValue& value) { field.f64(value.get(definition)); },
                       [&](const HeadersValue&) { write_headers(field, definition); },
                       [](const LimitsValue&) {},  // before all numbered fields
                   },
                   row.value);
    });
}

/// Writes, for each limit that has a value for this field, the limit's index and the value.
void write_limit_field(ByteWriter& writer, const LimitField& row,
                       const QuotaDefinition& definition) {
    WEIR_ASSERT(row.number != 0);
    const auto given = [&row](const RateLimit& limit) { return is_set(row, limit); };
    if (std::none_of(definition.limits.begin(), definition.limits.end(), given)) {
        return;
    }
    write_field(writer, row.number, [&](ByteWriter& field) {
        for (std::size_t i = 0; i < definition.limits.size(); ++i) {
            const RateLimit& limit = definition.limits[i];
            if (!given(limit)) {
                continue;
            }
            field.u8(static_cast<std::uint8_t>(i));
            std::visit(
                Overloaded{
                    [](const RateValue&) {},  // with the limit itself
                    [](const WindowValue&) {},
                    [](const ConcurrencyValue&) {},
                    [](const UnitValue&) {},
                    [&](const BurstValue& value) { write_border(field, limit.*value.member); },
                    [&](const WordValue<RateLimit>& value) {
                        field.u8(static_cast<std::uint8_t>(value.get(limit)));
                    },
                    [&](const CapacityValue& value) { field.f64(*(limit.*value.member)); },
                    [&](const TimeZoneValue&) { field.string(limit.timezone); },
                },
                row.value);
        }
    });
}

/// Writes the fields of this number, unless all of them have their defaults.
void write_numbered(ByteWriter& writer, std::uint64_t number, const QuotaDefinition& definition) {
    const auto given = [&](const QuotaField& row) {
        return row.number == number && is_set(row, definition);
    };
    if (number == kShareField || number == kRefusalField) {
        if (std::any_of(quota_fields().begin(), quota_fields().end(), given)) {
            write_field(writer, number, [&](ByteWriter& field) {
                number == kShareField ? write_share(field, definition)
                                      : write_refusal(field, definition);
            });
        }
        return;
    }
    for (const QuotaField& row : quota_fields()) {
        if (row.number == number) {
            write_quota_field(writer, row, definition);
        }
    }
    for (const LimitField& row : limit_fields()) {
        if (row.number == number) {
            write_limit_field(writer, row, definition);
        }
    }
}

std::uint64_t highest_number() {
    static const std::uint64_t highest = [] {
        std::uint64_t number = 0;
        for (const QuotaField& row : quota_fields()) {
            number = std::max<std::uint64_t>(number, row.number);
        }
        for (const LimitField& row : limit_fields()) {
            number = std::max<std::uint64_t>(number, row.number);
        }
        return number;
    }();
    return highest;
}

void read_share(ByteReader& reader, QuotaDefinition& definition) {
    definition.mode = read_enum<limiter::Mode>(reader, limiter::kModeWords.size());
    definition.enforced_share = read_amount(reader);
    limiter::QuotaOptions options = *definition.options;
    options.enforced_by = std::string(reader.string(limiter::kMaxFieldName));
    definition.options = std::move(options);
}

void read_refusal(ByteReader& reader, QuotaDefinition& definition) {
    limiter::QuotaOptions options = *definition.options;
    options.refusal.status = reader.u16();
    options.refusal.content_type = std::string(reader.string(limiter::kMaxContentType));
    const bool has_body = (reader.u8() & kHasBody) != 0;
    const std::string_view body = reader.string(limiter::kMaxRefusalBody);
    options.refusal.body = has_body ? std::optional(std::string(body)) : std::nullopt;
    definition.options = std::move(options);
}

void read_quota_field(ByteReader& reader, const QuotaField& row, QuotaDefinition& definition) {
    WEIR_ASSERT(row.number != kShareField && row.number != kRefusalField && row.number != 0);
    std::visit(Overloaded{
                   [&](const WordValue<QuotaDefinition>& value) {
                       value.set(definition, read_word(reader, value.words.size()));
                   },
                   [&](const CountValue<QuotaDefinition>& value) {
                       value.set(definition, read_u32(reader));
                   },
                   [&](const DurationValue& value) {
                       value.set(definition, std::chrono::milliseconds(read_u32(reader)));
                   },
                   [&](const TextValue<QuotaDefinition>& value) {
                       value.set(definition, std::string(reader.string(value.most)));
                   },
                   [&](const ShareValue& value) { value.set(definition, read_amount(reader)); },
                   [&](const KeyValue& value) {
                       value.set(definition, std::string(reader.string(limiter::kMaxFieldName)));
                   },
                   [&](const FlagValue& value) { value.set(definition, reader.u8() != 0); },
                   [&](const NumberValue& value) { value.set(definition, read_amount(reader)); },
                   [&](const HeadersValue&) {
                       const std::uint8_t forms = reader.u8();
                       set_headers(
                           definition, definition.hide_headers,
                           limiter::HeaderForms{(forms & kIetf) != 0, (forms & kXRateLimit) != 0});
                   },
                   [](const LimitsValue&) {},
               },
               row.value);
}

void read_limit_value(ByteReader& reader, const LimitField& row, RateLimit& limit) {
    std::visit(Overloaded{
                   [](const RateValue&) {},
                   [](const WindowValue&) {},
                   [](const ConcurrencyValue&) {},
                   [](const UnitValue&) {},
                   [&](const BurstValue& value) { limit.*value.member = read_border(reader); },
                   [&](const WordValue<RateLimit>& value) {
                       value.set(limit, read_word(reader, value.words.size()));
                   },
                   [&](const CapacityValue& value) { limit.*value.member = read_amount(reader); },
                   [&](const TimeZoneValue& value) {
                       limit.timezone = std::string(reader.string(value.most));
                   },
               },
               row.value);
}

void read_limit_field(ByteReader& reader, const LimitField& row, QuotaDefinition& definition) {
    WEIR_ASSERT(row.number != 0);
    while (reader.ok() && reader.remaining() > 0) {
        const std::size_t index = reader.u8();
        RateLimit nowhere;  // an index that the quota does not have
        const bool known = index < definition.limits.size() || planted(Planted::safe_index);
        read_limit_value(reader, row, known ? definition.limits[index] : nowhere);
    }
}

/// Reads one numbered field. A later version may have added bytes at the end of a known field; they
/// are skipped, and so is a number that only a later version knows.
void read_numbered(std::uint64_t number, ByteReader& reader, QuotaDefinition& definition) {
    if (number == 0) {
        return;
    }
    if (number == kShareField) {
        return read_share(reader, definition);
    }
    if (number == kRefusalField) {
        return read_refusal(reader, definition);
    }
    for (const QuotaField& row : quota_fields()) {
        if (row.number == number) {
            read_quota_field(reader, row, definition);
        }
    }
    for (const LimitField& row : limit_fields()) {
        if (row.number == number) {
            read_limit_field(reader, row, definition);
        }
    }
}

}  // namespace

std::string encode_fields(const QuotaDefinition& definition) {
    std::vector<std::byte> buffer(most_encoded_bytes(definition));
    ByteWriter writer(buffer);
    for (std::uint64_t number = 1; number <= highest_number(); ++number) {
        write_numbered(writer, number, definition);
    }
    WEIR_ASSERT(writer.ok());
    return std::string(as_text(writer.written()));
}

void read_fields(ByteReader& reader, QuotaDefinition& definition) {
    ByteReader fields(as_bytes(reader.string(kMaximumDocument)));
    while (reader.ok() && fields.ok() && fields.remaining() > 0) {
        const std::uint64_t number = fields.varint();
        ByteReader field(as_bytes(fields.string(kMaximumDocument)));
        if (fields.ok()) {
            read_numbered(number, field, definition);
        }
        if (!field.ok()) {
            fields.fail();
        }
    }
    if (!fields.ok()) {
        reader.fail();
    }
}

}  // namespace weir::definitions
