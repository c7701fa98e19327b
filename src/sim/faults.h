#pragma once
// Faults as a list that can be read, drawn from a seed, printed and replayed: what happens, when,
// to whom, for how long. Plain values; arrange() gives them to a World before it runs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "sim/world.h"

namespace weir::sim {

enum class FaultKind : std::uint8_t {
    kill,         // the process is gone, and another one starts after `seconds`
    restart,      // another process at once
    goodbye,      // as a kill, after having said goodbye
    stop,         // the process does not run; its clock goes on
    pause,        // the machine does not run; its clock stands still
    leap,         // its clock leaps forward by `amount` seconds
    cut,          // nothing passes between `side` and the others
    cut_one_way,  // nothing passes from `side` to the others
    loss,         // this share of all datagrams is lost
    duplication,  // this share comes twice
    reordering,   // this share comes up to two seconds late
    delay,        // each way, `amount` seconds
    // another machine has the same address, and gets `amount` of what is sent there
    clone,
    churn,        // a restart every two seconds
    rotate_keys,  // new key accepted by all, then used by all, then the old one dropped
    edit,         // `quota` gets the amount `amount`
};
inline constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::edit) + 1;

/// "kill", "cut-one-way", ...
[[nodiscard]] std::string_view to_string(FaultKind kind);

struct Fault {
    double at = 0;
    FaultKind kind{};
    std::uint32_t sidecar = 0;
    double seconds = 0;
    double amount = 0;
    std::vector<std::uint32_t> side = {};
    std::string quota = {};
};

/// One line: "{at: 65.2, kind: stop, sidecar: 3, seconds: 7.1}".
[[nodiscard]] std::string describe(const Fault& fault);

/// Told of every edit as it is made.
using EditSink = std::function<void(const limiter::QuotaDefinition& definition, double at)>;

/// Makes the world go through the faults. Their sidecars must exist.
void arrange(World& world, const std::vector<Fault>& faults, const EditSink& edited);

/// A fleet under load, and a fault a minute, all drawn from the seed.
struct FaultPlan {
    WorldPlan world;
    std::vector<Fault> faults;
};
[[nodiscard]] FaultPlan draw_fault_plan(std::uint64_t seed, double minutes);

}  // namespace weir::sim
