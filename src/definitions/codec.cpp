#include "definitions/codec.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/next_version.h"
#include "base/records.h"
#include "definitions/codec_parts.h"
#include "definitions/fields.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;
using limiter::RateLimit;

constexpr std::uint8_t kHasParent = 1;
constexpr std::uint8_t kHidden = 2;
constexpr std::uint8_t kHasFields =
    4;  // numbered fields follow (fields.h); unknown ones are skipped

constexpr auto kLongestPeriod = Duration(std::chrono::hours(24 * 400));

/// The kinds of limits have the numbers that they have in counter messages.
constexpr std::uint8_t number_of(limiter::LimitKind kind) {
    return static_cast<std::uint8_t>(kind);
}

void write_limit(ByteWriter& writer, const RateLimit& limit) {
    const RecordWriter record(writer);
    writer.u8(is_trial(limit.period) && limit.is_rate() ? kTrialKind : number_of(limit.kind));
    writer.u8(static_cast<std::uint8_t>(limit.unit));
    writer.f64(limit.amount);
    writer.varint(static_cast<std::uint64_t>(limit.period.count()));
    write_border(writer, limit.low);
    write_border(writer, limit.high);
    write_border(writer, limit.debt);
    writer.u8(static_cast<std::uint8_t>(limit.law));
    writer.u8(static_cast<std::uint8_t>(limit.scope));
}

/// The kind of limit that has this number. Nothing if only a later version knows it.
std::optional<limiter::LimitKind> kind_of(std::uint8_t number) {
    const bool trial = is_next_version() && number == kTrialKind;
    for (const limiter::LimitKind kind : kLimitKinds) {
        if (number == number_of(kind)) {
            return kind;
        }
    }
    return trial ? std::optional(limiter::LimitKind::rate) : std::nullopt;
}

/// Whether a limit of its kind may have this period and unit. Requests in flight have no period.
bool is_sound(const RateLimit& limit) {
    if (limit.is_concurrency()) {
        return limit.period == Duration::zero() && limit.unit == limiter::Unit::requests;
    }
    return limit.period > Duration::zero();
}

/// Nothing if only a later version knows this kind of limit.
std::optional<RateLimit> read_limit(ByteReader& outer) {
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    const auto kind = kind_of(reader.u8());
    if (!kind) {
        return std::nullopt;
    }
    RateLimit limit;
    limit.kind = *kind;
    limit.unit = read_enum<limiter::Unit>(reader, limiter::kUnits);
    limit.amount = read_amount(reader);
    const std::uint64_t period = reader.varint();
    limit.period = Duration(static_cast<Duration::rep>(
        std::min(period, static_cast<std::uint64_t>(kLongestPeriod.count()) + 1)));
    if (limit.period > kLongestPeriod || !is_sound(limit)) {
        reader.fail();
        return limit;
    }
    if (limit.is_window()) {  // unless a field says otherwise
        limit.from = RateLimit::in_window(limit.amount, limit.period).from;
    }
    limit.low = read_border(reader);
    limit.high = read_border(reader);
    limit.debt = read_border(reader);
    limit.law = read_enum<limiter::Law>(reader, limiter::kLawWords.size());
    limit.scope = read_enum<limiter::Scope>(reader, limiter::kScopeWords.size());
    return limit;
}

/// The mode for peers that skip the numbered fields: they must not enforce the quota for all keys.
limiter::Mode plain_mode(const QuotaDefinition& definition) {
    return definition.enforced_share < 1 ? limiter::Mode::shadow : definition.mode;
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

/// Takes these limits, in ascending order, out of the definition and notes how many they were.
void leave_out(QuotaDefinition& definition, const std::vector<std::size_t>& limits) {
    if (limits.empty()) {
        return;
    }
    for (auto index = limits.rbegin(); index != limits.rend(); ++index) {
        definition.limits.erase(definition.limits.begin() + static_cast<std::ptrdiff_t>(*index));
    }
    limiter::QuotaOptions options = *definition.options;
    options.limits_of_later_version = static_cast<std::uint8_t>(limits.size());
    definition.options = std::move(options);
}

void read_value(ByteReader& reader, QuotaDefinition& definition) {
    const std::uint8_t flags = reader.u8();
    definition.hide_headers = (flags & kHidden) != 0;
    if ((flags & kHasParent) != 0) {
        definition.parent = std::string(reader.string(limiter::kMaxNameBytes));
    }
    definition.mode = read_enum<limiter::Mode>(reader, limiter::kModeWords.size());
    definition.max_instances = read_u32(reader);
    definition.max_children = read_u32(reader);
    const std::uint64_t limits = reader.varint();
    if (limits > limiter::kMaxLimitsPerQuota) {
        reader.fail();
        return;
    }
    std::vector<std::size_t> skipped;  // limits of a later version
    for (std::uint64_t i = 0; i < limits && reader.ok(); ++i) {
        const auto limit = read_limit(reader);
        if (!limit) {
            skipped.push_back(definition.limits.size());
        }
        definition.limits.push_back(limit.value_or(RateLimit()));
    }
    if (reader.ok() && (flags & kHasFields) != 0) {
        read_fields(reader, definition);  // which name limits by their index
    }
    leave_out(definition, skipped);
}

Error undecodable() { return error(ErrorCode::truncated, "not a well-formed quota definition"); }

}  // namespace

std::size_t most_encoded_bytes(const QuotaDefinition& definition) {
    constexpr std::size_t kFixed = 256;  // flags, counts
    constexpr std::size_t kField = 32;   // number, length, and all but a text
    constexpr std::size_t kLimit = 80;   // 51 with three borders, 9 of its safe capacity, 2 of its
                                         // start, 3 of its time zone without the name
    std::size_t size = kFixed + kLimit * definition.limits.size();
    for (const RateLimit& limit : definition.limits) {
        size += limit.timezone.size();
    }
    for (const QuotaField& field : quota_fields()) {
        size += kField;
        if (const auto* const text = std::get_if<TextValue<QuotaDefinition>>(&field.value)) {
            size += text->get(definition).value_or("").size();
        } else if (const auto* const key = std::get_if<KeyValue>(&field.value)) {
            size += key->get(definition).size();
        }
    }
    return size;
}

std::string encode_definition(const QuotaDefinition& definition) {
    std::vector<std::byte> buffer(most_encoded_bytes(definition));
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

Result<QuotaDefinition> decode_next(ByteReader& reader) {
    QuotaDefinition definition;
    definition.name = std::string(reader.string(limiter::kMaxNameBytes));
    read_value(reader, definition);
    if (!reader.ok() || definition.name.empty()) {
        return undecodable();
    }
    return definition;
}

void encode_next(ByteWriter& writer, const QuotaDefinition& definition) {
    writer.string(definition.name);
    write_value(writer, definition);
    WEIR_ASSERT(writer.ok());
}

}  // namespace weir::definitions
