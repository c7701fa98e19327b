#include "sim/network.h"

#include <algorithm>

namespace weir::sim {

bool Network::is_cut(std::uint32_t from, std::uint32_t to, Instant now) const {
    return std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) {
        if (now < cut.from || now >= cut.to) {
            return false;
        }
        const bool crosses = cut.side[from] != cut.side[to];
        return crosses && (!cut.one_way || cut.side[from]);
    });
}

Instant Network::arrival(Instant now) {
    const double factor = 0.5 + random_.unit();
    Instant at = now + from_seconds(to_seconds(faults_.delay) * factor);
    if (faults_.reordering > 0 && random_.unit() < faults_.reordering) {
        at += from_seconds(to_seconds(faults_.reordering_delay) * random_.unit());
    }
    return at;
}

std::vector<Instant> Network::deliveries(std::uint32_t from, std::uint32_t to, Instant now) {
    std::vector<Instant> times;
    if (random_.unit() < faults_.loss || is_cut(from, to, now)) {
        return times;
    }
    times.push_back(arrival(now));
    if (faults_.duplication > 0 && random_.unit() < faults_.duplication) {
        times.push_back(arrival(now));
    }
    return times;
}

}  // namespace weir::sim
