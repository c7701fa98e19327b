#pragma once
// One limit as an owner keeps it: the cells of its origins, and the bucket that their sum fills.
// The three rules for what an increase is worth are here. Belongs to the control thread; owned by
// the Owner.
//
// Invariants: the level is never above the ceiling; within a run a cell never falls; cells are
// ordered by member and bounded.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "limiter/definition.h"
#include "sync/counter_cell.h"
#include "sync/messages.h"
#include "sync/reckoning.h"
#include "sync/settings.h"
#include "sync/silence.h"
#include "sync/statistics.h"

namespace weir::sync {

/// One origin as the owner knows it.
struct OwnedCell {
    MemberNumber member = 0;
    CounterCell counts;
    double rate = 0;       // as told
    double fade = 1;       // what silence leaves of it
    double reckoned = 0;   // what was reckoned as admitted since its last word, up to open_time
    double open_time = 0;  // the owner's integral of 1 - p then
    Duration keep_alive{};
    Instant heard{};
    bool deferred = false;  // a total, which waits for others to share its datagram
    [[nodiscard]] double reckoned_rate() const { return rate * fade; }
    /// Before its rate or fade changes: what the bucket has had of it stays what it was.
    void settle(double open_now) {
        reckoned += reckoned_rate() * (open_now - open_time);
        open_time = open_now;
    }
};

/// What an owner makes of a delta.
enum class DeltaOutcome : std::uint8_t {
    counted,
    baseline,  // first sight: adds nothing
    old,       // nothing new in it; answered all the same
    falling,   // a count fell within its run: refused
    leaping,   // more than can have happened: the lie is left out of it
    full       // too many origins: refused
};

struct OwnedLimit {
    LimitKey key;
    std::string name;  // empty until told
    std::optional<limiter::LimitParameters> parameters;
    limiter::IsolationMode when_isolated = limiter::IsolationMode::safe;
    bool holding = false;          // some origins are taken for cut off
    bool parameters_told = false;  // by an origin: our own definitions lack the limit
    std::uint32_t life = 0;
    Instant born{};  // when this owner took the shard over, or began anew
    bool handed_over = false;
    ReckonedLimit bucket;
    double open_time = 0;
    /// Seconds for which the level did not drain, since nobody had said how fast it does.
    double undrained = 0;
    Instant advanced{};
    Instant judged{};
    std::vector<OwnedCell> cells;
    /// Of this life.
    ToldWeight told_weight;
    std::uint32_t origins = 0;
    /// When that other origin was heard whose last word is the oldest of all that count: it told a
    /// rate, and goes on telling of the limit or is missing without a goodbye.
    std::optional<Instant> oldest_word;

    // Rates that a former owner handed over, until the origins speak themselves.
    double handed_rate = 0;
    Instant handed_until{};
    double held_rate = 0;
    Instant held_until{};

    ReckonedLimit published;
    /// Of the answers since then the one that was furthest from it: a moment's state, by which its
    /// receiver goes on reckoning.
    std::optional<ReckonedLimit> answered;
    double published_probability = 0;  // at the last look
    bool was_published = false;
    bool published_holding = false;
    bool urgent = false;  // to be looked at before its turn
    Instant looked{};     // when that was last
    Instant last_use{};
    Instant asked_name{};
    MemberNumber asked = 0;  // for the name, last
    std::uint8_t asks_left = 0;

    /// Begins from nothing, as a new owner does.
    void restart(std::uint32_t new_life, Instant now);
    void advance(Instant now);
    /// What the limit is, as of the last advance(). What has not drained till then has now.
    void know(const limiter::LimitParameters& found);
    [[nodiscard]] bool filled(const SyncSettings& settings, Instant now) const {
        return parameters && (handed_over || now - born >= settings.refill_time);
    }

    /// `delta` is what came, but for a rate that is out of proportion.
    DeltaOutcome receive(const SyncSettings& settings, MemberNumber from, DeltaEntry delta,
                         Instant now, SyncStatistics& statistics);
    void receive(const SyncSettings& settings, const HandoverEntry& entry, Instant now);
    /// Fades or holds what is silent, drops what is gone; adds the rates up.
    void judge_silence(const SyncSettings& settings, Silence& silence, Instant now);
    /// Whether users reckon too wrongly by now; also moves on what they reckon.
    /// `publish_error`: by how much the probability may be off; `pace` is in tenths on top of that
    /// and of the error in the level, as for the origins.
    [[nodiscard]] bool must_publish(const SyncSettings& settings, double publish_error,
                                    std::uint8_t pace, Duration since_last_look);
    void note_published();
    /// Whether they would let pass or refuse, in that time, more than what is worth a
    /// publication: that cannot wait.
    [[nodiscard]] bool is_urgent(const SyncSettings& settings, Duration next_look) const;
    void note_answered();

    [[nodiscard]] const OwnedCell* find(MemberNumber member) const;
    [[nodiscard]] OwnedCell* find(MemberNumber member);
    [[nodiscard]] TotalEntry total(const SyncSettings& settings, const OwnedCell* cell,
                                   std::uint8_t pace, Instant now) const;
    [[nodiscard]] HandoverEntry handover(const Silence& silence, Instant now) const;
    /// So long unheard of that even its counts are forgotten.
    [[nodiscard]] bool unused(const SyncSettings& settings, Instant now) const {
        return cells.empty() && now - last_use > settings.user_memory;
    }
    [[nodiscard]] bool idle(const SyncSettings& settings, Instant now) const;
    /// Share of low that is full, by our own definitions.
    [[nodiscard]] double fullness() const;
    /// Another incarnation of a known process goes on with its run: its cell moves there.
    bool adopt_run(MemberNumber from, std::uint32_t run, const Silence& silence);

  private:
    [[nodiscard]] bool misleads(const SyncSettings& settings, double publish_error,
                                std::uint8_t pace, const ReckonedLimit& told) const;
    OwnedCell* place(MemberNumber member);
    DeltaOutcome receive_new_run(const SyncSettings& settings, OwnedCell& cell,
                                 const DeltaEntry& delta, bool lie, Instant now,
                                 SyncStatistics& statistics);
    /// Puts the weight into the bucket as far as there is room, and notes where it went.
    void pour(double change, double reckoned);
    void count(const SyncSettings& settings, OwnedCell& cell, const DeltaEntry& delta,
               const CounterCell& counts, Instant now, SyncStatistics& statistics);
    [[nodiscard]] bool leaps(const OwnedCell& cell, const DeltaEntry& delta,
                             const CounterCell& counts, double seconds) const;
    [[nodiscard]] std::optional<double> unfounded_rate(const OwnedCell& cell,
                                                       const DeltaEntry& delta,
                                                       double seconds) const;
    void take_rate(OwnedCell& cell, const DeltaEntry& delta, Instant now);
    void take_state(const DeltaEntry& delta);
    void add_rates(Instant now);
    void fade(OwnedCell& cell, const Silence& silence, double seconds);
};

}  // namespace weir::sync
