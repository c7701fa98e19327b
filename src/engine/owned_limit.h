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
#include "crdt/counter_cell.h"
#include "engine/reckoning.h"
#include "engine/silence.h"
#include "engine/statistics.h"
#include "engine/sync_settings.h"
#include "gossip/counter_messages.h"

namespace weir::engine {

/// One origin as the owner knows it.
struct OwnedCell {
    MemberNumber member = 0;
    crdt::CounterCell counts;
    double rate = 0;       // as told
    double fade = 1;       // what silence leaves of it
    double open_time = 0;  // the owner's integral of 1 - p when it was told
    Duration keep_alive{};
    Instant heard{};
    [[nodiscard]] double reckoned_rate() const { return rate * fade; }
};

/// What an owner makes of a delta.
enum class DeltaOutcome : std::uint8_t {
    counted,
    baseline,  // first sight: adds nothing
    old,       // nothing new in it; answered all the same
    falling,   // a count fell within its run: refused
    full       // too many origins: refused
};

struct OwnedLimit {
    gossip::LimitKey key;
    std::string name;  // empty until told
    std::optional<limiter::LimitParameters> parameters;
    std::uint32_t life = 0;
    Instant born{};  // when this owner took the shard over, or began anew
    bool handed_over = false;
    Bucket bucket;
    double open_time = 0;
    Instant advanced{};
    Instant judged{};
    std::vector<OwnedCell> cells;
    std::uint32_t origins = 0;

    // Rates that a former owner handed over, until the origins speak themselves.
    double handed_rate = 0;
    Instant handed_until{};
    double held_rate = 0;
    Instant held_until{};

    Bucket published;
    double published_probability = 0;  // at the last look
    bool was_published = false;
    Instant last_use{};
    Instant asked_name{};

    /// Begins from nothing, as a new owner does.
    void restart(std::uint32_t new_life, Instant now);
    void advance(Instant now);
    [[nodiscard]] bool filled(const SyncSettings& settings, Instant now) const {
        return parameters && (handed_over || now - born >= settings.refill_time);
    }

    DeltaOutcome receive(const SyncSettings& settings, MemberNumber from,
                         const gossip::DeltaEntry& delta, Instant now, SyncStatistics& statistics);
    void receive(const SyncSettings& settings, const gossip::HandoverEntry& entry, Instant now);
    /// Fades or holds what is silent, drops what is gone; adds the rates up.
    void judge_silence(const SyncSettings& settings, Silence& silence, Instant now);
    /// Whether users reckon too wrongly by now; also moves on what they reckon.
    [[nodiscard]] bool must_publish(const SyncSettings& settings, Duration since_last_look);
    void note_published();

    [[nodiscard]] const OwnedCell* find(MemberNumber member) const;
    [[nodiscard]] gossip::TotalEntry total(const SyncSettings& settings, const OwnedCell* cell,
                                           std::uint8_t pace, Instant now) const;
    [[nodiscard]] gossip::HandoverEntry handover(const Silence& silence, Instant now) const;
    [[nodiscard]] bool idle(const SyncSettings& settings, Instant now) const;
    /// Another incarnation of a known process goes on with its run: its cell moves there.
    bool adopt_run(MemberNumber from, std::uint32_t run, const Silence& silence);

  private:
    OwnedCell* place(MemberNumber member);
    void count(const SyncSettings& settings, OwnedCell& cell, const gossip::DeltaEntry& delta,
               const crdt::CounterCell& counts, SyncStatistics& statistics);
    void take_rate(OwnedCell& cell, const gossip::DeltaEntry& delta, Instant now);
    void take_state(const gossip::DeltaEntry& delta);
    void add_rates(Instant now);
};

}  // namespace weir::engine
