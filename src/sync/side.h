#pragma once
// On which side of a possible split this member is: whether it hears most of the others, or nobody,
// and what follows for how long it keeps the shares of those that it cannot hear. Silence keeps it
// up to date; owner and reporter read it. A plain value.

#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "base/instant.h"
#include "sync/settings.h"

namespace weir::sync {

/// Whom the seeds name.
enum class SeedsSay : std::uint8_t {
    nothing,  ///< nobody whom we know to have lived lately
    others,   // other members that lived lately
    only_us   // the names of the seeds were looked up since the others fell silent: only us
};

struct Side {
    /// Hears more than half of the members that there were before any of them fell silent, and of
    /// those that it knows now; or nobody is missing. Then it takes the share of the silent ones
    /// that it misses by itself, and holds nothing for them.
    bool majority = true;
    /// `majority`, and more than half have also been heard since the last loss was noticed. Before
    /// that others may be lost as well, whom nobody here has missed yet: shares that are known only
    /// from former owners are held for so long. Always true if nobody is missing.
    bool confirmed = true;
    /// Hears nobody at all, though others were there. Never together with `majority`.
    bool alone = false;
    SeedsSay seeds = SeedsSay::nothing;

    /// How long the share of those that cannot be heard is kept, where the settings say `hold`.
    [[nodiscard]] Duration hold_time(const SyncSettings& settings, Duration hold) const {
        WEIR_ASSERT(!(alone && majority));
        if (!alone || hold == Duration::zero() || seeds == SeedsSay::nothing) {
            return hold;
        }
        return seeds == SeedsSay::only_us ? Duration::zero() : std::max(hold, settings.hold_alone);
    }
};

}  // namespace weir::sync
