#include "sync/window_messages.h"

#include "base/assert.h"
#include "base/records.h"
#include "limiter/definition.h"
#include "sync/number_forms.h"

namespace weir::sync {
namespace {

constexpr std::uint8_t kReportTold = 1;
constexpr std::uint8_t kReportGone = 2;
constexpr std::uint8_t kGranted = 1;
constexpr std::uint8_t kGrantScarce = 2;
/// An overflow instance may admit ten times the largest window.
constexpr double kMostWeight = 10 * limiter::kMostInWindow;

bool plausible_weight(std::uint64_t weight) { return static_cast<double>(weight) <= kMostWeight; }

}  // namespace

bool is_of_windows(const LimitKey& key) {
    return key.kind == static_cast<std::uint8_t>(limiter::LimitKind::window);
}

void encode(ByteWriter& writer, const WindowReport& report) {
    WEIR_ASSERT(is_of_windows(report.key) && report.run != 0 && report.number != 0);
    const RecordWriter record(writer);
    encode(writer, report.key);
    writer.u64(report.run);
    writer.u32(report.end);
    writer.varint(report.number);
    writer.u8(
        static_cast<std::uint8_t>(flag(report.told, kReportTold) | flag(report.gone, kReportGone)));
    writer.varint(report.most);
    writer.varint(report.allowance);
    writer.varint(report.admitted);
    writer.varint(report.wanted);
}

void encode(ByteWriter& writer, const WindowGrant& grant) {
    WEIR_ASSERT(is_of_windows(grant.key) && (grant.run == 0) == (grant.number == 0));
    const RecordWriter record(writer);
    encode(writer, grant.key);
    writer.u64(grant.run);
    writer.u32(grant.end);
    writer.varint(grant.number);
    writer.u8(static_cast<std::uint8_t>(flag(grant.granted, kGranted) |
                                        flag(grant.scarce, kGrantScarce)));
    writer.varint(grant.allowance);
}

WindowReport decode_window_report(ByteReader& reader) {
    RecordReader record(reader);
    ByteReader& fields = record.fields();
    WindowReport report;
    report.key = decode_key(fields);
    if (!is_of_windows(report.key)) {
        return report;
    }
    report.run = fields.u64();
    report.end = fields.u32();
    report.number = fields.varint();
    const std::uint8_t flags = fields.u8();
    report.told = (flags & kReportTold) != 0;
    report.gone = (flags & kReportGone) != 0;
    report.most = fields.varint();
    report.allowance = fields.varint();
    report.admitted = fields.varint();
    report.wanted = fields.varint();
    return report;
}

WindowGrant decode_window_grant(ByteReader& reader) {
    RecordReader record(reader);
    ByteReader& fields = record.fields();
    WindowGrant grant;
    grant.key = decode_key(fields);
    if (!is_of_windows(grant.key)) {
        return grant;
    }
    grant.run = fields.u64();
    grant.end = fields.u32();
    grant.number = fields.varint();
    const std::uint8_t flags = fields.u8();
    grant.granted = (flags & kGranted) != 0;
    grant.scarce = (flags & kGrantScarce) != 0;
    grant.allowance = fields.varint();
    return grant;
}

bool plausible(const WindowReport& report) {
    return is_of_windows(report.key) && report.run != 0 && report.number != 0 && report.end != 0 &&
           plausible_weight(report.most) && plausible_weight(report.allowance) &&
           plausible_weight(report.admitted) && plausible_weight(report.wanted);
}

bool plausible(const WindowGrant& grant) {
    return is_of_windows(grant.key) && (grant.run == 0) == (grant.number == 0) && grant.end != 0 &&
           plausible_weight(grant.allowance);
}

}  // namespace weir::sync
