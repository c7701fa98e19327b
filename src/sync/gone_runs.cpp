#include "sync/gone_runs.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::sync {

std::size_t GoneRuns::place_of(std::uint64_t run) const {
    const auto place = std::lower_bound(
        counts_.begin(), counts_.end(), run,
        [](const GoneRun& count, std::uint64_t wanted) { return count.run < wanted; });
    return static_cast<std::size_t>(place - counts_.begin());
}

const GoneRuns::GoneRun* GoneRuns::find(std::uint64_t run) const {
    const std::size_t place = place_of(run);
    return is_at(place, run) ? &counts_[place] : nullptr;
}

GoneRuns::Taken GoneRuns::take(std::uint64_t run, std::uint64_t number, std::uint64_t admitted) {
    WEIR_ASSERT(run != 0 && number != 0);
    const std::size_t place = place_of(run);
    const bool known = is_at(place, run);
    if (known && number <= counts_[place].number) {
        return Taken::known;
    }
    if (!known) {
        if (counts_.size() >= kMost) {
            return Taken::full;
        }
        counts_.insert(counts_.begin() + static_cast<std::ptrdiff_t>(place), GoneRun{.run = run});
    }
    GoneRun& count = counts_[place];
    untold_ += (!known || is_told(count)) && others_ != 0 ? 1U : 0U;
    subtract(count.admitted);
    count = {.run = run, .number = number, .admitted = admitted, .noted = 0};
    add(admitted);
    WEIR_ASSERT(untold_ <= counts_.size());
    return Taken::news;
}

bool GoneRuns::remove(std::uint64_t run) {
    const std::size_t place = place_of(run);
    if (!is_at(place, run)) {
        return false;
    }
    const GoneRun& count = counts_[place];
    WEIR_ASSERT(is_told(count) || untold_ > 0);
    untold_ -= is_told(count) ? 0U : 1U;
    subtract(count.admitted);
    counts_.erase(counts_.begin() + static_cast<std::ptrdiff_t>(place));
    return true;
}

void GoneRuns::clear() {
    counts_.clear();
    untold_ = 0;
    sum_ = overflows_ = 0;
}

void GoneRuns::tell_all(OwnerBits owners) {
    others_ = owners;
    untold_ = owners == 0 ? 0 : counts_.size();
    for (GoneRun& count : counts_) {
        count.noted = 0;
    }
}

bool GoneRuns::note(std::uint64_t run, std::uint64_t number, OwnerBits owners) {
    const std::size_t place = place_of(run);
    if (!is_at(place, run) || counts_[place].number != number) {
        return false;  // something newer has to be noted
    }
    GoneRun& count = counts_[place];
    const bool told = is_told(count);
    count.noted = static_cast<OwnerBits>(count.noted | owners);
    const bool done = !told && is_told(count);
    WEIR_ASSERT(!done || untold_ > 0);
    untold_ -= done ? 1U : 0U;
    return done;
}

std::uint64_t GoneRuns::admitted() const {
    constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
    return overflows_ > 0 ? kHuge : std::min(sum_, kHuge);
}

void GoneRuns::add(std::uint64_t admitted) {
    sum_ += admitted;
    overflows_ += sum_ < admitted ? 1U : 0U;
}

void GoneRuns::subtract(std::uint64_t admitted) {
    WEIR_ASSERT(overflows_ > 0 || sum_ >= admitted);
    overflows_ -= sum_ < admitted ? 1U : 0U;
    sum_ -= admitted;
}

}  // namespace weir::sync
