#pragma once
// The quota documents of this member's own files, given to the engine. Remembers which sets came
// from files, so that a set whose file is gone is forgotten. Control thread.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "config/quota_document.h"

namespace weir::definitions {
class DefinitionStore;
struct DocumentReport;
}  // namespace weir::definitions

namespace weir::node {

/// What came of giving sets to the engine, for people.
struct SetsOutcome {
    /// Conflicts between documents; nothing of such a set took effect.
    std::vector<std::string> errors;
    /// Sets of which a newer generation is in force already.
    std::vector<std::string> older;
    /// Sets whose files are gone here and that stay in force all the same.
    std::vector<std::string> gone = {};
    /// Names of sets that are not in conflict any more.
    std::vector<std::string> over = {};
    /// A file that was refused because of other content would be taken now: give the files again.
    bool again = false;
};

class QuotaSets {
  public:
    /// `at_once`: everything is taken in when it returns; otherwise long sets may still be on
    /// their way, and poll() tells what came of them. `by_hand`: somebody asked for it, and a set
    /// that was refused is judged as a new one.
    [[nodiscard]] SetsOutcome apply(const std::vector<config::QuotaSet>& sets,
                                    definitions::DefinitionStore& store, Instant now, bool at_once,
                                    bool by_hand = false);
    /// What came of long sets, and of which sets a peer has other content, since the last call.
    [[nodiscard]] SetsOutcome poll(definitions::DefinitionStore& store);
    /// By set: why the file here is not what is in force.
    [[nodiscard]] const std::map<std::string, std::string>& problems() const { return problems_; }

  private:
    void note(const std::string& set, const definitions::DocumentReport& report,
              SetsOutcome& outcome);

    std::map<std::string, std::string> files_;  ///< of the sets given here
    std::map<std::string, std::string> problems_;
    std::set<std::string> in_conflict_;
    std::uint64_t conflicts_seen_ = 0;
};

}  // namespace weir::node
