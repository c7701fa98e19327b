#include "sync/allowance_messages.h"

#include <algorithm>

#include "base/assert.h"
#include "base/records.h"
#include "limiter/definition.h"
#include "limiter/in_flight.h"
#include "sync/number_forms.h"

namespace weir::sync {
namespace {

constexpr std::uint8_t kTold = 1;
constexpr std::uint8_t kScarce = 2;
constexpr std::uint64_t kMostOrigins = 1U << 20;

bool plausible_count(std::uint64_t count) {
    return static_cast<double>(count) <= limiter::kMostAllowance;
}

}  // namespace

bool is_in_flight(const LimitKey& key) {
    return key.kind == static_cast<std::uint8_t>(limiter::LimitKind::concurrency);
}

void encode(ByteWriter& writer, const AllowanceReport& report) {
    WEIR_ASSERT(is_in_flight(report.key));
    const RecordWriter record(writer);
    encode(writer, report.key);
    writer.u16(report.number);
    writer.u8(flag(report.told, kTold));
    writer.varint(report.most);
    writer.varint(report.allowance);
    writer.varint(report.in_flight);
    writer.varint(report.wanted);
}

void encode(ByteWriter& writer, const AllowanceGrant& grant) {
    WEIR_ASSERT(is_in_flight(grant.key));
    const RecordWriter record(writer);
    encode(writer, grant.key);
    writer.u16(grant.number);
    writer.u8(static_cast<std::uint8_t>(flag(grant.told, kTold) | flag(grant.scarce, kScarce)));
    writer.varint(grant.allowance);
    writer.varint(grant.origins);
}

AllowanceReport decode_allowance_report(ByteReader& reader) {
    RecordReader record(reader);
    ByteReader& fields = record.fields();
    AllowanceReport report;
    report.key = decode_key(fields);
    if (!is_in_flight(report.key)) {
        return report;
    }
    report.number = fields.u16();
    report.told = (fields.u8() & kTold) != 0;
    report.most = fields.varint();
    report.allowance = fields.varint();
    report.in_flight = fields.varint();
    report.wanted = fields.varint();
    return report;
}

AllowanceGrant decode_allowance_grant(ByteReader& reader) {
    RecordReader record(reader);
    ByteReader& fields = record.fields();
    AllowanceGrant grant;
    grant.key = decode_key(fields);
    if (!is_in_flight(grant.key)) {
        return grant;
    }
    grant.number = fields.u16();
    const std::uint8_t flags = fields.u8();
    grant.told = (flags & kTold) != 0;
    grant.scarce = (flags & kScarce) != 0;
    grant.allowance = fields.varint();
    grant.origins = static_cast<std::uint32_t>(std::min(fields.varint(), kMostOrigins));
    return grant;
}

bool plausible(const AllowanceReport& report) {
    return is_in_flight(report.key) && plausible_count(report.most) &&
           plausible_count(report.allowance) && plausible_count(report.in_flight) &&
           plausible_count(report.wanted);
}

bool plausible(const AllowanceGrant& grant) {
    return is_in_flight(grant.key) && plausible_count(grant.allowance);
}

}  // namespace weir::sync
