#include "sim/facts.h"

#include <algorithm>

namespace weir::sim {

const ProcessFact* Facts::find(const Endpoint& address, std::uint64_t incarnation) const {
    const auto found =
        std::find_if(running.begin(), running.end(), [&](const ProcessFact& process) {
            return process.incarnation == incarnation && process.address == address;
        });
    return found == running.end() ? nullptr : &*found;
}

const ProcessTruth* Facts::origin(LimitIndex limit, std::uint32_t run) const {
    const auto found = runs.find({limit, run});
    return found == runs.end() ? nullptr : &ever[found->second];
}

std::string Facts::name(std::size_t process) const {
    return "sidecar " + std::to_string(ever[process].sidecar) + " (process " +
           std::to_string(ever[process].epoch) + ")";
}

std::string Facts::quota(LimitIndex limit) const {
    return limit < limits.size() ? "'" + limits[limit].quota + "'" : "a limit that nobody has";
}

const OwnedFact* find_owned(const ProcessFact& process, LimitIndex limit) {
    const auto found = std::find_if(process.owned.begin(), process.owned.end(),
                                    [&](const OwnedFact& owned) { return owned.limit == limit; });
    return found == process.owned.end() ? nullptr : &*found;
}

const CellFact* find_cell(const OwnedFact& owned, std::uint32_t run) {
    const auto found = std::find_if(owned.cells.begin(), owned.cells.end(),
                                    [&](const CellFact& cell) { return cell.run == run; });
    return found == owned.cells.end() ? nullptr : &*found;
}

}  // namespace weir::sim
