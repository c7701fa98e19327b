#include "gossip/session.h"

#include <algorithm>

namespace weir::gossip {
namespace {

std::int64_t microseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

void add(std::optional<std::int64_t>& difference_us, Duration by) {
    if (difference_us) {
        *difference_us += microseconds(by);
    }
}

}  // namespace

std::optional<DatagramRejection> SequenceWindow::accept(std::uint64_t sequence) {
    if (!any_ || sequence > highest_) {
        const std::uint64_t steps = any_ ? std::min(sequence - highest_, kSize) : kSize;
        for (std::uint64_t i = 0; i < steps; ++i) {
            seen_.reset((sequence - i) % kSize);
        }
        highest_ = sequence;
        any_ = true;
    } else if (highest_ - sequence >= kSize) {
        return DatagramRejection::too_old;
    } else if (seen_.test(sequence % kSize)) {
        return DatagramRejection::duplicate;
    }
    seen_.set(sequence % kSize);
    return std::nullopt;
}

void PacketAge::turn(Instant now) {
    const Duration passed = now - half_began_;
    if (smallest_us_ && passed < kHalfWindow) {
        return;
    }
    previous_smallest_us_ = passed < 2 * kHalfWindow ? smallest_us_ : std::nullopt;
    smallest_us_.reset();
    half_began_ = now;
}

std::optional<Duration> PacketAge::age(std::uint64_t sent_at_us, Instant now) {
    if (sent_at_us >= std::uint64_t{1} << 62) {
        return std::nullopt;
    }
    turn(now);
    const std::int64_t difference =
        microseconds(now.time_since_epoch()) - static_cast<std::int64_t>(sent_at_us);
    smallest_us_ = std::min(smallest_us_.value_or(difference), difference);
    const std::int64_t least = std::min(*smallest_us_, previous_smallest_us_.value_or(difference));
    // A false clock must not overflow nanoseconds. An age of a day has the same effect as one of an
    // hour.
    constexpr std::int64_t longest_us = 86'400'000'000;
    return std::chrono::microseconds(std::min(difference - least, longest_us));
}

void PacketAge::caught_up(Duration by) {
    add(smallest_us_, by);
    add(previous_smallest_us_, by);
}

void ClockLead::note(std::uint64_t sent_at_us, Instant now) {
    const std::int64_t difference =
        microseconds(now.time_since_epoch()) - static_cast<std::int64_t>(sent_at_us);
    if (smallest_us_ && now - began_ < kWindow) {
        smallest_us_ = std::min(*smallest_us_, difference);
        return;
    }
    if (now - half_began_ >= PacketAge::kHalfWindow) {
        older_us_ = now - half_began_ < 2 * PacketAge::kHalfWindow ? recent_us_ : std::nullopt;
        recent_us_.reset();
        half_began_ = now;
    }
    heard_before_ = smallest_us_ && now - began_ < 2 * kWindow;
    if (smallest_us_) {
        recent_us_ = std::min(recent_us_.value_or(*smallest_us_), *smallest_us_);
    }
    smallest_us_ = difference;
    began_ = now;
}

std::optional<Duration> ClockLead::lead(Instant now) const {
    const auto before = recent_us_ && older_us_ ? std::min(recent_us_, older_us_)
                        : recent_us_            ? recent_us_
                                                : older_us_;
    if (!smallest_us_ || !before || !heard_before_ || now - began_ >= 2 * kWindow) {
        return std::nullopt;
    }
    // A false clock must not overflow nanoseconds.
    const std::int64_t lead_us = std::max<std::int64_t>(0, *before - *smallest_us_);
    return std::chrono::microseconds(std::min(lead_us, microseconds(kLargest)));
}

}  // namespace weir::gossip
