#include "limiter/windows.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/hash.h"
#include "base/relaxed.h"

namespace weir::limiter {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// How often a thread looks again while another one begins the window.
constexpr int kLooks = 1000;

/// The key of the hash by which the windows of quotas are moved. It must be the same in every
/// sidecar and every version: "weir key of wind".
constexpr HashKey kWindowKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                              std::byte{' '}, std::byte{'k'}, std::byte{'e'}, std::byte{'y'},
                              std::byte{' '}, std::byte{'o'}, std::byte{'f'}, std::byte{' '},
                              std::byte{'w'}, std::byte{'i'}, std::byte{'n'}, std::byte{'d'}}};

}  // namespace

std::int64_t Windows::second(std::int64_t now) const {
    // There are no windows before 1970, whatever a clock shows.
    return std::max<std::int64_t>(0, (now + ahead_.load(kRelaxed)) / kSecond);
}

Duration Windows::left(const LimitRecord& record, std::int64_t now) const {
    const std::int64_t end = window_end(record) * kSecond;
    return Duration(std::max<std::int64_t>(0, end - (now + ahead_.load(kRelaxed))));
}

WindowSpan Windows::span_of(std::string_view name, const CompiledLimit& limit,
                            std::int64_t second) {
    WEIR_ASSERT(limit.windows != nullptr);
    const WindowSpan span = limit.windows->at(second, keyed_hash(name, kWindowKey));
    WEIR_ASSERT(span.begin <= second && second < span.end);
    WEIR_ASSERT(span.end - span.begin <= limit.windows->longest());
    return span;
}

bool Windows::began_before(const LimitRecord& record, const CompiledLimit& limit,
                           std::int64_t then) const {
    WEIR_ASSERT(limit.windows != nullptr);
    // The window that follows one of another schedule may be shorter than it should be.
    const WindowSpan last = limit.windows->at(window_end(record) - 1, 0);
    const std::int64_t length = last.end - last.begin;
    return second(then) >= window_end(record) - length;
}

/// Begins the present window: the one that this process was told of, or that of the schedule.
void Windows::begin(std::uint32_t head, LimitRecord& record, const CompiledLimit& limit,
                    std::int64_t second, double before) const {
    const std::string_view name = store_.name(head);
    const LimitNaming naming = limit.fleet ? naming_.load(std::memory_order_acquire) : nullptr;
    if (naming != nullptr) {
        const auto told = told_.find(naming(name, limit.unit, limit.period));
        if (told && window_contains(told->end, second, limit.windows->longest())) {
            set_window_allowance(record, told->allowance);
            begin_window(record, told->end, before, told->admitted);
            return;
        }
    }
    const WindowSpan span = span_of(name, limit, second);
    const std::uint32_t members = limit.fleet ? members_.load(kRelaxed) : 1;
    const double most = limit.parameters.low;
    if (members <= 1) {
        lift_window_allowance(record);
    } else if (span.begin >= since_.load(kRelaxed)) {
        set_window_allowance(record, std::max(1.0, std::floor(most / members)));
    } else {
        set_window_allowance(record, std::max(1.0, std::floor(most * kPartOfNewMembers)));
    }
    begin_window(record, span.end, before, 0);
}

bool Windows::open_next(std::uint32_t head, LimitRecord& record, const CompiledLimit& limit,
                        std::int64_t now) {
    WEIR_ASSERT(head != 0);
    const std::int64_t at = second(now);
    for (int look = 0; look < kLooks; ++look) {
        const double before = record.level.load(kRelaxed);
        if (try_lock(record)) {
            if (!window_is_open(record, at, limit.windows->longest())) {
                begin(head, record, limit, at, before);
            }
            unlock(record);
            return true;
        }
        if (window_is_open(record, at, limit.windows->longest())) {
            return true;
        }
    }
    return false;
}

}  // namespace weir::limiter
