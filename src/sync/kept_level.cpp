#include "sync/kept_level.h"

#include <algorithm>
#include <string_view>

#include "base/assert.h"
#include "base/records.h"
#include "limiter/definition.h"
#include "sync/number_forms.h"

namespace weir::sync {
void KeptLevel::drain(double seconds) {
    WEIR_ASSERT(seconds >= 0 && parameters.rate >= 0);
    const double drained = parameters.rate * seconds;
    level = std::max(0.0, level - drained);
    full = std::max(0.0, full - drained);
    sum = std::max(0.0, sum - drained / 2);
}

QuietOrder order_of(const KeptLevel& kept) {
    WEIR_ASSERT(kept.level >= 0 && kept.full >= 0);
    return {.key = kept.key,
            .kind = OrderKind::kept,
            .level = kept.level,
            .sum = kept.sum,
            .full = kept.full,
            .limit_rate = kept.parameters.rate,
            .low = kept.parameters.low};
}

void encode(ByteWriter& writer, const KeptLevel& entry) {
    WEIR_ASSERT(entry.name.size() <= kMaximumNameSize);
    const RecordWriter record(writer);
    encode(writer, entry.key);
    writer.f64(entry.level);
    writer.f64(entry.sum);
    writer.f64(entry.full);
    writer.f64(entry.parameters.rate);
    writer.f64(entry.parameters.low);
    writer.f64(entry.parameters.high);
    writer.f64(limiter::debt(entry.parameters, 1));
    writer.u8(static_cast<std::uint8_t>(entry.parameters.law));
    writer.string(entry.name);
}

KeptLevel decode_kept_level(ByteReader& outer) {
    KeptLevel entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.key = decode_key(reader);
    if (of_later_version(entry.key)) {
        return entry;
    }
    entry.level = reader.f64();
    entry.sum = reader.f64();
    entry.full = reader.f64();
    entry.parameters.rate = reader.f64();
    entry.parameters.low = reader.f64();
    entry.parameters.high = reader.f64();
    entry.parameters.debt = reader.f64();
    entry.parameters.law = static_cast<limiter::Law>(reader.u8());
    entry.name = std::string(reader.string(kMaximumNameSize));
    return entry;
}

bool plausible(const KeptLevel& entry) {
    const limiter::LimitParameters& limit = entry.parameters;
    const bool of_rate = entry.key.kind == static_cast<std::uint8_t>(limiter::LimitKind::rate) &&
                         entry.key.unit < limiter::kUnits &&
                         entry.key.period_ms <= kLongestPeriodMs;
    return of_rate && (entry.name.empty() || quota_hash(entry.name) == entry.key.quota) &&
           limit.rate > 0 && limit.high >= limit.low && static_cast<std::uint8_t>(limit.law) <= 1 &&
           within(
               {entry.level, entry.sum, entry.full, limit.rate, limit.low, limit.high, limit.debt},
               kLargestRate);
}

}  // namespace weir::sync
