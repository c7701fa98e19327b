#include "sim/checkers/cells_grow.h"

#include <utility>

namespace weir::sim {

void CellsGrow::sample(const Facts& facts, Findings& findings) {
    std::map<Place, CellFact> now;
    for (const ProcessFact& process : facts.running) {
        for (const OwnedFact& owned : process.owned) {
            for (const CellFact& cell : owned.cells) {
                const Place place{process.process, owned.life, cell.run};
                now.emplace_hint(now.end(), place, cell);
                const auto before = before_.find(place);
                if (before == before_.end()) {
                    continue;
                }
                if (cell.admitted < before->second.admitted ||
                    cell.refunded < before->second.refunded ||
                    cell.offered < before->second.offered) {
                    findings.add(name(), facts.at,
                                 facts.name(process.process) + ", " + facts.quota(owned.limit) +
                                     ": the cell of run " + std::to_string(cell.run) +
                                     " fell from " + std::to_string(before->second.admitted) +
                                     " to " + std::to_string(cell.admitted) + " admitted");
                }
            }
        }
    }
    before_ = std::move(now);
}

}  // namespace weir::sim
