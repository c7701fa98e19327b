#include "gossip/strangers.h"

#include <algorithm>

namespace weir::gossip {

bool Strangers::concerns(DatagramRejection reason) {
    switch (reason) {
        case DatagramRejection::version:
        case DatagramRejection::unsealed:
        case DatagramRejection::sealed:
        case DatagramRejection::unknown_key:
        case DatagramRejection::forged:
        case DatagramRejection::other_cluster:
            return true;
        default:
            return false;
    }
}

void Strangers::note(const Endpoint& from, DatagramRejection reason, std::uint32_t key,
                     Instant now) {
    for (Stranger& one : known_) {
        if (one.from == from && one.reason == reason && one.key == key) {
            ++one.datagrams;
            one.last = now;
            return;
        }
    }
    if (known_.size() == kCapacity) {
        const auto gone = [&](const Stranger& one) { return now - one.last > kMemory; };
        known_.erase(std::min_element(
            known_.begin(), known_.end(), [&](const Stranger& one, const Stranger& other) {
                if (gone(one) != gone(other)) {
                    return gone(one);
                }
                return one.datagrams != other.datagrams ? one.datagrams < other.datagrams
                                                        : one.first > other.first;
            }));
    }
    known_.push_back({from, reason, key, 1, now, now});
}

std::vector<Stranger> Strangers::recent(Instant now) const {
    std::vector<Stranger> result;
    std::copy_if(known_.begin(), known_.end(), std::back_inserter(result),
                 [&](const Stranger& one) { return now - one.last <= kMemory; });
    std::stable_sort(result.begin(), result.end(), [](const Stranger& one, const Stranger& other) {
        return one.datagrams > other.datagrams;
    });
    return result;
}

}  // namespace weir::gossip
