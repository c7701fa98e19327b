#pragma once
// Faults of a simulated fleet as plain values: what happens, when, to whom, and for how long.
// arrange() schedules them in a World before it runs. fault_text.h says how a story file writes
// them.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/world.h"

namespace weir::sim {

enum class FaultKind : std::uint8_t {
    kill,         // the process ends; another one starts after `seconds`, if that is not 0
    restart,      // another process takes its place at once
    goodbye,      // like a kill, but the process says goodbye before
    stop,         // the process does not run, and its clock goes on
    pause,        // the whole machine does not run, and its clock stands still
    leap,         // the clock of the machine leaps forward by `amount` seconds
    cut,          // nothing passes between `side` and the others
    cut_one_way,  // nothing passes from `side` to the others
    loss,         // this share of all datagrams is lost
    duplication,  // this share of all datagrams comes twice
    reordering,   // this share of all datagrams comes up to two seconds late
    delay,        // each datagram takes `amount` seconds, each way
    clone,  // another machine has the same address and gets the share `amount` of its datagrams
    churn,  // the process is restarted every two seconds
    rotate_keys,  // all accept a new key, then all use it, then all drop the old one
    edit,         // `quota` gets the rate `amount`, through the API of the sidecar
    throttle,     // the process is stopped for `stopped` of every `every` seconds
    set_ahead,    // the wall clock of the machine is `amount` seconds ahead
    set_back,     // the wall clock of the machine is `amount` seconds behind
};
inline constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::set_back) + 1;

/// The sidecars that a fault happens to. The owners of a quota are looked up when the fault begins.
struct FaultTarget {
    enum class Kind : std::uint8_t {
        number,    // the sidecar with this number
        owner,     // the owner of `quota` with the lowest number
        no_owner,  // the sidecar with the lowest number that does not own `quota`
        owners,    // each owner of `quota`
    };
    Kind kind = Kind::number;
    std::uint32_t number = 0;
    std::string quota = {};
};

struct Fault {
    double at = 0;
    FaultKind kind{};
    FaultTarget target = {};
    double seconds = 0;
    double amount = 0;
    std::vector<std::uint32_t> side = {};
    std::string quota = {};
    double stopped = 0;
    double every = 0;
    double apart = 0;  // with several targets: seconds between one and the next
};

/// Called with every edit when it is made; `at` is in seconds of the story.
using EditSink = std::function<void(const limiter::QuotaDefinition& definition, double at)>;

/// Schedules the faults in the world. The sidecars that they name by number must exist.
void arrange(World& world, const std::vector<Fault>& faults, const EditSink& edited);

}  // namespace weir::sim
