#include "sync/window_origin.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "sync/synced_limit.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

/// The control thread's tick: nothing can be told sooner.
constexpr Duration kWindowSoon = 10ms;
/// What was admitted is told so long after the last report.
constexpr Duration kWindowTellEvery = 100ms;
/// A report that was not noted is sent again after so long, and each next time after twice the
/// time.
constexpr Duration kWindowResend = 200ms;
constexpr std::uint32_t kWindowDoublings = 5;
/// Who wants more than it was granted asks again after so long, and each next time after twice the
/// time; the owner grants by itself what becomes free.
constexpr Duration kWindowAskAgain = 200ms;
/// More is asked for when what is left lasts for less than so long at the present rate.
constexpr double kWindowAhead = 0.1;
/// So much is asked for, in seconds of that rate.
constexpr double kWindowStock = 0.25;
/// The time, in seconds, over which the rate is estimated (an exponential mean). With a shorter one
/// a single burst would ask for all that is left.
constexpr double kWindowRateTime = 0.3;
/// A limit that admits less than so many typical requests a second is not in use.
constexpr double kWindowUsed = 0.1;

std::uint64_t whole_weight(double weight) {
    constexpr double kMost = 1e16;
    WEIR_ASSERT(weight >= 0);
    return static_cast<std::uint64_t>(std::ceil(std::min(weight, kMost)));
}

Duration doubled(Duration first, std::uint32_t times) {
    return first * (std::int64_t{1} << std::min(times, kWindowDoublings));
}

/// The number of a limit among what the limiter was told.
std::uint64_t number_of_key(const LimitKey& key) { return hash(key) | 1; }

std::uint64_t number_of_limit(std::string_view quota, limiter::Unit unit, Duration period) {
    LimitKey key = key_of(quota, unit, period);
    key.kind = static_cast<std::uint8_t>(limiter::LimitKind::window);
    return number_of_key(key);
}

}  // namespace

void WindowOrigin::tick(Instant now, std::int64_t second, const membership::Owners& owners,
                        WindowSink& sink, bool moved) {
    second_ = second;
    if (moved) {
        follow(owners, now);
    }
    limiter_.drain_windows([&](limiter::LimitRef ref) { touched(ref, now); });
    for (std::size_t looks = 0; looks < kLooksEachTick; ++looks) {
        const auto slot = due_.take(now);
        if (!slot) {
            break;
        }
        look(*slot, now, owners, sink);
    }
}

/// New owners are told what was admitted here.
void WindowOrigin::follow(const membership::Owners& owners, Instant now) {
    std::uint16_t moved = 0;
    for (membership::Shard shard = 0; shard < membership::kShards; ++shard) {
        if (owners.of(shard) != owners_[shard]) {
            owners_[shard] = owners.of(shard);
            moved = static_cast<std::uint16_t>(moved | membership::bit_of(shard));
        }
    }
    if (moved == 0) {
        return;
    }
    limits_.for_each([&](const LimitKey& key, std::uint32_t slot) {
        if ((moved & membership::bit_of(membership::shard_of(key.quota))) != 0) {
            due_.add(slot, now);
        }
    });
}

// --- the table -----------------------------------------------------------------------------------

void WindowOrigin::touched(limiter::LimitRef ref, Instant now) {
    if (const auto known = by_record_.find(ref.record); known != by_record_.end()) {
        Limit& limit = limits_[known->second];
        if (limit.ref == ref) {
            due_.add(known->second, now);
            return;
        }
        unlink(limit);
    }
    const auto identity = limiter_.identity(ref);
    if (!identity) {
        return;
    }
    const LimitKey key = key_of(*identity);
    const auto known = limits_.find(key);
    if (const auto slot = known ? known : add(key)) {
        link(*slot, ref, now);
        due_.add(*slot, now);
    }
}

std::optional<std::uint32_t> WindowOrigin::add(const LimitKey& key) {
    if (limits_.size() >= kMostLimits) {
        ++statistics_.dropped_entries;
        return std::nullopt;
    }
    return limits_.add(key);
}

/// A record that was made anew goes on with what the limit admitted before.
void WindowOrigin::link(std::uint32_t slot, limiter::LimitRef ref, Instant now) {
    Limit& limit = limits_[slot];
    WEIR_ASSERT(is_of_windows(limit.key));
    unlink(limit);
    limit.ref = ref;
    by_record_[ref.record] = slot;
    if (limit.end > second_) {
        allow(limit, true, now);
    }
}

void WindowOrigin::unlink(Limit& limit) {
    if (limit.ref) {
        by_record_.erase(limit.ref->record);
        limit.ref.reset();
    }
    WEIR_ASSERT(by_record_.size() <= limits_.size());
}

void WindowOrigin::drop(std::uint32_t slot) {
    Limit& limit = limits_[slot];
    unlink(limit);
    limits_.remove(slot);
    due_.remove(slot);
}

/// Puts what this member may admit in the window in force, also for a record that is made later.
void WindowOrigin::allow(Limit& limit, bool anew, Instant now) {
    if (!limit.allowance && !(limit.counts.admitted > 0)) {
        return;
    }
    limiter::WindowAllowance allowance{.end = limit.end,
                                       .allowance = limit.allowance
                                                        ? static_cast<double>(*limit.allowance)
                                                        : limit.counts.allowance,
                                       .admitted = limit.counts.admitted};
    foretell(limit.key, allowance);
    if (!anew) {
        allowance.admitted = 0;  // the record knows better, because weight may have been given back
    }
    if (limit.ref && !limiter_.allow_in_window(*limit.ref, allowance, now)) {
        unlink(limit);
    }
}

void WindowOrigin::foretell(const LimitKey& key, const limiter::WindowAllowance& allowance) {
    WEIR_ASSERT(is_of_windows(key));
    limiter_.foretell_window(number_of_key(key), allowance, &number_of_limit);
}

// --- what is reported ----------------------------------------------------------------------------

void WindowOrigin::begin_window(Limit& limit, std::uint32_t end) {
    limit.end = end;
    limit.allowance.reset();
    limit.scarce = false;
    limit.asked_in_vain = 0;
    limit.counts = {};
    limit.said = {.key = limit.key};
    limit.again = false;
    for (Told& told : limit.owners) {
        told.noted = 0;
    }
}

/// Reads what was admitted. False when there is no window.
bool WindowOrigin::measure(Limit& limit, Instant now) {
    WEIR_ASSERT(limits_.find(limit.key).has_value());
    const auto counts = limit.ref ? limiter_.take_window(*limit.ref, now) : std::nullopt;
    if (!counts) {
        unlink(limit);
        return limit.end > second_;
    }
    const auto end = static_cast<std::uint32_t>(counts->end);
    if (end == 0) {
        return limit.end > second_;
    }
    if (end != limit.end) {
        const double lacking = limit.counts.lacking;
        begin_window(limit, end);
        limit.counts.lacking = lacking;
    }
    const double seconds = to_seconds(now - limit.looked);
    const double before = std::min(limit.counts.admitted, counts->admitted);
    if (seconds > 0) {
        const double rate = (counts->admitted - before) / seconds;
        limit.rate += (rate - limit.rate) * (1 - std::exp(-seconds / kWindowRateTime));
    }
    limit.looked = now;
    const double lacking = limit.counts.lacking + counts->lacking;
    limit.counts = *counts;
    limit.counts.lacking = lacking;
    return true;
}

/// How much this member would like to admit from now on, until it asks again.
double WindowOrigin::need_of(const Limit& limit) {
    return std::max(limit.counts.lacking, limit.rate * kWindowStock) + limit.counts.typical;
}

/// Whether it needs more than it may admit, or soon will.
bool WindowOrigin::asks(const Limit& limit) {
    const limiter::WindowCounts& counts = limit.counts;
    if (counts.allowance >= counts.most) {
        return false;
    }
    const double left = std::max(0.0, counts.allowance - counts.admitted);
    // Of what is spent nobody asks for more who does not need it now: what becomes free, the owner
    // grants by itself.
    const bool may = !limit.scarce || limit.rate > counts.typical * kWindowUsed;
    return counts.lacking > 0 || (may && left < limit.rate * kWindowAhead + counts.typical);
}

/// How long after the last report the next one is due.
Duration WindowOrigin::report_after(const Limit& limit) {
    const WindowReport& said = limit.said;
    if (said.end != limit.end || (limit.allowance && *limit.allowance < said.allowance)) {
        return Duration::zero();  // it is the window's first, or confirms a smaller allowance
    }
    if (asks(limit) && limit.asked_in_vain == 0) {
        return kWindowSoon;
    }
    if (said.admitted != whole_weight(limit.counts.admitted)) {
        return kWindowTellEvery;
    }
    return asks(limit) ? doubled(kWindowAskAgain, limit.asked_in_vain) : Duration::max();
}

/// True when another member has become the first owner. It has to hear what this one may admit by
/// now, which can be more than it has told.
bool WindowOrigin::follow_owners(Limit& limit, const membership::Owners& owners) {
    const membership::OwnerList& list = owners.of(membership::shard_of(limit.key.quota));
    std::array<Told, membership::kOwnersPerShard> next;
    limit.owner_count = std::min(list.size(), next.size());
    for (std::size_t i = 0; i < limit.owner_count; ++i) {
        next[i].owner = list[i];
        for (const Told& told : limit.owners) {
            next[i] = told.owner == list[i] ? told : next[i];
        }
    }
    const bool moved =
        limit.said.run != 0 && limit.owner_count > 0 && limit.owners[0].owner != next[0].owner;
    limit.owners = next;
    return moved;
}

void WindowOrigin::look(std::uint32_t slot, Instant now, const membership::Owners& owners,
                        WindowSink& sink) {
    Limit& limit = limits_[slot];
    if (!measure(limit, now)) {
        drop(slot);
        return;
    }
    if (!sink.has_room_for_windows(asks(limit))) {
        ++statistics_.windows_put_off;
        due_.add(slot, now + kWindowTellEvery);
        return;
    }
    const bool moved = follow_owners(limit, owners);
    const Duration after = report_after(limit);
    if (moved || limit.again || after == Duration::zero() || now - limit.said_at >= after) {
        report(limit, now);
    }
    send_due(limit, now, sink);
    due_.add(slot, next_look(limit, now));
}

std::optional<WindowReport> WindowOrigin::own_count(std::uint32_t slot) {
    const Limit& limit = limits_[slot];
    const std::uint64_t admitted = whole_weight(limit.counts.admitted);
    if (limit.end <= second_ || admitted == 0) {
        return std::nullopt;
    }
    WEIR_ASSERT(run_ != 0);
    const bool said = limit.said.end == limit.end && limit.said.admitted == admitted;
    return WindowReport{.key = limit.key,
                        .run = run_,
                        .end = limit.end,
                        .number = said ? limit.said.number : ++reports_,
                        .gone = true,
                        .most = whole_weight(limit.counts.most),
                        .allowance = admitted,
                        .admitted = admitted,
                        .wanted = admitted};
}

void WindowOrigin::report(Limit& limit, Instant now) {
    WEIR_ASSERT(run_ != 0 && limit.end != 0);
    const bool asked = limit.said.wanted > limit.said.allowance && limit.said.end == limit.end;
    const bool asking = asks(limit);
    limit.asked_in_vain = asking && asked ? limit.asked_in_vain + 1 : 0;
    const std::uint64_t most = whole_weight(limit.counts.most);
    const std::uint64_t admitted = whole_weight(limit.counts.admitted);
    const std::uint64_t wanted = admitted + (asking ? whole_weight(need_of(limit)) : 0);
    news_ += limit.said.end == limit.end && limit.said.admitted == admitted ? 0U : 1U;
    limit.said = {.key = limit.key,
                  .run = run_,
                  .end = limit.end,
                  .number = ++reports_,
                  .told = limit.allowance.has_value(),
                  .most = most,
                  .allowance = limit.allowance ? *limit.allowance
                                               : static_cast<std::uint64_t>(limit.counts.allowance),
                  .admitted = admitted,
                  .wanted = std::min(std::max(most, admitted), wanted)};
    WEIR_ASSERT(limit.said.wanted >= limit.said.admitted);
    limit.said_at = now;
    limit.again = false;
    limit.counts.lacking = 0;
    for (Told& told : limit.owners) {
        told.sent = told.answers = 0;
    }
    ++statistics_.windows_reported;
}

/// Sends the newest report to the owners that have not noted it.
void WindowOrigin::send_due(Limit& limit, Instant now, WindowSink& sink) {
    if (limit.said.run == 0) {
        return;
    }
    WEIR_ASSERT(limit.owner_count <= limit.owners.size());
    for (std::size_t i = 0; i < limit.owner_count; ++i) {
        Told& told = limit.owners[i];
        if (told.noted == limit.said.number) {
            continue;
        }
        if (told.sent == 0 || now - told.sent_at >= doubled(kWindowResend, told.sent - 1)) {
            ++told.sent;
            told.sent_at = now;
            sink.send_window_report(told.owner, limit.said);
        }
    }
}

/// When the window has ended. If no other one has begun by then, the limit is dropped.
Instant WindowOrigin::after_end(const Limit& limit, Instant now) const {
    const auto left = std::chrono::seconds(std::int64_t{limit.end} - second_);
    return now + std::max<Duration>(left, 0s) + 1s;
}

Instant WindowOrigin::next_look(const Limit& limit, Instant now) const {
    Instant next = after_end(limit, now);
    for (std::size_t i = 0; i < limit.owner_count; ++i) {
        const Told& told = limit.owners[i];
        if (told.noted != limit.said.number && told.sent > 0) {
            next = std::min(next, told.sent_at + doubled(kWindowResend, told.sent - 1));
        }
    }
    if (const Duration after = report_after(limit); after != Duration::max()) {
        next = std::min(next, limit.said_at + std::max(after, kWindowSoon));
    }
    return std::max(next, now + kWindowSoon);
}

void WindowOrigin::tell_all(Instant now, const membership::Owners& owners, WindowSink& sink) {
    limits_.for_each([&](const LimitKey&, std::uint32_t slot) {
        Limit& limit = limits_[slot];
        if (measure(limit, now) && limit.end != 0) {
            (void)follow_owners(limit, owners);
            if (limit.said.end != limit.end ||
                limit.said.admitted != whole_weight(limit.counts.admitted)) {
                report(limit, now);
            }
            send_due(limit, now, sink);
        }
    });
}

/// Notes that an owner has answered the newest report.
WindowOrigin::Answer WindowOrigin::take_answer(Limit& limit, const gossip::MemberId& from) {
    for (std::size_t i = 0; i < limit.owner_count; ++i) {
        Told& told = limit.owners[i];
        if (told.owner == from) {
            told.noted = limit.said.number;
            return {.noted = true, .repeated = ++told.answers > told.sent};
        }
    }
    return {};
}

void WindowOrigin::receive(const gossip::MemberId& from, const WindowGrant& grant, Instant now) {
    const auto known = limits_.find(grant.key);
    if (!known && !(grant.granted && grant.number == 0)) {
        return;
    }
    const auto slot = known ? known : add(grant.key);
    if (!slot) {
        return;
    }
    Limit& limit = limits_[*slot];
    if (limit.end <= second_) {
        begin_window(limit, 0);  // what was said is about a window that has ended
    }
    const bool answers =
        limit.said.run != 0 && grant.run == run_ && grant.number == limit.said.number;
    if (!answers && limit.said.run != 0) {
        // A report has overtaken it, it is about another run, or the owner has lost what was said.
        limit.again = limit.again || (grant.granted && grant.number == 0);
        if (limit.again) {
            due_.add(*slot, now + kWindowSoon);
        }
        return;
    }
    if (!answers && grant.number != 0) {
        return;
    }
    const Answer answer = answers ? take_answer(limit, from) : Answer{};
    if (answer.noted && !grant.granted && grant.end > second_ && grant.end < limit.end) {
        // The first owner, which may be this member after a fault, does not know of the window that
        // began before: all owners are told.
        limit.end = grant.end;
        allow(limit, false, now);
        due_.add(*slot, now + kWindowSoon);
        return;
    }
    if (!grant.granted || grant.end <= second_ || grant.end > second_ + kFarthestWindow ||
        (limit.end > second_ && grant.end > limit.end)) {
        return;
    }
    // What was granted and taken back before it was told here needs to be confirmed, too. If no
    // more is left of it than was reported, that shows when the owner says it without being asked.
    const auto granted = static_cast<double>(grant.allowance);
    limit.again = limit.again || (limit.said.run != 0 && granted <= limit.counts.allowance &&
                                  (answer.repeated || grant.allowance != limit.said.allowance));
    limit.end = grant.end;  // if it is another one, then the same window by the owner's name
    limit.scarce = grant.scarce;
    limit.allowance = grant.allowance;
    if (granted > limit.counts.allowance) {
        limit.asked_in_vain = 0;
    }
    limit.counts.allowance = granted;
    allow(limit, false, now);
    due_.add(*slot, now + kWindowSoon);
}

}  // namespace weir::sync
