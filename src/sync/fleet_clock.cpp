#include "sync/fleet_clock.h"

#include <algorithm>

#include "base/assert.h"
#include "base/records.h"

namespace weir::sync {
namespace {

/// No clock shows a time later than this, the end of the year 2261.
constexpr std::uint64_t kLatestMillisecond = 9'214'646'400'000;
constexpr Duration kLookAtClocksEvery = std::chrono::seconds(1);

}  // namespace

void FleetClock::encode(ByteWriter& writer, Instant now) const {
    WEIR_ASSERT(own_.has_value());
    const RecordWriter record(writer);
    const Duration time = *own_ + now.time_since_epoch();
    writer.u64(static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, std::chrono::floor<std::chrono::milliseconds>(time).count())));
}

bool FleetClock::receive(const gossip::MemberId& member, ByteReader& reader, Instant now) {
    std::uint64_t milliseconds = 0;
    {
        RecordReader record(reader);
        milliseconds = record.fields().u64();
    }
    if (!reader.ok() || milliseconds == 0 || milliseconds > kLatestMillisecond) {
        return false;
    }
    if (others_.size() >= kMostClocks && !others_.contains(member)) {
        const auto oldest = std::min_element(
            others_.begin(), others_.end(),
            [](const auto& a, const auto& b) { return a.second.heard < b.second.heard; });
        others_.erase(oldest);
    }
    if (others_.empty()) {
        median_.reset();
    }
    const Duration time = std::chrono::milliseconds(milliseconds);
    others_[member] = {time - now.time_since_epoch(), now};
    WEIR_ASSERT(others_.size() <= kMostClocks);
    return true;
}

/// The median of the clocks that were told lately and this one; those that were not are forgotten.
Duration FleetClock::find_median(Instant now) {
    std::vector<Duration> clocks = {*own_};
    for (auto each = others_.begin(); each != others_.end();) {
        if (now - each->second.heard > kBelieveFor) {
            each = others_.erase(each);
            continue;
        }
        clocks.push_back(each->second.ahead);
        ++each;
    }
    std::sort(clocks.begin(), clocks.end());
    return clocks[(clocks.size() - 1) / 2];
}

Duration FleetClock::ahead(Instant now) {
    WEIR_ASSERT(own_.has_value());
    const bool set = std::chrono::abs(*own_ - own_then_) >= kSame;
    if (!median_ || set || now - looked_ >= kLookAtClocksEvery) {
        median_ = find_median(now);
        looked_ = now;
        own_then_ = *own_;
    }
    // Each member keeps its own clock where it agrees with the median, because that it knows
    // without the time that messages take.
    const Duration next = std::chrono::abs(*median_ - *own_) < kSame ? *own_ : *median_;
    if (next == *own_ || std::chrono::abs(next - common_) >= kSame / 2) {
        common_ = next;
    }
    return common_;
}

}  // namespace weir::sync
