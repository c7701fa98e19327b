#pragma once
// The port for fair shedding: the side of the limiter with which the engine learns what the
// children of shedding parents are offered here, and tells what they are offered elsewhere.
//
// Thread-safety: belongs to the control thread.
// Ownership: owns the list of each parent's children as it was last read; refers to the parts below
// it.
// Invariant: every reference (LimitRef) is checked before it is used, so that a stale one does
// nothing.

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "limiter/compiled_definitions.h"
#include "limiter/fair_shedding.h"
#include "limiter/fleet_port.h"
#include "limiter/fleet_values.h"
#include "limiter/instance_store.h"
#include "limiter/water_line.h"

namespace weir::limiter {

class FairPort {
  public:
    FairPort(FairShedding& shedding, InstanceStore& store, const CompiledDefinitions& definitions,
             const FleetPort& fleet)
        : shedding_(shedding), store_(store), definitions_(definitions), fleet_(fleet) {}

    // As Limiter says it.
    void read(Instant now, std::uint64_t (*hash)(std::string_view name),
              const std::function<void(SheddingParent&)>& visit);
    void tell(LimitRef parent, const ChildRates& all, const ChildRates& others, Instant now);

  private:
    struct Row {
        SheddingParent parent;
        std::vector<std::uint32_t> places;  // of its children
    };
    void read_children(std::uint32_t tick, std::uint64_t (*hash)(std::string_view name));

    FairShedding& shedding_;
    InstanceStore& store_;
    const CompiledDefinitions& definitions_;
    const FleetPort& fleet_;
    std::unordered_map<std::uint32_t, Row> rows_;  // by the record of the parent's limit
};

}  // namespace weir::limiter
