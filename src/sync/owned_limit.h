#pragma once
// One limit as an owner keeps it: the cells of its origins, and the bucket that their sum fills.
// The three rules for what an increase is worth are here. Belongs to the control thread; owned by
// the Owner.
//
// Four files implement it: owned_limit.cpp the cells and the rest, owned_limit_delta.cpp what a
// delta adds, owned_limit_silence.cpp the rates of origins that are silent or were handed over, and
// owned_limit_publication.cpp when and what the users are told.
//
// Invariants: the level is never above the ceiling; within a run a cell never falls; cells are
// ordered by member and bounded.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/instant.h"
#include "limiter/definition.h"
#include "sync/counter_cell.h"
#include "sync/messages.h"
#include "sync/reckoning.h"
#include "sync/settings.h"
#include "sync/silence.h"
#include "sync/statistics.h"
#include "sync/weight_ledger.h"

namespace weir::sync {

/// One origin as the owner knows it.
struct OwnedCell {
    MemberNumber member = 0;
    CounterCell counts;
    double rate = 0;        // as told
    double fade = 1;        // share of the rate that still counts while the origin is silent
    double fleet_rate = 0;  // what the fleet offered when the origin was last heard
    double reckoned = 0;    // weight reckoned as admitted since its last delta, up to open_time
    double open_time = 0;   // value of the owner's integral of 1 - p at that time
    Duration keep_alive{};
    Instant heard{};
    // What the origin has added since the limit was last half empty, and the value of
    // OwnedLimit::emptied at that time.
    double filled = 0;
    std::uint32_t emptied = 0;
    bool held = false;      // taken for cut off: its share is kept
    bool missed = false;    // its member was silent for too long since the last delta
    bool deferred = false;  // a total for it waits to share a datagram with others
    [[nodiscard]] double reckoned_rate() const { return rate * fade; }
    /// To be called before rate or fade change: adds to `reckoned` what the bucket has received at
    /// the old rate.
    void settle(double open_now) {
        WEIR_ASSERT(open_now >= open_time);
        reckoned += reckoned_rate() * (open_now - open_time);
        open_time = open_now;
    }
};

/// What an owner did with a delta.
enum class DeltaOutcome : std::uint8_t {
    counted,   ///< its increase was added to the level
    baseline,  // the first counts of this run; they add nothing to the level
    old,       // it holds nothing new; it is answered nevertheless
    falling,   // refused, because a count fell within its run
    leaping,   // it claims more than can have happened; only the rest counts
    full       // refused, because the limit has too many origins
};

/// Where an owner notes what it does with what it is told.
struct Accounts {
    SyncStatistics& statistics;
    WeightLedger* ledger = nullptr;  // null: nothing is noted
};

struct OwnedLimit {
    LimitKey key;
    std::string name;  // empty until an origin tells it
    std::optional<limiter::LimitParameters> parameters;
    limiter::IsolationMode when_isolated = limiter::IsolationMode::safe;
    std::optional<Duration> hold;  // the quota's own hold time
    bool holding = false;          // some origins are taken for cut off
    /// An origin told the parameters, because the definitions here lack the limit.
    bool parameters_told = false;
    std::uint32_t life = 0;
    Instant born{};  // when this owner took the shard over, or began anew
    bool handed_over = false;
    /// By how much the level is higher because origins, or our own views, believed so. An owner
    /// that hands over knows better, and its level takes the place. Drains before the rest of the
    /// level; always 0 for a limit that remembers().
    double level_believed = 0;
    ReckonedLimit bucket;
    double open_time = 0;
    /// Seconds for which the level was not drained, because the limit's rate was not known yet.
    double undrained = 0;
    Instant advanced{};
    Instant judged{};
    std::uint32_t emptied = 0;  // how often an increase found the limit half empty
    std::vector<OwnedCell> cells;
    std::uint32_t origins = 0;
    /// When the origin was heard that has been silent for longest. Other members count that told a
    /// rate that still counts, or that are missing without a goodbye.
    std::optional<Instant> oldest_word;

    // Rates that a former owner handed over; they count until the origins report themselves.
    double handed_rate = 0;
    Instant handed_until{};
    double handed_excess = 0;  // of that rate, what no origin has claimed yet
    /// By how much the level stands higher for the excess. When the rates end it is taken back:
    /// those who have not reported by then do not exist any more.
    double handed_weight = 0;
    double handed_open_time = 0;  // open_time when the rates were handed over
    // Rates of silent members that a former owner handed over, or that our own views believed, and
    // what was offered then to those that were heard.
    double held_rate = 0;
    double heard_beside = 0;
    double held_now = 0;     // what is left of held_rate, as last added up
    bool held_told = false;  // by another owner, at held_told_at
    Instant held_told_at{};
    Instant held_since{};
    Instant held_until{};

    ReckonedLimit published;
    /// Of the answers since the last publication, the one that differed most from it. Its receiver
    /// goes on reckoning from that state.
    std::optional<ReckonedLimit> answered;
    double published_probability = 0;  // when this limit was last looked at
    bool was_published = false;
    bool published_holding = false;
    bool urgent = false;  // to be looked at before its turn comes
    Instant looked{};     // when this limit was last looked at
    Instant awake_since{};
    double offered_lately = 0;  // offered rate, averaged over seconds since awake_since
    Instant offered_at{};       // when that was last brought up to date
    Instant last_use{};
    Instant asked_name{};
    MemberNumber asked = 0;  // the member that was last asked for the name
    std::uint8_t asks_left = 0;

    /// Forgets everything and begins like a new owner.
    void restart(std::uint32_t new_life, Instant now);
    void advance(Instant now);
    /// Takes the limit's parameters, once they are known, and drains the level for the time until
    /// the last advance().
    void know(const limiter::LimitParameters& found);
    [[nodiscard]] bool filled(const SyncSettings& settings, Instant now) const {
        return parameters && (handed_over || now - born >= settings.refill_time);
    }

    /// Takes a delta in. A rate that its counts cannot explain is replaced by one that they can.
    DeltaOutcome receive(const SyncSettings& settings, MemberNumber from, DeltaEntry delta,
                         Instant now, const Accounts& accounts);
    /// Takes a hand-over in. What our own views believed may have been held for longer than the
    /// hold time already, so that its hold_left is negative.
    void receive(const SyncSettings& settings, const HandoverEntry& entry, const Side& side,
                 Instant now);
    /// Fades or holds the rates of silent origins, drops origins that are gone, and adds up the
    /// rates.
    void judge_silence(const SyncSettings& settings, Silence& silence, Instant now,
                       WeightLedger* ledger = nullptr);
    /// Whether the users' reckoning has become too wrong, so that a total has to be published; also
    /// advances the copy of their reckoning. `publish_error` is by how much their probability may
    /// be wrong; `pace` adds tenths to it and to the error of the level.
    [[nodiscard]] bool must_publish(const SyncSettings& settings, double publish_error,
                                    std::uint8_t pace, Duration since_last_look);
    void note_published();
    /// Whether the users would admit or refuse too much weight until the next look, so that the
    /// publication must not wait for it.
    [[nodiscard]] bool is_urgent(const SyncSettings& settings, Duration next_look) const;
    void note_answered();

    [[nodiscard]] const OwnedCell* find(MemberNumber member) const;
    [[nodiscard]] OwnedCell* find(MemberNumber member);
    [[nodiscard]] TotalEntry total(const SyncSettings& settings, const OwnedCell* cell,
                                   std::uint8_t pace, Instant now) const;
    /// What a new owner is told. That it may have been silent itself does not matter to it: nothing
    /// is held for a former process at its address.
    [[nodiscard]] HandoverEntry handover(const SyncSettings& settings, const gossip::MemberId& to,
                                         const Silence& silence, Instant now) const;
    /// How long the share of silent origins is held.
    [[nodiscard]] Duration hold_time(const SyncSettings& settings) const {
        return hold.value_or(settings.hold);
    }
    /// To be called when a belief has raised the level, of which so much is certain.
    void note_believed(double certain);
    /// To be called when the limit begins to be awake.
    void begin_awake(Instant now);
    /// Adds weight that was told of the limit while it was quiet.
    void add_told(double weight);
    /// Averages the offered rate. To be called in every look at the limit.
    void note_offered(Instant now);
    /// Whether the limit may fall quiet: it has been far below its limit for seconds.
    [[nodiscard]] bool is_calm(Instant now) const;
    /// Whether the limit has no cells and has not been used for so long that it can be forgotten.
    [[nodiscard]] bool unused(const SyncSettings& settings, Instant now) const {
        return cells.empty() && now - last_use > settings.user_memory;
    }
    /// Whether nothing is due: nobody offers anything, all users reckon as this owner does, and
    /// nobody has to be asked. The level then only drains, which needs no look at the limit.
    [[nodiscard]] bool at_rest() const;
    /// To be called when the limit is not looked at any more, because it is at rest.
    void begin_rest();
    /// To be called when it is looked at again.
    void end_rest(Instant now);
    /// When a limit at rest can be forgotten: its level has drained, and no origin goes on with a
    /// run that is counted here.
    [[nodiscard]] Instant rest_ends(const SyncSettings& settings) const;
    /// Whether the origin is told of changes: it has used the limit lately, or it rests and goes on
    /// reckoning with what it was told.
    [[nodiscard]] bool listens(const SyncSettings& settings, const OwnedCell& cell,
                               Instant now) const;
    /// Drops the cell of a member, or all of them.
    void forget_cell(MemberNumber member, WeightLedger* ledger);
    void forget_cells(WeightLedger* ledger);
    [[nodiscard]] bool idle(const SyncSettings& settings, Instant now) const;
    /// The level as a share of `low`, by the definitions here.
    [[nodiscard]] double fullness() const;
    /// Moves the cell of a process that has a new incarnation and continues its run.
    bool adopt_run(MemberNumber from, std::uint32_t run, const Silence& silence);

  private:
    [[nodiscard]] bool misleads(const SyncSettings& settings, double publish_error,
                                std::uint8_t pace, const ReckonedLimit& told) const;
    OwnedCell* place(MemberNumber member);
    DeltaOutcome receive_new_run(const SyncSettings& settings, OwnedCell& cell,
                                 const DeltaEntry& delta, bool lie, Instant now,
                                 const Accounts& accounts);
    /// Puts the weight, which was admitted within the last `seconds`, into the bucket as far as
    /// there is room, and notes where it went.
    void pour(double change, double seconds, double reckoned, WeightLedger* ledger);
    void note(WeightLedger* ledger, WeightFate fate, double weight) const {
        if (ledger != nullptr) {
            ledger->note(key, life, fate, weight);
        }
    }
    void make_room_for_crowd(OwnedCell& cell, double increase, double change);
    void count(const SyncSettings& settings, OwnedCell& cell, const DeltaEntry& delta,
               const CounterCell& counts, Instant now, const Accounts& accounts);
    [[nodiscard]] bool leaps(const OwnedCell& cell, const DeltaEntry& delta,
                             const CounterCell& counts, double seconds) const;
    [[nodiscard]] std::optional<double> unfounded_rate(const OwnedCell& cell,
                                                       const DeltaEntry& delta,
                                                       double seconds) const;
    void take_rate(OwnedCell& cell, const DeltaEntry& delta, Instant now);
    void take_state(const DeltaEntry& delta);
    void add_rates(Instant now);
    [[nodiscard]] double left_of_held() const;
    void judge_held_rate(const SyncSettings& settings, const Side& side, Instant now);
    void take_held_rate(const SyncSettings& settings, const HandoverEntry& entry, const Side& side,
                        Instant now);
    [[nodiscard]] Presence presence_of(const SyncSettings& settings, const OwnedCell& cell,
                                       Silence& silence, Instant now);
    void take_baseline(const SyncSettings& settings, const DeltaEntry& delta);
    [[nodiscard]] double unclaimed() const;
    [[nodiscard]] bool remembers() const;
    void end_handed_rates();
    void hold_by_load();
    void fade(OwnedCell& cell, const Silence& silence, double seconds);
};

}  // namespace weir::sync
