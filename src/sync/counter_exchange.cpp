#include "sync/counter_exchange.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "limiter/limiter.h"

namespace weir::sync {
namespace {

constexpr std::uint64_t kHintsEvery = 25;  // ticks
/// Of hot limits in a ping: half of the 64 that are known; the other half is in the next.
constexpr std::size_t kHintBytes = 500;
constexpr Duration kLoadEvery = std::chrono::seconds(1);
constexpr std::uint64_t kForgetSilentEvery = 1000;  // ticks
constexpr std::uint64_t kForgetDepartedEvery = 50;

}  // namespace

CounterExchange::CounterExchange(const SyncSettings& settings, limiter::Limiter& limiter,
                                 membership::Transport& transport, Random for_reporter,
                                 Random for_owner, WeightLedger* ledger)
    : settings_(settings),
      limiter_(limiter),
      transport_(transport),
      silence_(settings, counters_),
      quiet_(settings, limiter, for_owner.fork(), counters_, ledger),
      reporter_(settings, limiter, silence_.side(), quiet_, for_reporter, counters_, ledger),
      owner_(
          settings, silence_, for_owner,
          [this](const LimitKey& key, std::string& name, limiter::LimitParameters& parameters,
                 limiter::Isolation& isolation) {
              return resolve(key, name, parameters, isolation);
          },
          counters_, ledger),
      fair_(limiter, owner_, counters_),
      allowance_origin_(limiter, counters_),
      allowance_owner_(
          settings, silence_, [this] { return live_serving(); }, counters_),
      window_origin_(limiter, counters_),
      window_owner_(
          silence_, [this] { return live_serving(); }, counters_),
      kept_counts_(window_origin_, window_owner_),
      kept_levels_(limiter, owner_),
      hot_(settings.hot_limits),
      delta_messages_(transport, counters_.dropped_entries),
      quiet_messages_(transport, counters_.dropped_entries, kQuietAnswerMayWait),
      quiet_answers_(kQuietAnswerMayWait, kQuietAnswers,
                     [this](const gossip::MemberId& to, const QuietAnswer& answer) {
                         send_quiet_answer(to, answer);
                     }),
      delta_answers_(kAnswerMayWait, kDeltaAnswers,
                     [this](const gossip::MemberId& to, const Unanswered& message) {
                         answer_deltas(to, message);
                     }) {
    window_owner_.watch(lost_owners_);
}

void CounterExchange::start(Instant now) {
    now_ = now;
    load_.start(now);
    bytes_load_.start(now);
    self_ = transport_.self();
    self_number_ = silence_.number(self_, now);
    WEIR_ASSERT(silence_.id(self_number_) == self_);
    silence_.set_self(self_.address);
    // The counts of this process keep this number, also when it gets another incarnation.
    window_origin_.set_run(self_.incarnation);
    started_ = now;
    reporter_.set_self(self_);
    owner_.set_self(self_);
    owner_.start(transport_.owners(), now);
}

void CounterExchange::heard(const gossip::MemberId& member, Instant now) {
    silence_.heard(silence_.number(member, now), now);
}

void CounterExchange::blame(const gossip::MemberId& member, Instant now) {
    silence_.refused(silence_.number(member, now));
}

void CounterExchange::answered(const gossip::MemberId& member, Instant now) {
    now_ = now;
    if (!std::exchange(answered_at_once_, false)) {
        return;  // the answer waits, and so does what waits for it
    }
    const auto to_it = [&](const gossip::MemberId& to) { return to == member; };
    delta_answers_.send_due(now, to_it);
    quiet_answers_.send_due(now, to_it);
}

bool CounterExchange::nobody_there(const gossip::MemberId& member, Instant now) {
    now_ = now;
    switch (silence_.nobody_there(silence_.number(member, now), now)) {
        case Silence::Hint::ask:
            return true;
        case Silence::Hint::given_up:
            reporter_.distrust(member, now);
            return false;
        case Silence::Hint::known:
            return false;
    }
    return false;
}

void CounterExchange::tick(Instant now, std::uint64_t number) {
    now_ = now;
    const membership::Membership& members = transport_.membership();
    // Anchors are heard and missed like all others, but have no share of limits.
    silence_.set_live_others(members.live_count(), members.last_heard(), now_);
    quiet_.set_members(serving_members(), now_);
    owner_.set_shares(quiet_.shares());
    report();
    follow_clock();
    share_counted();
    restore_levels();
    owner_.tick(now_, *this);
    fair_.tick(now_, transport_.owners(), self_, *this);
    if (number % kHintsEvery == 0) {
        renew_hints();
    }
    if (now_ - load_.noted() >= kLoadEvery) {
        note_load();
    }
    if (number % kForgetDepartedEvery == 0) {
        owner_.forget(silence_.take_departed(now_), now_);
    }
    silence_.heard(self_number_, now_);  // nobody else says that we live
    if (number % kForgetSilentEvery == 0) {
        silence_.forget_old(now_);
    }
}

void CounterExchange::tick_alone(Instant now) {
    now_ = now;
    if (kept_counts_.wanted()) {
        // It also finds the windows among those in use.
        limiter_.drain_active([this](limiter::LimitRef limit) { kept_levels_.note_used(limit); });
        share_windows(1, false);
    }
}

void CounterExchange::leave_alone(Instant now) {
    tick_alone(now);
    window_origin_.tell_all(now, transport_.owners(), *this);
}

void CounterExchange::report() {
    const membership::Owners& owners = transport_.owners();
    reporter_.adopt_touched(now_, owners, hot_);
    has_to_wake_.clear();
    quiet_.tick(owners, now_, *this, has_to_wake_);
    for (const LimitKey& key : has_to_wake_) {
        reporter_.wake_quiet(key, 0, 0, now_, owners);
    }
    reporter_.tick(now_, *this);
    send_messages();
}

void CounterExchange::begin_leaving(Instant now) {
    now_ = now;
    leaving_ = true;
    report();
    reporter_.tell_all(now, *this);
    quiet_.tell_all(transport_.owners(), now, *this);
    window_origin_.tell_all(now, transport_.owners(), *this);
    send_messages();
}

void CounterExchange::leave(Instant now) {
    now_ = now;
    owner_.leave(transport_.owners(), now, *this);
}

void CounterExchange::definitions_changed(Instant now) {
    reporter_.refresh_parameters(now);
    quiet_.refresh_parameters(now);
    owner_.refresh_parameters(now);
}

void CounterExchange::follow(std::span<const membership::MembershipEvent> events, Instant now) {
    now_ = now;
    for (const membership::MembershipEvent& event : events) {
        follow(event);
        window_owner_.members_changed();
    }
    owner_.expect_no_more(lost_, now);
    lost_.clear();
    follow_owners();
}

void CounterExchange::lose(const gossip::MemberId& member) {
    clock_.forget(member);
    delta_messages_.forget(member);
    quiet_messages_.forget(member);
    quiet_answers_.forget(member);
    delta_answers_.forget(member);
    fair_.forget(member);
    lost_.push_back(silence_.number(member, now_));
}

void CounterExchange::follow(const membership::MembershipEvent& event) {
    using Kind = membership::MembershipEvent::Kind;
    switch (event.kind) {
        case Kind::left:
            lost_owners_.left(event.member);
            [[fallthrough]];
        case Kind::replaced:
            silence_.gone(event.member, now_);
            lose(event.member);
            break;
        case Kind::dead:
            lose(event.member);
            silence_.died(event.member, now_);
            reporter_.lost(event.member);
            break;
        case Kind::renewed:
            delta_messages_.clear();  // answers to our former incarnation do not come
            quiet_messages_.clear();
            quiet_answers_.clear();
            delta_answers_.clear();
            silence_.gone(self_, now_);  // our former incarnation
            lost_.push_back(self_number_);
            self_ = event.member;
            owners_moved_ = true;
            self_number_ = silence_.number(self_, now_);
            reporter_.set_self(self_);
            owner_.set_self(self_);
            // What is under way to those who had given us up will not be answered.
            reporter_.ask_anew(now_);
            break;
        case Kind::suspected:
        case Kind::cleared:
            silence_.suspected(event.member, event.kind == Kind::suspected, now_);
            break;
        case Kind::joined:
            silence_.heard(silence_.number(event.member, now_), now_);
            silence_.joined(event.member, serves(event.member));
            greet_with_clock(event.member);
            break;
        default:
            break;
    }
}

void CounterExchange::follow_owners() {
    unsigned first_changed = 0;  // one bit for each shard
    for (const membership::OwnerChange& change : transport_.take_owner_changes()) {
        owners_moved_ = true;
        const bool owned = owner_.owns(change.shard);
        owner_.shard_changed(change, now_, *this);
        if (!owned && owner_.owns(change.shard)) {
            fill_from_views(change.shard);
        }
        reporter_.shard_changed(change.shard, change.after, now_);
        const bool same = !change.before.empty() && !change.after.empty() &&
                          change.before.front() == change.after.front();
        first_changed |= same ? 0U : membership::bit_of(change.shard);
    }
    if (first_changed != 0) {
        // Origins need to know what was handed over before they tell another first owner.
        quiet_answers_.send_due(now_, [](const gossip::MemberId&) { return true; });
        quiet_.owners_changed(static_cast<std::uint16_t>(first_changed), now_);
    }
}

/// A shard is ours now: what our own views believe is better than nothing. The others' rates are
/// those of former owners' knowledge; if all of these are silent, it is a split, and they are held,
/// unless we hear most of the others for certain.
void CounterExchange::fill_from_views(membership::Shard shard) {
    reporter_.for_each_in_shard(shard, now_, [&](const SyncedLimit& limit) {
        const Side& side = silence_.side();
        const OwnerView* view = limit.believed(settings_, side, now_);
        if (view == nullptr || !view->filled()) {
            return;
        }
        HandoverEntry entry;
        entry.key = limit.key;
        entry.level = std::max(0.0, view->bucket().level);
        entry.shedding = view->bucket().shedding;
        entry.heaviest = view->bucket().heaviest;
        entry.typical = limit.own.typical;
        const bool split = !view->fresh(settings_, now_) && !side.confirmed;
        entry.rate = split ? view->own_rate() : view->others_rate();
        entry.held_rate = split ? view->told_others_rate() : 0;
        entry.hold_left =
            split ? limit.hold_time(settings_) - (now_ - *view->heard_at()) : Duration::zero();
        owner_.fill(entry, limit.name, limit.parameters, now_);
    });
}

void CounterExchange::stopped(Instant now) {
    now_ = now;
    silence_.restart(now_);
    reporter_.ask_anew(now_);
    allowance_owner_.stopped(now_);
    window_owner_.stopped(now_);
    owner_.stopped(now_, transport_.owners());
}

/// By name if the limit is used here; else by the name that was told and our own definitions.
bool CounterExchange::resolve(const LimitKey& key, std::string& name,
                              limiter::LimitParameters& parameters,
                              limiter::Isolation& isolation) const {
    if (const SyncedLimit* synced = reporter_.find(key)) {
        name = synced->name;
        parameters = synced->parameters;
        isolation = synced->isolation;
        return true;
    }
    if (const QuietLimit* quiet = quiet_.find(key)) {
        if (const auto identity = limiter_.identity(quiet->ref)) {
            name = identity->quota;
            parameters = identity->parameters;
            isolation = identity->isolation;
            return true;
        }
    }
    if (name.empty() || key.unit >= limiter::kUnits || key.period_ms > kLongestPeriodMs) {
        return false;
    }
    const auto found = limiter_.resolve_parameters(name, static_cast<limiter::Unit>(key.unit),
                                                   std::chrono::milliseconds(key.period_ms));
    if (found) {
        parameters = *found;
        isolation = limiter_.isolation_of(name);
    }
    return found.has_value();
}

void CounterExchange::renew_hints() {
    hot_.forget_old(now_);
    owner_.note_hot(hot_, now_);
    transport_.set_hints(hot_.encode(now_, kHintBytes, hint_offset_));
    if (hot_.size() > 0) {
        hint_offset_ = (hint_offset_ + hot_.size() / 2 + 1) % hot_.size();
    }
}

void CounterExchange::note_load() {
    const membership::TransportCounters& counters = transport_.counters();
    const auto lane = static_cast<std::size_t>(gossip::Lane::counters);
    const double datagrams = load_.per_second(counters.datagrams_in, counters.datagrams_out, now_);
    const double bytes = bytes_load_.per_second(0, counters.lane_bytes_out[lane], now_);
    const double budget = membership::counter_budget_of(settings_.counter_bytes).bytes_per_second;
    owner_.note_load(std::max(datagrams / settings_.datagrams_per_second,
                              bytes / budget * publications_due_for_each_sent()));
}

/// By how much the publications that were due since the last call exceed those that were sent: what
/// is put off is no load, but it would be.
double CounterExchange::publications_due_for_each_sent() {
    constexpr double kMost = 2;
    WEIR_ASSERT(counters_.publications >= noted_publications_);
    WEIR_ASSERT(counters_.publications_put_off >= noted_put_off_);
    const auto sent = static_cast<double>(
        counters_.publications - std::exchange(noted_publications_, counters_.publications));
    const auto put_off =
        static_cast<double>(counters_.publications_put_off -
                            std::exchange(noted_put_off_, counters_.publications_put_off));
    return std::min(kMost, 1 + put_off / std::max(1.0, sent));
}

}  // namespace weir::sync
