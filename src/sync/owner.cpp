#include "sync/owner.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weir::sync {
namespace {

/// Limits are looked at in every so many ticks of 10 ms.
constexpr std::uint64_t kLookEvery = 5;
constexpr std::uint64_t kLookPhase = 1;
constexpr Duration kTick = std::chrono::milliseconds(10);
/// ... or after two, when that is too late.
constexpr Duration kUrgentAfter = std::chrono::milliseconds(18);
/// A name that was not told is asked for again after this, when the limit is heard of; when it is
/// not, kNameAsks times more, each after twice as long.
constexpr Duration kAskNameAgain = std::chrono::milliseconds(100);
/// Of all limits in a tick; an inventor of limits must not make us ask for ever.
constexpr std::size_t kNamesEachTick = 32;
/// What others told us a limit is: they may have been wrong.
constexpr Duration kAskToldAgain = std::chrono::seconds(1);
/// Limits of a shard that was lost are kept for as long, to fill others.
constexpr Duration kKeepLost = std::chrono::seconds(3);

}  // namespace

Owner::Owner(const SyncSettings& settings, Silence& silence, Random random, Resolver resolver,
             SyncStatistics& statistics, WeightLedger* ledger)
    : settings_(settings),
      silence_(silence),
      random_(random),
      resolver_(std::move(resolver)),
      statistics_(statistics),
      ledger_(ledger),
      limits_(settings, statistics, ledger),
      quiet_(settings, statistics, random_) {}

std::uint32_t Owner::draw_life() {
    return static_cast<std::uint32_t>(random_.below(kLargestIdentity)) + 1;
}

OwnedLimit* Owner::obtain(const LimitKey& key, Instant now) {
    if (OwnedLimit* known = limits_.find(key)) {
        limits_.wake(*known, now);
        return known;
    }
    OwnedLimit* limit = limits_.insert(key, now);
    if (limit == nullptr) {
        return nullptr;
    }
    const ShardState& shard = shards_[membership::shard_of(key.quota)];
    limit->restart(draw_life(), now);
    limit->born = shard.born;
    limit->last_use = limit->looked = now;
    resolve(*limit);
    limits_.wake(*limit, now);
    return limit;
}

void Owner::resolve(OwnedLimit& limit) {
    limiter::LimitParameters parameters;
    limiter::Isolation isolation;
    if (!resolver_(limit.key, limit.name, parameters, isolation)) {
        return;
    }
    limit.when_isolated = isolation.mode;
    limit.hold = isolation.hold;
    limit.parameters_told = false;
    learn(limit, parameters);
}

/// A level whose parameters were not known was in no snapshot.
void Owner::learn(OwnedLimit& limit, const limiter::LimitParameters& parameters) {
    const bool are_news = limit.parameters != parameters;
    limit.know(parameters);
    WEIR_ASSERT(limit.parameters.has_value());
    if (are_news && limit.bucket.level > 0) {
        note_level(limit);
    }
}

/// Asks a member that has told of the limit what it is. One that is gone cannot answer: the next
/// one that tells of the limit is asked.
void Owner::begin_asking(OwnedLimit& limit, MemberNumber whom, Instant now, OwnerSink& sink) {
    if (!silence_.is_gone(whom)) {
        limit.asks_left = kNameAsks;
        ask_name(limit, whom, now, sink);
        return;
    }
    limit.advance(now);
    if (!limit.parameters) {
        resolve(limit);
    }
}

void Owner::ask_name(OwnedLimit& limit, MemberNumber whom, Instant now, OwnerSink& sink) {
    limit.asked_name = now;
    limit.asked = whom;
    limit.advance(now);
    if (!limit.parameters) {
        resolve(limit);  // it may be used here meanwhile
    }
    if (limit.parameters && !limit.parameters_told) {
        return;
    }
    ++statistics_.names_asked;
    sink.ask_name(silence_.id(whom), limit.key);
}

/// Question or answer may have been lost, and nobody has spoken of the limit since.
void Owner::ask_name_again(OwnedLimit& limit, Instant now, OwnerSink& sink) {
    if (limit.parameters || limit.asks_left == 0 || names_left_ == 0) {
        return;
    }
    if (now - limit.asked_name < kAskNameAgain * (1 << (kNameAsks - limit.asks_left))) {
        return;
    }
    if (silence_.is_gone(limit.asked)) {
        return;
    }
    --limit.asks_left;
    --names_left_;
    WEIR_ASSERT(limit.asks_left < kNameAsks);
    ask_name(limit, limit.asked, now, sink);
}

/// A limit that refuses requests is told to others as a rumour while it is awake, so that nobody
/// lets the first request of a new sidecar pass. Only so many can be told.
bool Owner::may_rest(const OwnedLimit& limit) {
    if (!limit.at_rest() || quiet_.is_asleep(limit.key)) {
        return false;
    }
    if (limit.published_probability <= 0) {
        return true;
    }
    if (refusing_idly_ <= settings_.hot_limits) {
        return false;
    }
    WEIR_ASSERT(refusing_idly_ > 0);
    --refusing_idly_;
    return true;
}

void Owner::forget(const std::vector<MemberNumber>& members, Instant now) {
    if (members.empty()) {
        return;
    }
    quiet_.forget(members, now);
    limits_.visit_all([&](OwnedLimit& limit) {
        for (const MemberNumber member : members) {
            limit.forget_cell(member, ledger_);
        }
    });
}

bool Owner::receive(const gossip::MemberId& from, MemberNumber number, const DeltaEntry& delta,
                    Instant now, OwnerSink& sink) {
    if (!plausible(delta)) {
        ++statistics_.refused_values;
        silence_.refused(number);
        return false;
    }
    if (!shards_[membership::shard_of(delta.key.quota)].owned) {
        ++statistics_.refused_not_owner;
        return false;
    }
    OwnedLimit* limit = obtain(delta.key, now);
    if (limit == nullptr) {
        return false;
    }
    const bool asks = limit->parameters ? limit->parameters_told : true;
    if (asks && now - limit->asked_name >= (limit->parameters ? kAskToldAgain : kAskNameAgain)) {
        begin_asking(*limit, number, now, sink);
    }
    if (limit->find(number) == nullptr) {
        limit->adopt_run(number, delta.run, silence_);
    }
    const DeltaEntry counted = bounded(*limit, number, delta);
    const OwnedCell* const before = limit->find(number);
    const double known = before == nullptr ? 0 : before->counts.net();
    const DeltaOutcome outcome =
        limit->receive(settings_, number, counted, now, {statistics_, ledger_});
    if (outcome == DeltaOutcome::falling) {
        ++statistics_.refused_falling;
    }
    if (outcome == DeltaOutcome::leaping) {
        ++statistics_.refused_leaps;
    }
    if (outcome == DeltaOutcome::falling || outcome == DeltaOutcome::leaping) {
        silence_.refused(number);
    }
    if (outcome == DeltaOutcome::full) {
        ++statistics_.dropped_cells;
    }
    const Duration patience = crowded() ? settings_.publication_wait : Duration(kLookEvery * kTick);
    limit->urgent = limit->urgent || limit->is_urgent(settings_, patience);
    const OwnedCell* const cell = limit->find(number);
    if (cell != nullptr && cell->counts.net() != known) {
        note_level(*limit);
    }
    if (outcome == DeltaOutcome::old) {
        return true;  // it may have fallen quiet since
    }
    note_awake(delta.key, number, now, sink);
    let_fall_quiet(from, *limits_.find(delta.key), counted, now, sink);
    return true;
}

std::optional<TotalEntry> Owner::answer(MemberNumber number, const LimitKey& key, Instant now) {
    OwnedLimit* limit = limits_.find(key);
    if (limit == nullptr || !shards_[membership::shard_of(key.quota)].owned) {
        return std::nullopt;
    }
    limit->advance(now);
    if (!crowded()) {
        limit->note_answered();
    }
    OwnedCell* cell = limit->find(number);
    if (cell != nullptr) {
        cell->deferred = false;
    }
    return limit->total(settings_, cell, pacing_.tenths(), now);
}

/// A big share promises to be heard often: whoever claims one may not be silent for long. Last
/// words that came late bring no rate back.
DeltaEntry Owner::bounded(const OwnedLimit& limit, MemberNumber from,
                          const DeltaEntry& delta) const {
    const double fleet = std::max(limit.bucket.offered_rate, delta.rate);
    DeltaEntry counted = delta;
    counted.keep_alive = std::min(
        delta.keep_alive, 2 * keep_alive_of(settings_, delta.rate, fleet, pacing_.tenths()));
    counted.rate = silence_.is_gone(from) ? 0 : delta.rate;
    return counted;
}

void Owner::name_told(MemberNumber from, const NameEntry& entry, Instant now) {
    OwnedLimit* limit = limits_.find(entry.key);
    if (limit == nullptr || (limit->parameters && !limit->parameters_told)) {
        return;
    }
    // Only who uses the limit is asked, or the owner who handed it over.
    if (limit->find(from) == nullptr && limit->parameters) {
        return;
    }
    limit->advance(now);
    limit->name = entry.name;
    resolve(*limit);
    if (limit->parameters) {
        return;
    }
    // Our definitions lack it: what the origin goes by has to do.
    limit->parameters_told = true;
    learn(*limit,
          {entry.rate, entry.low, entry.high, entry.debt, static_cast<limiter::Law>(entry.law)});
}

void Owner::refresh_parameters(Instant now) {
    limits_.visit_all([&](OwnedLimit& limit) {
        if (limit.name.empty()) {
            return;
        }
        limit.advance(now);
        const auto before = limit.parameters;
        resolve(limit);
        if (limit.parameters != before) {
            limits_.wake(limit, now);  // its users may reckon wrongly from now on
        }
    });
}

void Owner::tick(Instant now, OwnerSink& sink) {
    ++ticks_;
    names_left_ = kNamesEachTick;
    ask_again(now, sink);
    limits_.visit_awake([&](OwnedLimit& limit) { return look_if_due(limit, now, sink); });
    limits_.end_rests(now);
    quiet_.sweep(now);
    publish_overdue(now, sink);
}

AfterLook Owner::look_if_due(OwnedLimit& limit, Instant now, OwnerSink& sink) {
    // A shard's limits together, so that what is published shares datagrams.
    const membership::Shard turn = membership::shard_of(limit.key.quota);
    // Ticks of a process that is often stopped come late.
    const Duration since = now - limit.looked;
    const bool due =
        (ticks_ + turn) % kLookEvery == kLookPhase || since >= (kLookEvery + 1) * kTick;
    if (!due && !(limit.urgent && since >= kUrgentAfter)) {
        return AfterLook::stays;
    }
    const ShardState& shard = shards_[turn];
    if (limit.idle(settings_, now) || (!shard.owned && now - shard.lost > kKeepLost)) {
        return AfterLook::forgotten;
    }
    return look_at(limit, now, sink) ? AfterLook::stays : AfterLook::rests;
}

bool Owner::look_at(OwnedLimit& limit, Instant now, OwnerSink& sink) {
    WEIR_ASSERT(limits_.find(limit.key) == &limit);
    ++statistics_.looks;
    const Duration since = now - limit.looked;
    limit.looked = now;
    const bool urgent = std::exchange(limit.urgent, false) || !limit.was_published;
    // The origins of a shard that was lost tell its new owners: their silence here means nothing.
    if (!shards_[membership::shard_of(limit.key.quota)].owned) {
        limit.advance(now);
        return true;
    }
    limit.judge_silence(settings_, silence_, now, ledger_);
    limit.advance(now);
    limit.note_offered(now);
    if (!limit.is_calm(now)) {
        order_to_wake(limit.key, !limit.at_rest(), sink);
    }
    ask_name_again(limit, now, sink);
    if (limit.must_publish(settings_, publish_error(), pace(), since)) {
        if (sink.has_room_to_publish(urgent)) {
            publish(limit, urgent, now, sink);
        } else {
            limit.urgent = urgent && limit.was_published;
            ++statistics_.publications_put_off;
        }
        return true;
    }
    return !may_rest(limit);
}

/// By how much users may be wrong about p. With many limits answers correct them sooner.
double Owner::publish_error() const {
    if (!crowded()) {
        return settings_.publish_error;
    }
    const double crowds =
        static_cast<double>(limits_.awake()) / static_cast<double>(settings_.crowd_of_limits);
    return settings_.publish_error *
           std::min(settings_.most_crowded_error, settings_.crowded_error * crowds);
}

bool Owner::crowded() const { return limits_.awake() >= settings_.crowd_of_limits; }

void Owner::publish(OwnedLimit& limit, bool urgent, Instant now, OwnerSink& sink) {
    limit.note_published();
    ++statistics_.publications;
    if (crowded() && !urgent) {
        defer_publication(limit, now);
        return;
    }
    // Copied: a total to ourselves may come back as a delta at once.
    const std::vector<OwnedCell> cells = limit.cells;
    for (OwnedCell& cell : limit.cells) {
        cell.deferred = false;
    }
    for (const OwnedCell& each : cells) {
        if (!limit.listens(settings_, each, now) || silence_.is_gone(each.member)) {
            continue;
        }
        if (sink.has_room_to_publish(urgent)) {
            sink.send_total(silence_.id(each.member),
                            limit.total(settings_, &each, pacing_.tenths(), now));
        } else if (OwnedCell* cell = limit.find(each.member)) {
            defer_publication(limit.key, *cell, now);
        }
    }
}

/// With many limits a publication is seldom the only thing that a user will be told soon: it waits
/// a little for the answer to a delta, or for other publications, to share their datagram.
void Owner::defer_publication(OwnedLimit& limit, Instant now) {
    for (OwnedCell& cell : limit.cells) {
        if (limit.listens(settings_, cell, now)) {
            defer_publication(limit.key, cell, now);
        }
    }
}

void Owner::defer_publication(const LimitKey& key, OwnedCell& cell, Instant now) {
    if (std::exchange(cell.deferred, true)) {
        return;
    }
    DeferredPublications& deferred = deferred_[cell.member];
    WEIR_ASSERT(cell.deferred);
    if (deferred.limits.empty()) {
        deferred.since = now;
    }
    deferred.limits.push_back(key);
}

void Owner::publish_deferred(MemberNumber user, Instant now, OwnerSink& sink) {
    const auto found = deferred_.find(user);
    if (found == deferred_.end()) {
        return;
    }
    const DeferredPublications deferred = std::move(found->second);
    deferred_.erase(found);
    WEIR_ASSERT(!deferred.limits.empty());
    for (const LimitKey& key : deferred.limits) {
        OwnedLimit* limit = limits_.find(key);
        OwnedCell* cell = limit == nullptr ? nullptr : limit->find(user);
        if (cell == nullptr || !cell->deferred) {
            continue;  // told meanwhile
        }
        cell->deferred = false;
        if (silence_.is_gone(user)) {
            continue;
        }
        limit->advance(now);
        sink.send_total(silence_.id(user), limit->total(settings_, cell, pacing_.tenths(), now));
    }
}

void Owner::publish_overdue(Instant now, OwnerSink& sink) {
    std::vector<std::pair<Instant, MemberNumber>> due;
    for (const auto& [user, deferred] : deferred_) {
        if (now - deferred.since >= settings_.publication_wait) {
            due.emplace_back(deferred.since, user);
        }
    }
    std::sort(due.begin(), due.end());  // where there is no room for all, who has waited longest
    for (const auto& [since, user] : due) {
        if (!sink.has_room_to_publish(false)) {
            return;
        }
        publish_deferred(user, now, sink);
    }
}

void Owner::note_hot(HotTable& hot, Instant now) {
    refusing_idly_ = 0;
    limits_.visit_awake([&](const OwnedLimit& limit) {
        if (limit.published_probability > 0 || limit.bucket.shedding) {
            refusing_idly_ += limit.bucket.offered_rate <= 0 ? 1U : 0U;
            hot.note({limit.key, std::max(0.0, limit.bucket.level), limit.bucket.offered_rate,
                      Duration::zero(), limit.bucket.shedding},
                     now);
        }
        return AfterLook::stays;
    });
}

void Owner::for_each(const std::function<void(const OwnedLimit&)>& visit) const {
    limits_.visit_all(visit);
}

std::size_t Owner::cells() const {
    std::size_t sum = 0;
    limits_.visit_all([&sum](const OwnedLimit& limit) { sum += limit.cells.size(); });
    return sum;
}

}  // namespace weir::sync
