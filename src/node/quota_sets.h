#pragma once
// Gives the quota documents of this member's own files to the store of definitions. It remembers
// which sets came from files: a set whose file is gone stays in force, and that is told. For the
// control thread. It owns what it remembers; the store belongs to the caller.

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
struct KeptDocument;
struct SetStatus;
}  // namespace weir::definitions

namespace weir::node {

/// The results of giving sets to the store, as messages for people.
struct SetsOutcome {
    /// Conflicts between documents. Such a set had no effect.
    std::vector<std::string> errors;
    /// Those of `errors` that are about sets of files here that have errors or no room.
    std::vector<std::string> refused = {};
    /// Messages about sets of which a newer generation is in force already.
    std::vector<std::string> older;
    /// Messages about sets of which the fleet has another content in force, until most files agree.
    std::vector<std::string> waiting = {};
    /// Messages about sets whose files are gone here: whether they stay in force or end.
    std::vector<std::string> gone = {};
    /// Names of sets that are not in conflict any more.
    std::vector<std::string> over = {};
    /// A file that was refused because peers had other content would be accepted now, so the files
    /// should be given again.
    bool again = false;
};

/// What became of the documents that were kept on disk.
struct KeptOutcome {
    std::vector<std::string> used;      ///< sets, each with its generation
    std::vector<std::string> not_used;  ///< messages
};

class QuotaSets {
  public:
    /// `of_fleet`: sets without a generation are automatic, and the fleet decides about them.
    /// Otherwise they hold for this member alone.
    explicit QuotaSets(bool of_fleet) : of_fleet_(of_fleet) {}

    /// With `at_once` every set has been installed when it returns. Without it long sets may still
    /// be loading, and poll() gives their results later. `by_hand` says that a person asked for it:
    /// a set that was refused before is then treated as new.
    [[nodiscard]] SetsOutcome apply(const std::vector<config::QuotaSet>& sets,
                                    definitions::DefinitionStore& store, Instant now, bool at_once,
                                    bool by_hand = false);
    /// Gives documents that were kept on disk to the store, of sets of which none is in force.
    /// `at_once` as above. Those without a generation are automatic sets of the fleet, about which
    /// nobody has decided; without a fleet they are this member's own. With `files_are_good` all
    /// files have been read, so that these sets have none; else they are theirs until the files are
    /// given again.
    [[nodiscard]] KeptOutcome apply_kept(std::vector<definitions::KeptDocument> documents,
                                         const std::string& file,
                                         definitions::DefinitionStore& store, Instant now,
                                         bool at_once, bool files_are_good);
    /// For so long a newer generation of a peer may be in force before the older file here counts
    /// as a problem: in a rollout the files of some sidecars come later.
    static constexpr Duration kFileMayCome = std::chrono::minutes(3);

    /// The results of long sets since the last call, the sets of which a peer has other content,
    /// and the files here that have been older than what is in force for too long.
    [[nodiscard]] SetsOutcome poll(definitions::DefinitionStore& store, Instant now);
    /// The reasons for all sets whose file here is not in force.
    [[nodiscard]] const std::map<std::string, std::string>& problems() const { return problems_; }

    /// Messages for all sets that stay in force although their file here is gone.
    [[nodiscard]] const std::map<std::string, std::string>& without_file() const {
        return without_file_;
    }
    /// The reasons for all sets, also those of peers, that were refused because there is no memory
    /// for them.
    [[nodiscard]] const std::map<std::string, std::string>& too_large() const { return too_large_; }

  private:
    void note_file(const config::QuotaSet& set, definitions::DefinitionStore& store) const;
    [[nodiscard]] definitions::DocumentReport give(const config::QuotaSet& set,
                                                   definitions::DefinitionStore& store, Instant now,
                                                   bool at_once, bool by_hand) const;
    void forget(const std::string& name, const std::string& file,
                definitions::DefinitionStore& store, Instant now, SetsOutcome& outcome);
    void end_renamed(definitions::DefinitionStore& store, Instant now, SetsOutcome& outcome);
    [[nodiscard]] std::string how_it_stays(const definitions::SetStatus& set) const;
    void note_mixed(const definitions::SetStatus& set, const definitions::DefinitionStore& store,
                    Instant now);
    void note_old_files(const definitions::DefinitionStore& store, Instant now,
                        SetsOutcome& outcome);
    void note(const std::string& set, const definitions::DocumentReport& report,
              SetsOutcome& outcome);

    bool of_fleet_;
    std::map<std::string, std::string> files_;          ///< of the sets given here
    std::map<std::string, std::uint64_t> generations_;  ///< of the files' sets with a generation
    std::map<std::string, Instant> older_since_;        ///< sets whose file is older
    /// Sets of which the file here has a generation and what is in force has none, or the other way
    /// round: since when.
    std::map<std::string, Instant> mixed_since_;
    std::set<std::string> mixed_problems_;  ///< sets for which that is what problems_ says
    std::map<std::string, std::string> without_file_;
    bool files_are_new_ = false;  ///< not yet compared with the sets of without_file_
    std::map<std::string, std::string> problems_;
    std::map<std::string, std::string> too_large_;
    std::set<std::string> in_conflict_;
    std::uint64_t conflicts_seen_ = 0;
};

}  // namespace weir::node
