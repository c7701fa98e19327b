#pragma once
// Notices that an offered rate has fallen, within 0.1 s. A mean over the usual window follows a
// fall only slowly, and while it does, requests are refused that have room. A plain value of the
// control thread.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "base/instant.h"

namespace weir::sync {

/// The time constant, in seconds, of the quick estimate of an offered rate that SyncedLimit and
/// QuietLimits keep. FallingRate does not use it.
inline constexpr double kQuickWindow = 0.1;

class FallingRate {
  public:
    /// Notes the weight that has come since the last call.
    void note(double weight, Instant now) {
        // What arrives while a tick begins is noted a little later than what the tick notes then.
        const Instant at = std::max(now, notes_[next_].at);
        next_ = (next_ + 1) % notes_.size();
        notes_[next_] = {at, weight};
    }
    /// The rate over the last 50 or 100 ms (up to twice as long if notes are sparse), if it is
    /// below `mean` by more than chance allows. Nothing otherwise, also if the notes do not reach
    /// back so far. To be asked only if all requests have weight 1: a few heavy ones that are
    /// missing look like a fall.
    [[nodiscard]] std::optional<double> fallen(double mean, Instant now) const {
        for (const Duration window : {kShortest, 2 * kShortest}) {
            double weight = 0;
            Duration time{};
            for (std::size_t i = 0; i < notes_.size() && time < window; ++i) {
                const Note& note = notes_[(next_ + notes_.size() - i) % notes_.size()];
                // The note at the beginning of the window tells of the time before.
                if (now - note.at >= window) {
                    time = now - note.at;
                } else {
                    weight += note.weight;
                }
            }
            const double seconds = to_seconds(time);
            const double expected = mean * seconds;
            const bool known = time >= window && time <= 2 * window;
            if (known && expected - weight > kDeviations * std::sqrt(expected)) {
                return weight / seconds;
            }
        }
        return std::nullopt;
    }

  private:
    static constexpr Duration kShortest = std::chrono::milliseconds(50);
    static constexpr double kDeviations = 4;
    struct Note {
        Instant at{};
        double weight = 0;
    };
    std::array<Note, 16> notes_{};
    std::size_t next_ = 0;
};

}  // namespace weir::sync
