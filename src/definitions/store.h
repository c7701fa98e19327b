#pragma once
// Which quota definitions are in force here, and where each comes from. Two layers: documents of
// files, versioned by (set name, generation), and above them, name by name, the changes made by the
// API (DefinitionMap). A document without generation holds for this sidecar only; of the
// others the newest generation wins and spreads (exchange.h); an older one changes nothing;
// the same generation with other content is a conflict: what was in force stays, it is counted and
// shown. But a file that is new here is taken if at least as many live peers have its content as
// hold to what is in force here, this sidecar among these; one that was refused is taken without
// anybody's doing only if they are more. If two sets define one name, the local set wins, then the
// set whose name sorts first.
//
// A definition whose chain is not valid (its parent was removed at the other side of a split, say)
// is listed with the problem but is not in force, until the chain is whole again.
//
// Costs: a change costs by itself, its chain and what is below it (tree.h), a page of
// the list by its length, a document by its length. Large documents are taken in by tick(), so many
// definitions at a time; meanwhile what was in force stays, name by name.
//
// Borrowing and threads: belongs to the control thread, owns everything. Time comes in as `now`.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "definitions/counters.h"
#include "definitions/document.h"
#include "definitions/history.h"
#include "definitions/map.h"
#include "definitions/tree.h"
#include "limiter/definition.h"

namespace weir::definitions {

/// A file's document, validated by its reader (who knows lines and columns).
struct FileDocument {
    std::string set;
    std::optional<std::uint64_t> generation;
    std::vector<limiter::QuotaDefinition> quotas;
    /// Somebody asked for it: judged as if it were new, also if it was refused before.
    bool by_hand = false;
};

/// The same, encoded: what a large one is given as.
struct EncodedDocument {
    std::string set;
    std::optional<std::uint64_t> generation;
    std::shared_ptr<const std::vector<std::byte>> bytes;
    std::uint64_t content_hash = 0;
    /// A peer sent it: it is not this sidecar's own file.
    bool of_peer = false;
    /// As of a FileDocument.
    bool by_hand = false;
};

enum class DocumentOutcome : std::uint8_t {
    applied,
    loading,    // being taken in
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
    /// Only if the quota still has this tag (ListedDefinition::tag; empty: if there is none).
    std::optional<std::string> expected{};
    /// Without a lifetime: it ends when the override that is there now would end.
    bool keep_lifetime = false;
    /// Everything is checked and nothing changes; the version is the one that it would get.
    bool dry_run = false;
};
inline constexpr std::size_t kMaximumWho = 64;
inline constexpr std::size_t kMaximumWhy = 256;
/// Quotas that one change may set: while they are tried and made nothing else is done.
inline constexpr std::size_t kMaximumTogether = 1000;

/// One of several changes that are made together; `expected` as in Edit.
struct WantedDefinition {
    limiter::QuotaDefinition definition;
    std::optional<std::string> expected{};
};

/// What came of several changes made together.
struct TogetherReport {
    /// In the order of the changes; empty when they were refused.
    std::vector<Version> versions;
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;
    /// What is wrong in the definitions, if that is why.
    std::vector<limiter::DefinitionError> errors;
};

/// For the limiter. Within one batch parents are put before children, and after all of them
/// children are taken away before parents.
using limiter::DefinitionChange;

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
    /// Changes whenever the definition or its origin does; for conditional edits.
    std::string tag{};
    /// Of the override, if there is one.
    std::optional<Version> version{};
    /// What the files say beneath the override, if they say something.
    std::optional<limiter::QuotaDefinition> file_definition{};
};

/// A document that is in force here.
struct SetStatus {
    std::string set;
    std::optional<std::uint64_t> generation;
    std::uint64_t content_hash = 0;
    std::size_t quotas = 0;
    /// The file here or a live peer has the same generation with other content.
    bool conflict = false;
    /// A newer generation that is being taken in.
    std::optional<std::uint64_t> loading{};
    /// The file here was refused, and more live peers have its content than hold to what is in
    /// force here, this sidecar among these: offered again, it is taken.
    bool outvoted = false;
};

/// Contents of a generation, by hash, and how many live peers have each.
using PeerContents = std::map<std::uint64_t, std::size_t>;

class DefinitionStore {
  public:
    static constexpr std::size_t kMaximumOverrides = 1'000'000;
    static constexpr std::size_t kMaximumSets = 64;
    /// Refusals by the limiter whose reasons are kept.
    static constexpr std::size_t kMaximumRefused = 10'000;
    /// Edits kept for take_overtaken().
    static constexpr std::size_t kMaximumOvertaken = 64;

    /// `writer` tells this process's changes from others': random, never used before.
    explicit DefinitionStore(std::uint64_t writer);

    // --- file layer -----------------------------------------------------------------------------
    /// Whole and at once, refused whole if any of its quotas is not valid in its place.
    DocumentReport apply_document(FileDocument document, Instant now);
    /// Takes it in bit by bit as tick() is called, if it is long. It is refused whole for what is
    /// wrong in it; a quota whose parent is not here waits for it.
    DocumentReport offer_document(EncodedDocument document, Instant now);
    /// Whether documents are being taken in; the newest generation of a fleet's set that is.
    [[nodiscard]] bool loading() const { return !jobs_.empty(); }
    [[nodiscard]] std::optional<std::uint64_t> loading_generation(std::string_view set) const;
    /// What came of documents that were loading: set name and report, since the last call.
    [[nodiscard]] std::vector<std::pair<std::string, DocumentReport>> take_reports();
    /// A file is gone. Only a document without generation goes with it: others belong to the fleet,
    /// but are not in conflict with this file any more. The generation that stays in force.
    std::optional<std::uint64_t> forget_local_document(std::string_view set, Instant now);
    [[nodiscard]] std::vector<SetStatus> sets() const;

    // --- API layer ------------------------------------------------------------------------------
    /// Refused whole, with every reason in the message, when the definition is not valid in its
    /// place, does not fit one datagram, or would take the parent away from another.
    Result<Version> set(const limiter::QuotaDefinition& definition, const Edit& edit, Instant now);
    /// Hides a file's quota.
    Result<Version> set_absent(std::string_view name, const Edit& edit, Instant now);
    /// Takes the override away; not_found when there is none.
    Result<Version> remove(std::string_view name, const Edit& edit, Instant now);

    /// All of them or none: refused whole if any is not valid in its place with the others in
    /// force, or has another tag than expected, or if there are more than kMaximumTogether.
    [[nodiscard]] TogetherReport set_together(std::span<const WantedDefinition> wanted,
                                              const Edit& edit, Instant now);

    // --- what is in force -----------------------------------------------------------------------
    /// Every name of either layer, sorted.
    [[nodiscard]] std::vector<ListedDefinition> list(Instant now) const;
    /// At most `count` of those that begin with `prefix` and come after `after`.
    [[nodiscard]] std::vector<ListedDefinition> page(std::string_view prefix,
                                                     std::string_view after, std::size_t count,
                                                     Instant now) const;
    [[nodiscard]] std::optional<ListedDefinition> find(std::string_view name, Instant now) const;
    /// The whole set in force, sorted by name; a valid set.
    [[nodiscard]] std::vector<limiter::QuotaDefinition> in_force() const;
    /// How many are in force.
    [[nodiscard]] std::size_t size() const { return tree_.valid(); }
    /// How many changes take_changes() would give, about.
    [[nodiscard]] std::size_t waiting() const { return tree_.waiting(); }
    /// What is not yet what the limiter has, at most `budget` changes of it.
    [[nodiscard]] std::vector<DefinitionChange> take_changes(std::size_t budget = SIZE_MAX);
    /// The limiter was given all of in_force() by its user.
    void all_given() { tree_.all_given(); }
    /// The limiter would not have these of the last changes: they are listed as not in force, with
    /// its reasons, until they change.
    void note_refused(const std::vector<limiter::DefinitionError>& errors);
    /// How many of those there are now.
    [[nodiscard]] std::size_t refused() const { return refused_.size(); }
    /// Reasons noted since the last call, for a log; of many only some.
    [[nodiscard]] std::vector<std::string> take_refused();
    /// Ends expired overrides, drops old tombstones, takes in documents. Call it at every tick.
    void tick(Instant now);
    /// A hash over everything in force: for weir_config_info and for comparing peers.
    [[nodiscard]] std::uint64_t content_hash() const { return tree_.content_hash(); }
    [[nodiscard]] const DefinitionStoreCounters& counters() const { return counters_; }
    /// What would be wrong if this were the definition of its name; changes nothing.
    [[nodiscard]] std::vector<limiter::DefinitionError> check(
        const limiter::QuotaDefinition& definition);
    /// What the API layer said of a name before, and what was said at the same time and lost.
    [[nodiscard]] std::vector<HistoryEntry> history(std::string_view name) const;
    /// How many definitions all changes together looked at: what they cost.
    [[nodiscard]] std::uint64_t visits() const { return tree_.visits() + visits_; }

    // --- for DefinitionExchange -----------------------------------------------------------------
    [[nodiscard]] const DefinitionMap& overrides() const { return overrides_; }
    MergeOutcome merge(DefinitionEntry entry, Instant now);
    /// Visits the overrides that say something now, in the order of their names, those behind
    /// `after` only, until `visit` returns false or so many names of any layer were looked at.
    /// Returns the last name that is done with; nothing when there are no more.
    std::optional<std::string> for_each_override(
        std::string_view after, std::size_t names,
        const std::function<bool(const DefinitionEntry&)>& visit) const;
    /// Edits made here since the last call, to be pushed to all peers.
    [[nodiscard]] std::vector<DefinitionEntry> take_edited();
    /// Edits made here that others' replaced since the last call, the first kMaximumOvertaken.
    [[nodiscard]] std::vector<DefinitionEntry> take_overtaken();
    /// The encoded document of a set with generation; nothing if there is none.
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> document_bytes(
        std::string_view set) const;
    /// How many live peers have which content of the generation that is in force here.
    void note_peer_contents(std::string_view set, PeerContents contents);
    /// Grows whenever a set's conflict begins or ends, or peers have other contents.
    [[nodiscard]] std::uint64_t conflict_changes() const { return conflict_changes_; }
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
    using Document = std::shared_ptr<DefinitionDocument>;
    struct SetState {
        std::optional<std::uint64_t> generation;
        std::uint64_t content_hash = 0;
        Document document;
        std::optional<std::uint64_t> file_content{};  // of the file here, if it is another one
        PeerContents peers{};
        [[nodiscard]] bool peer_conflict() const;
        [[nodiscard]] bool conflict() const { return file_content || peer_conflict(); }
        [[nodiscard]] bool outvoted_by(std::uint64_t content, bool by_a_tie) const;
    };
    /// A document on its way into force: read, then installed name by name.
    struct Job {
        SetKey key;
        SetState state;
        bool strict = false;  // quotas that are not valid in their place are errors, too
        bool of_peer = false;
        bool by_hand = false;
        bool refused_before = false;  // and nobody asked for it again
        bool installing = false;
        Document before;  // what it replaces
        std::size_t old_at = 0;
        std::size_t new_at = 0;
        std::vector<limiter::DefinitionError> errors;
    };

    DocumentReport refuse(DocumentReport report);
    [[nodiscard]] bool refused_before(const Job& job) const;
    [[nodiscard]] std::optional<DocumentReport> judge(const Job& job);
    /// `job`: what it is and where it comes from, nothing else.
    DocumentReport start(Job job, Instant now);
    void note_file_content(SetState& state, std::optional<std::uint64_t> content);
    void work(std::size_t budget, Instant now);
    [[nodiscard]] bool read(Job& job, std::size_t& budget, Instant now);
    [[nodiscard]] bool install(Job& job, std::size_t& budget, Instant now);
    [[nodiscard]] bool invalid_in_place(Job& job, Instant now);
    void finish_job(DocumentReport report);
    [[nodiscard]] const Job* job_of(std::string_view set) const;
    [[nodiscard]] std::optional<DefinitionDocument::Item> in_files(std::string_view name,
                                                                   const SetKey** key) const;
    [[nodiscard]] std::optional<limiter::QuotaDefinition> desired(std::string_view name,
                                                                  std::uint64_t* hash) const;
    void update(std::string_view name, Instant now);
    void put_encoded(std::string_view name, std::string_view value, bool sound);
    /// A change before it is made, and what it makes of its name.
    struct Planned {
        DefinitionEntry entry;
        std::optional<limiter::QuotaDefinition> outcome;
        std::optional<std::string> expected;
    };
    Result<Version> edit(Planned change, const Edit& by, Instant now);
    [[nodiscard]] Result<void> prepare(Planned& change, const Edit& by, Instant now);
    [[nodiscard]] Result<void> check_room(std::span<const Planned> changes) const;
    [[nodiscard]] std::vector<limiter::DefinitionError> losses_of(std::span<const Planned> changes,
                                                                  Instant now);
    [[nodiscard]] std::vector<limiter::DefinitionError> lasting_losses(
        std::span<const Planned> changes, const std::vector<limiter::DefinitionError>& noted,
        const std::vector<std::string>& lost) const;
    [[nodiscard]] std::optional<limiter::QuotaDefinition> definition_of_file(
        std::string_view name) const;
    Version commit(DefinitionEntry entry, Instant now);
    MergeOutcome merge_entry(DefinitionEntry entry, Instant now);
    [[nodiscard]] ListedDefinition listed(std::string_view name, Instant now) const;

    std::uint64_t writer_;
    DefinitionMap overrides_{kMaximumOverrides};
    std::map<SetKey, SetState> sets_;
    std::deque<Job> jobs_;
    std::vector<std::pair<std::string, DocumentReport>> reports_;
    DefinitionTree tree_;
    std::set<std::string, std::less<>> hidden_;                // by overrides of kind absent
    std::map<std::string, std::string, std::less<>> refused_;  // by the limiter: name, reason
    std::vector<std::string> refused_lately_;
    DefinitionHistory history_;
    std::vector<DefinitionEntry> edited_;
    std::vector<DefinitionEntry> overtaken_;
    Instant now_{};
    std::uint64_t visits_ = 0;
    std::uint64_t conflict_changes_ = 0;
    DefinitionStoreCounters counters_;
};

}  // namespace weir::definitions
