#pragma once
// Which quota definitions are in force here, and where each comes from. Two layers: documents of
// files, versioned by (set name, generation), and above them, name by name, the changes made by the
// API (crdt::DefinitionMap). A document without generation holds for this sidecar only; of the
// others the newest generation wins and spreads (definition_sync.h); an older one changes nothing;
// the same generation with other content is a conflict: what was in force stays, it is counted and
// shown. If two sets define one name, the local set wins, then the set whose name sorts first.
//
// A definition whose chain is not valid (its parent was removed at the other side of a split, say)
// is listed with the problem but is not in force, until the chain is whole again.
//
// Borrowing and threads: belongs to the control thread, owns everything. Time comes in as `now`.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "crdt/definition_map.h"
#include "limiter/definition.h"

namespace weir::engine {

/// A file's document, validated by its reader (who knows lines and columns).
struct FileDocument {
    std::string set;
    std::optional<std::uint64_t> generation;
    std::vector<limiter::QuotaDefinition> quotas;
};

enum class DocumentOutcome : std::uint8_t {
    applied,
    unchanged,  // the same generation and content is in force
    older,      // a newer generation is in force
    conflict,   // the same generation with other content is in force
    invalid     // errors; nothing changed
};

struct DocumentReport {
    DocumentOutcome outcome = DocumentOutcome::applied;
    std::optional<std::uint64_t> in_force;  // the generation in force afterwards
    std::vector<limiter::DefinitionError> errors;
    std::string message;  // for people, unless applied or unchanged
};

/// Who made a change by the API, why, and for how long it holds.
struct Edit {
    std::string who;
    std::string why;
    std::optional<Duration> lifetime;
};
inline constexpr std::size_t kMaximumWho = 64;
inline constexpr std::size_t kMaximumWhy = 256;

/// One change of what is in force, for the limiter. Within one batch parents are put before
/// children, and after all of them children are taken away before parents, as far as parents are
/// named exactly. Should the limiter refuse one, give it in_force() whole.
struct DefinitionChange {
    std::string name;
    std::optional<limiter::QuotaDefinition> definition;  // nothing: taken away
};

struct ListedDefinition {
    std::string name;
    /// Nothing when the API layer hides the file's quota.
    std::optional<limiter::QuotaDefinition> definition;
    /// "file storage#7", "file storage" (local), "api epoch 12 by 5f0c…".
    std::string source;
    bool in_force = true;
    std::string problem;  // why it is not
    std::string who;
    std::string why;
    std::optional<Duration> expires_in;
};

/// A document that is in force here.
struct SetStatus {
    std::string set;
    std::optional<std::uint64_t> generation;
    std::uint64_t content_hash = 0;
    std::size_t quotas = 0;
    /// A document of the same generation with other content was met.
    bool conflict = false;
};

struct DefinitionStoreCounters {
    std::uint64_t documents_applied = 0;
    std::uint64_t documents_older = 0;
    std::uint64_t document_conflicts = 0;
    std::uint64_t documents_invalid = 0;
    std::uint64_t edits = 0;
    std::uint64_t edits_refused = 0;
    std::uint64_t merged = 0;
    std::uint64_t refused_epochs = 0;
    std::uint64_t refused_full = 0;
    std::uint64_t refused_entries = 0;  // did not decode
};

class DefinitionStore {
  public:
    static constexpr std::size_t kMaximumOverrides = 1'000'000;
    static constexpr std::size_t kMaximumSets = 64;

    /// `writer` tells this process's changes from others': random, never used before.
    explicit DefinitionStore(std::uint64_t writer);

    // --- file layer -----------------------------------------------------------------------------
    DocumentReport apply_document(FileDocument document, Instant now);
    /// A file is gone. Only a document without generation goes with it: others belong to the fleet.
    void forget_local_document(std::string_view set, Instant now);
    [[nodiscard]] std::vector<SetStatus> sets() const;

    // --- API layer ------------------------------------------------------------------------------
    /// Refused whole, with every reason in the message, when the definition is not valid in its
    /// place, does not fit one datagram, or would take the parent away from another.
    Result<crdt::Version> set(const limiter::QuotaDefinition& definition, const Edit& edit,
                              Instant now);
    /// Hides a file's quota.
    Result<crdt::Version> set_absent(std::string_view name, const Edit& edit, Instant now);
    /// Takes the override away; not_found when there is none.
    Result<crdt::Version> remove(std::string_view name, const Edit& edit, Instant now);

    // --- what is in force -----------------------------------------------------------------------
    /// Every name of either layer, sorted.
    [[nodiscard]] std::vector<ListedDefinition> list(Instant now);
    [[nodiscard]] std::optional<ListedDefinition> find(std::string_view name, Instant now);
    /// The whole set in force, sorted by name; a valid set.
    [[nodiscard]] std::vector<limiter::QuotaDefinition> in_force();
    /// What changed since the last call.
    [[nodiscard]] std::vector<DefinitionChange> take_changes();
    /// Ends expired overrides and drops old tombstones. Call it about every 100 ms.
    void tick(Instant now);
    /// A hash over everything in force: for weir_config_info and for comparing peers.
    [[nodiscard]] std::uint64_t content_hash();
    [[nodiscard]] const DefinitionStoreCounters& counters() const { return counters_; }

    // --- for definition_sync --------------------------------------------------------------------
    [[nodiscard]] const crdt::DefinitionMap& overrides() const { return overrides_; }
    crdt::MergeOutcome merge(crdt::DefinitionEntry entry, Instant now);
    /// Names edited here since the last call, to be pushed to all peers.
    [[nodiscard]] std::vector<std::string> take_edited();
    /// The encoded document of a set with generation; nothing if there is none.
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> document_bytes(
        std::string_view set) const;
    /// A peer has the same generation with other content.
    void note_conflict(std::string_view set);
    /// A document that a peer sent whole.
    DocumentReport apply_encoded(std::string_view set, std::uint64_t generation,
                                 std::span<const std::byte> bytes, Instant now);

  private:
    /// Local documents sort first and win.
    struct SetKey {
        bool of_fleet = false;
        std::string set;
        friend auto operator<=>(const SetKey&, const SetKey&) = default;
    };
    struct SetState {
        std::optional<std::uint64_t> generation;
        std::uint64_t content_hash = 0;
        std::shared_ptr<const std::vector<std::byte>> bytes;
        std::map<std::string, limiter::QuotaDefinition, std::less<>> quotas;
        bool conflict = false;
    };
    struct Effective {
        limiter::QuotaDefinition definition;
        bool valid = true;
        std::string problem;
        bool given = false;  // take_changes() has handed it out
    };

    [[nodiscard]] DocumentReport refuse(DocumentReport report);
    [[nodiscard]] std::vector<limiter::DefinitionError> document_errors(
        const FileDocument& document, const SetKey& key);
    void install(const SetKey& key, SetState state, Instant now);
    [[nodiscard]] const limiter::QuotaDefinition* in_files(std::string_view name,
                                                           const SetKey** key) const;
    [[nodiscard]] std::optional<limiter::QuotaDefinition> desired(const std::string& name,
                                                                  Instant now) const;
    void update(const std::string& name, Instant now);
    [[nodiscard]] bool chain_valid(const limiter::QuotaDefinition& definition) const;
    [[nodiscard]] bool same_shape(const limiter::QuotaDefinition& definition) const;
    void settle();
    Result<crdt::Version> edit(crdt::DefinitionEntry entry,
                               const std::optional<limiter::QuotaDefinition>& outcome,
                               const Edit& by, Instant now);
    [[nodiscard]] std::string candidate_errors(
        const std::string& name, const std::optional<limiter::QuotaDefinition>& outcome);
    [[nodiscard]] ListedDefinition listed(const std::string& name, Instant now) const;
    [[nodiscard]] std::size_t depth_of(std::string_view name) const;

    std::uint64_t writer_;
    crdt::DefinitionMap overrides_{kMaximumOverrides};
    std::map<SetKey, SetState> sets_;
    std::map<std::string, Effective, std::less<>> effective_;
    std::set<std::string> touched_;
    std::map<std::string, std::optional<std::string>, std::less<>> gone_;  // name, parent
    std::vector<std::string> edited_;
    bool revalidate_ = false;
    std::optional<std::uint64_t> content_hash_;
    DefinitionStoreCounters counters_;
};

}  // namespace weir::engine
