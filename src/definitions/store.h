#pragma once
// Decides which quota definitions are in force in this sidecar, and knows where each of them comes
// from. There are two layers: documents of files below, and changes made by the API (DefinitionMap)
// above them, name by name.
//
// Documents. A document belongs to a set. Without a generation it holds for this sidecar alone.
// With generations, the newest document of a set holds and spreads through the fleet (exchange.h),
// and an older one changes nothing. Generations are numbers that files give, or decisions of the
// fleet about an automatic set (generation.h): the file of such a set is in force at once only if
// nothing of the set is in force here, or if there is neither a peer nor a decision. A document of
// the same generation with other content is a conflict: the one in force stays, and the conflict is
// counted and shown. There is one exception. A file with content that is new to this sidecar is
// accepted if at least as many live peers have its content as have the content in force here, where
// this sidecar counts among the latter. A file that was refused before is accepted without a
// request only if more peers have its content. If two sets define the same name, a set without
// generation wins, and otherwise the set whose name sorts first.
//
// Validity. A definition that is not valid in its place, for instance because its parent was
// removed at the other side of a split, is listed with the problem. It comes into force when the
// problem is gone (tree.h).
//
// Costs. The cost of a change grows with its chain and the quotas below it (tree.h), that of a page
// of the list and of a document with its length. Large documents are installed by tick(), some
// definitions at a time; until it is a name's turn, its former definition stays in force.
//
// Thread-safety: none; it belongs to the control thread. Ownership: it owns all of its parts.
// Invariant: the tree has for each name the definition that the two layers give it. Only names that
// a document under way has not reached yet may have their former definition. Time comes in as
// `now`.

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
#include "definitions/generation.h"
#include "definitions/history.h"
#include "definitions/kept_documents.h"
#include "definitions/map.h"
#include "definitions/set_files.h"
#include "definitions/store_reports.h"
#include "definitions/tree.h"
#include "limiter/definition.h"

namespace weir::definitions {

class DefinitionStore {
  public:
    static constexpr std::size_t kMaximumOverrides = 1'000'000;
    static constexpr std::size_t kMaximumSets = 64;
    /// How many definitions that the limiter refused are kept with the reason.
    static constexpr std::size_t kMaximumRefused = 10'000;
    /// How many edits are kept for take_overtaken().
    static constexpr std::size_t kMaximumOvertaken = 64;
    /// How many expired overrides are kept for take_expired().
    static constexpr std::size_t kMaximumExpired = 64;

    /// `writer` distinguishes the changes of this process from those of others: it must be a random
    /// number that was never used before.
    explicit DefinitionStore(std::uint64_t writer);

    // --- memory ---------------------------------------------------------------------------------
    /// How many bytes of memory are left for definitions; nothing if there is no bound.
    using RoomLeft = std::function<std::optional<std::uint64_t>()>;
    /// From now on a document that would take more than is left is refused as a whole, and what was
    /// in force stays; so are new overrides when nothing is left.
    void bound_memory(RoomLeft left) { room_left_ = std::move(left); }

    // --- file layer -----------------------------------------------------------------------------
    /// Installs a document at once. It is refused as a whole if any of its quotas is not valid in
    /// its place.
    DocumentReport apply_document(FileDocument document, Instant now);
    /// Installs a document; a long one step by step as tick() is called. It is refused as a whole
    /// if any of its quotas is wrong by itself. A quota whose parent does not exist here is kept,
    /// and comes into force with its parent.
    DocumentReport offer_document(EncodedDocument document, Instant now);
    /// Whether documents are being installed, and which generation of this set.
    [[nodiscard]] bool loading() const { return !jobs_.empty(); }
    [[nodiscard]] std::optional<std::uint64_t> loading_generation(std::string_view set) const;
    /// The reports on documents whose loading has ended since the last call, each with the name of
    /// its set.
    [[nodiscard]] std::vector<std::pair<std::string, DocumentReport>> take_reports();
    /// Notes that the file of this set is gone. What is in force of the set stays, and the file no
    /// longer counts as a conflict.
    void forget_file(std::string_view set, Instant now);
    /// Ends the document of this set that holds for this member alone; nothing if there is none.
    void end_local_document(std::string_view set, Instant now);
    /// How many names there are of which both of these sets have a quota.
    [[nodiscard]] std::size_t shared_quotas(std::string_view one, std::string_view other) const;
    [[nodiscard]] std::vector<SetStatus> sets() const;
    /// What the files of this sidecar have. They are noted here by whoever offers them.
    [[nodiscard]] SetFiles& files() { return files_; }
    [[nodiscard]] const SetFiles& files() const { return files_; }
    /// Notes whether there has been no peer since the start.
    void note_alone(bool alone) { alone_ = alone; }
    /// Offers the file of this set again, which waits for the fleet.
    void offer_file(const std::string& set, Instant now);
    /// Puts this version in force, if it replaces the one here and its content is in force or on
    /// disk here. False: the content has to be fetched.
    bool take_known(const std::string& set, const SetVersion& version, Instant now);
    /// The documents that are in force, to be kept on disk.
    [[nodiscard]] std::vector<KeptDocument> documents() const;

    // --- API layer ------------------------------------------------------------------------------
    /// Puts the definition in force for its name. Refused with all reasons in the message:
    /// invalid_argument when it is not valid in its place or another quota would go out of force,
    /// too_large when it does not fit one datagram, conflict when the quota does not have the
    /// expected tag, exhausted when there are kMaximumOverrides.
    Result<Version> set(const limiter::QuotaDefinition& definition, const Edit& edit, Instant now);
    /// Hides the quota of this name that files define. The errors are the same.
    Result<Version> set_absent(std::string_view name, const Edit& edit, Instant now);
    /// Removes the override, so that the files hold again. The errors are the same, and not_found
    /// when there is no override.
    Result<Version> remove(std::string_view name, const Edit& edit, Instant now);

    /// Makes all of these changes or none. They are refused as a whole if any of them would be
    /// refused while the others are in force, or if there are more than kMaximumTogether.
    [[nodiscard]] TogetherReport set_together(std::span<const WantedDefinition> wanted,
                                              const Edit& edit, Instant now);

    // --- what is in force -----------------------------------------------------------------------
    /// The definitions of the names in either layer, sorted: at most `count` of those whose names
    /// begin with `prefix` and come after `after`.
    [[nodiscard]] std::vector<ListedDefinition> page(std::string_view prefix,
                                                     std::string_view after, std::size_t count,
                                                     Instant now) const;
    [[nodiscard]] std::optional<ListedDefinition> find(std::string_view name, Instant now) const;
    /// The names of definitions that are in force, with their captures, sorted: the first `count`
    /// of those that come after the name `after`.
    [[nodiscard]] std::vector<std::string> names_in_force(std::string_view after,
                                                          std::size_t count) const;
    /// Whether a definition of this very name is in force.
    [[nodiscard]] bool has(std::string_view name) const;
    /// How many definitions are in force.
    [[nodiscard]] std::size_t size() const { return tree_.valid(); }
    /// How many definitions have limits that only a later version of weir knows. These limits are
    /// not held here.
    [[nodiscard]] std::size_t incomplete() const { return tree_.incomplete(); }
    /// About how many changes wait for take_changes().
    [[nodiscard]] std::size_t waiting() const { return tree_.waiting(); }
    /// The next changes for the limiter, at most `budget` of them. First come definitions that are
    /// put, parents before their children, then those that are taken away, children before their
    /// parents.
    [[nodiscard]] std::vector<limiter::DefinitionChange> take_changes(
        std::size_t budget = SIZE_MAX);
    /// Notes the changes that the limiter has left out. Until they change, their quotas are listed
    /// as not in force, with the reason.
    void note_refused(std::span<const limiter::RefusedChange> refused);
    /// The reasons that were noted since the last call, for a log; if there are many, only the
    /// first ones.
    [[nodiscard]] std::vector<std::string> take_refused();
    /// Ends expired overrides, drops old tombstones, and goes on installing documents. To be called
    /// at every tick of the engine.
    void tick(Instant now);
    /// The overrides that have expired since the last call.
    [[nodiscard]] ExpiredOverrides take_expired() { return std::exchange(expired_, {}); }
    /// A hash over everything in force, for weir_config_info and for comparing peers.
    [[nodiscard]] std::uint64_t content_hash() const { return tree_.content_hash(); }
    [[nodiscard]] const DefinitionStoreCounters& counters() const { return counters_; }
    /// The errors that there would be if this were the definition of its name. Nothing changes.
    [[nodiscard]] std::vector<DefinitionError> check(const limiter::QuotaDefinition& definition);
    /// The changes of a name by the API: the present one, former ones, and changes that never held
    /// because a newer one was known.
    [[nodiscard]] std::vector<HistoryEntry> history(std::string_view name) const;
    /// How many definitions all changes together have looked at, for tests of what changes cost.
    [[nodiscard]] std::uint64_t visits() const { return tree_.visits() + visits_; }

    // --- for DefinitionExchange -----------------------------------------------------------------
    [[nodiscard]] const DefinitionMap& overrides() const { return overrides_; }
    MergeOutcome merge(DefinitionEntry entry, Instant now);
    /// Visits the overrides of kind `set` that hold now, in the order of their names and beginning
    /// after the name `after`. Stops when `visit` returns false, or when `names` names of either
    /// layer have been looked at, and then returns the last name that is finished. Returns nothing
    /// when there are no more names.
    std::optional<std::string> for_each_override(
        std::string_view after, std::size_t names,
        const std::function<bool(const DefinitionEntry&)>& visit) const;
    /// Edits made here since the last call, to be pushed to all peers.
    [[nodiscard]] std::vector<DefinitionEntry> take_edited();
    /// Edits that were made here and that edits of others have replaced since the last call; at
    /// most the first kMaximumOvertaken.
    [[nodiscard]] std::vector<DefinitionEntry> take_overtaken();
    /// The encoded document of a set with generation; nothing if there is none.
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> document_bytes(
        std::string_view set) const;
    /// Notes how many live peers have which content of the generation that is in force here.
    void note_peer_contents(std::string_view set, PeerContents contents);
    /// Whether this document of a peer was refused here and should not be fetched again: one that
    /// has errors for good, one without room for kRoomAgain.
    [[nodiscard]] bool refused_of_peer(std::string_view set, std::uint64_t generation,
                                       std::uint64_t content) const;
    static constexpr Duration kRoomAgain = std::chrono::minutes(10);
    /// A number that grows whenever the conflict of a set begins or ends, or the contents that
    /// peers have change.
    [[nodiscard]] std::uint64_t conflict_changes() const { return conflict_changes_; }

  private:
    /// Local documents sort first and win.
    struct SetKey {
        bool of_fleet = false;
        std::string set;
        friend auto operator<=>(const SetKey&, const SetKey&) = default;
    };
    using SharedDocument = std::shared_ptr<DefinitionDocument>;
    struct SetState {
        std::optional<std::uint64_t> generation;
        std::uint64_t content_hash = 0;
        SharedDocument document;
        std::optional<std::uint64_t> file_content{};  // of the file here, if it is another one
        PeerContents peers{};
        [[nodiscard]] SetVersion version() const;
        [[nodiscard]] bool peer_conflict() const;
        [[nodiscard]] bool conflict() const { return file_content || peer_conflict(); }
        [[nodiscard]] bool outvoted_by(std::uint64_t content, bool by_a_tie) const;
    };
    /// A document that is being loaded: first it is read, then it is installed name by name.
    struct Job {
        SetKey key;
        SetState state;
        bool strict = false;  // quotas that are not valid in their place are errors, too
        bool of_peer = false;
        bool by_hand = false;
        bool refused_before = false;  // it was refused before, and nobody has asked for it again
        bool installing = false;
        SharedDocument before;  // the document that it replaces
        std::size_t old_at = 0;
        std::size_t new_at = 0;
        std::vector<DefinitionError> errors;
    };

    DocumentReport refuse(DocumentReport report);
    [[nodiscard]] bool refused_before(const Job& job) const;
    [[nodiscard]] std::optional<DocumentReport> judge(const Job& job);
    [[nodiscard]] std::optional<DocumentReport> judge_version(const Job& job, SetState& here);
    [[nodiscard]] std::optional<DocumentReport> judge_file(const Job& job,
                                                           const SetState& here) const;
    /// Begins to load a document. Only the members of `job` that say what it is and where it comes
    /// from are set.
    DocumentReport start(Job job, Instant now);
    [[nodiscard]] DocumentReport judge_pending(const FileDocument& document,
                                               DocumentReport pending);
    void note_file_content(SetState& state, std::optional<std::uint64_t> content);
    void work(std::size_t budget, Instant now);
    [[nodiscard]] bool read(Job& job, std::size_t& budget, Instant now);
    [[nodiscard]] bool install(Job& job, std::size_t& budget, Instant now);
    [[nodiscard]] bool invalid_in_place(Job& job, Instant now);
    void finish_job(DocumentReport report);
    void add_report(std::string set, DocumentReport report);
    void note_refused_document(const Job& job, const DocumentReport& report);
    [[nodiscard]] std::optional<std::uint64_t> room_left() const;
    [[nodiscard]] std::optional<std::string> no_room_for(const Job& job) const;
    [[nodiscard]] bool no_room_for_entry(const DefinitionEntry& entry);
    [[nodiscard]] const Job* job_of(std::string_view set) const;
    [[nodiscard]] std::optional<DefinitionDocument::Item> in_files(std::string_view name,
                                                                   const SetKey** key) const;
    [[nodiscard]] std::optional<limiter::QuotaDefinition> desired(std::string_view name,
                                                                  std::uint64_t* hash) const;
    void update(std::string_view name, Instant now);
    void note_expired(const std::string& name);
    void put_encoded(std::string_view name, std::string_view value, bool sound);
    /// A change before it is made, with the definition that its name would have afterwards.
    struct Planned {
        DefinitionEntry entry;
        std::optional<limiter::QuotaDefinition> outcome;
        std::optional<std::string> expected;
    };
    Result<Version> edit(Planned change, const Edit& by, Instant now);
    [[nodiscard]] Result<void> prepare(Planned& change, const Edit& by, Instant now);
    [[nodiscard]] Result<void> check_room(std::span<const Planned> changes) const;
    [[nodiscard]] std::vector<DefinitionError> losses_of(std::span<const Planned> changes,
                                                         Instant now);
    [[nodiscard]] std::vector<DefinitionError> lasting_losses(
        std::span<const Planned> changes, const std::vector<DefinitionError>& noted,
        const std::vector<std::string>& lost) const;
    [[nodiscard]] std::optional<limiter::QuotaDefinition> definition_of_file(
        std::string_view name) const;
    Version commit(DefinitionEntry entry, Instant now);
    MergeOutcome merge_entry(DefinitionEntry entry, Instant now);
    [[nodiscard]] ListedDefinition listed(std::string_view name, Instant now) const;

    std::uint64_t writer_;
    DefinitionMap overrides_{kMaximumOverrides};
    std::map<SetKey, SetState> sets_;
    SetFiles files_;
    bool alone_ = true;
    std::deque<Job> jobs_;
    struct RefusedDocument {
        std::optional<std::uint64_t> generation;
        std::uint64_t content = 0;
        std::optional<Instant> until{};
    };
    std::map<std::string, RefusedDocument, std::less<>> refused_documents_;  // of peers, by set
    std::vector<std::pair<std::string, DocumentReport>> reports_;
    DefinitionTree tree_;
    std::set<std::string, std::less<>> hidden_;                // by overrides of kind absent
    std::map<std::string, std::string, std::less<>> refused_;  // by the limiter: name, reason
    std::vector<std::string> refused_lately_;
    ExpiredOverrides expired_;
    std::optional<Instant> expired_to_;  // overrides that expired up to then have been taken
    DefinitionHistory history_;
    std::vector<DefinitionEntry> edited_;
    std::vector<DefinitionEntry> overtaken_;
    RoomLeft room_left_;
    std::size_t until_room_is_read_ = 0;  // new overrides of peers
    bool room_for_entries_ = true;
    Instant now_{};
    std::uint64_t visits_ = 0;
    std::uint64_t conflict_changes_ = 0;
    DefinitionStoreCounters counters_;
};

}  // namespace weir::definitions
