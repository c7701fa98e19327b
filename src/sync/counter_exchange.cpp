#include "sync/counter_exchange.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "base/records.h"
#include "limiter/limiter.h"

namespace weir::sync {
namespace {

constexpr std::uint64_t kHintsEvery = 25;  // ticks
/// The shares of the budget's burst that are left for what is more urgent: answers, which end what
/// is said again and again, and before them nothing; then what has leapt.
constexpr double kForAnswers = 0.2;
constexpr double kForUrgent = 0.5;
/// On leaving, so much is left for quiet limits, windows and hand-overs, which come after deltas.
constexpr double kForHandOvers = 0.5;
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
      quiet_messages_(transport, counters_.dropped_entries, WaitingAnswers::kWait),
      quiet_answers_(transport, counters_.dropped_entries) {
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
    owner_.publish_deferred(silence_.number(member, now), now, *this);
    quiet_answers_.send_due(now, [&](const gossip::MemberId& to) { return to == member; });
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

void CounterExchange::send_messages() {
    quiet_answers_.send_due(now_, [this](const gossip::MemberId& to) {
        return leaving_ || delta_messages_.is_filling(to) || quiet_messages_.is_filling(to);
    });
    delta_messages_.send_all(now_);
    quiet_messages_.send_all(now_);
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
    owner_.stopped(now_, transport_.owners(), *this);
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

template <class Entry>
void CounterExchange::send_entry(const gossip::MemberId& to, gossip::MessageType type,
                                 const Entry& entry) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    write_empty_head(writer);
    if constexpr (std::is_same_v<Entry, LimitKey>) {
        encode_question(writer, entry);
    } else {
        encode(writer, entry);
    }
    if (!writer.ok() || !transport_.send(to, type, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void CounterExchange::send_delta(const gossip::MemberId& owner, const DeltaEntry& entry) {
    if (owner == self_) {
        owner_.receive(self_, self_number_, entry, now_, *this);
        return;
    }
    std::array<std::byte, kMaximumEntrySize> buffer;
    ByteWriter writer(buffer);
    encode(writer, entry);
    WEIR_ASSERT(writer.ok() && entry.run != 0);
    delta_messages_.add(owner, writer.written(), said_in(entry), now_);
}

/// Whether the budget has room for what may wait, or for what may not. When this member leaves
/// there is no later: what finds no room then is lost anyway.
bool CounterExchange::has_budget(bool urgent) const {
    return leaving_ || room_left() > (urgent ? kForAnswers : kForUrgent);
}

double CounterExchange::room_left() const {  // the messages that are being filled count
    const std::size_t filling = delta_messages_.filling() + quiet_messages_.filling();
    return transport_.counter_room(filling, now_);
}

bool CounterExchange::has_room_for_delta(const gossip::MemberId& owner, bool urgent) {
    return owner == self_ ||
           (leaving_ ? room_left() > kForHandOvers
                     : has_budget(urgent) && delta_messages_.has_room(owner, now_));
}

Duration CounterExchange::delta_answer_wait(const gossip::MemberId& owner) {
    return delta_messages_.answer_wait(owner);
}

bool CounterExchange::has_room_for_quiet(const gossip::MemberId& owner, bool urgent) {
    return owner == self_ || (has_budget(urgent) && quiet_messages_.has_room(owner, now_));
}

Duration CounterExchange::quiet_answer_wait(const gossip::MemberId& owner) {
    return quiet_messages_.answer_wait(owner);
}

bool CounterExchange::has_room_to_publish(bool urgent) { return has_budget(urgent); }

void CounterExchange::send_quiet(const gossip::MemberId& owner, const QuietEntry& entry) {
    if (owner != self_) {
        std::array<std::byte, kMaximumEntrySize> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        WEIR_ASSERT(writer.ok() && entry.run != 0);
        quiet_messages_.add(owner, writer.written(), said_in(entry), now_);
    } else if (owner_.receive_quiet(self_, self_number_, entry, now_, *this).taken_in) {
        quiet_.acknowledge(said_in(entry), now_);
    }
}

void CounterExchange::send_order(const gossip::MemberId& to, const QuietOrder& order) {
    if (to == self_) {
        take_order(order, self_);
    } else {
        send_entry(to, gossip::MessageType::quiet_order, order);
    }
}

void CounterExchange::send_total(const gossip::MemberId& to, const TotalEntry& entry) {
    ++counters_.totals_sent;
    WEIR_ASSERT(entry.life != 0);
    if (to == self_) {
        reporter_.receive(self_, entry, now_);
    } else if (answering_ == nullptr || !answering_->add(to, entry)) {
        send_entry(to, gossip::MessageType::total, entry);
    }
}

void CounterExchange::send_handover(const gossip::MemberId& to, const HandoverEntry& entry) {
    if (to != self_) {
        send_entry(to, gossip::MessageType::handover, entry);
    }
}

void CounterExchange::send_name(const gossip::MemberId& to, const NameEntry& entry) {
    send_entry(to, gossip::MessageType::name_tell, entry);
}

void CounterExchange::ask_name(const gossip::MemberId& to, const LimitKey& key) {
    if (to != self_) {
        send_entry(to, gossip::MessageType::name_ask, key);
    }
}

void CounterExchange::ask_owner(const gossip::MemberId& to, std::uint16_t shards) {
    std::array<std::byte, 2> buffer;
    ByteWriter writer(buffer);
    writer.u16(shards);
    if (!transport_.send(to, gossip::MessageType::owner_ask, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void CounterExchange::send_children(const gossip::MemberId& to, bool answers,
                                    const ChildPart& part) {
    if (to == self_) {
        fair_.receive_totals(part, now_);
        return;
    }
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    encode(writer, part);
    const auto type =
        answers ? gossip::MessageType::child_totals : gossip::MessageType::child_rates;
    if (!has_budget(false) || !writer.ok() || !transport_.send(to, type, writer.written())) {
        ++counters_.dropped_entries;
    }
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
