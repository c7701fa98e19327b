#include "definitions/store.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "definitions/codec.h"
#include "definitions/messages.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;

/// The most definitions of a document that are read and installed at once.
constexpr std::size_t kAtOnce = 8192;

}  // namespace

DefinitionStore::DefinitionStore(std::uint64_t writer) : writer_(writer) {}

// --- file layer ---------------------------------------------------------------------------------

DocumentReport DefinitionStore::refuse(DocumentReport report) {
    WEIR_ASSERT(report.outcome != DocumentOutcome::applied &&
                report.outcome != DocumentOutcome::loading);
    counters_.documents_older += report.outcome == DocumentOutcome::older ? 1 : 0;
    counters_.document_conflicts += report.outcome == DocumentOutcome::conflict ? 1 : 0;
    counters_.documents_invalid += report.outcome == DocumentOutcome::invalid ? 1 : 0;
    counters_.documents_without_room += report.outcome == DocumentOutcome::no_room ? 1 : 0;
    return report;
}

DocumentReport DefinitionStore::apply_document(FileDocument document, Instant now) {
    auto encoded = encode_document(document.quotas);
    if (!encoded) {
        return refuse({DocumentOutcome::invalid, {}, {}, encoded.error().message});
    }
    SetState state;
    state.generation = document.generation;
    state.content_hash = document_hash(*encoded);
    state.document = std::make_shared<DefinitionDocument>(
        std::make_shared<const std::vector<std::byte>>(std::move(*encoded)));
    Job job;
    job.key = {document.generation.has_value(), document.set};
    job.state = std::move(state);
    job.strict = true;
    job.by_hand = document.by_hand;
    DocumentReport started = start(std::move(job), now);
    if (started.outcome == DocumentOutcome::pending) {
        return judge_pending(document, std::move(started));
    }
    if (started.outcome != DocumentOutcome::loading) {
        return started;
    }
    while (loading()) {
        work(SIZE_MAX, now);
    }
    // Other documents may have waited behind an equal one that a peer has sent before, and have
    // been reported after it.
    const auto own = std::find_if(reports_.rbegin(), reports_.rend(),
                                  [&](const auto& report) { return report.first == document.set; });
    WEIR_ASSERT(own != reports_.rend());
    DocumentReport report = std::move(own->second);
    reports_.erase(std::next(own).base());
    return report;
}

/// A file that waits for the fleet is judged before it is voted for: below a quota that the API has
/// taken away nothing would be in force. Other parents may be in files that wait as well.
DocumentReport DefinitionStore::judge_pending(const FileDocument& document,
                                              DocumentReport pending) {
    std::vector<DefinitionError> errors;
    for (std::size_t i = 0; i < document.quotas.size(); ++i) {
        const QuotaDefinition& quota = document.quotas[i];
        if (!quota.parent || !hidden_.contains(*quota.parent) ||
            overrides_.find(quota.name) != nullptr) {
            continue;
        }
        for (DefinitionError& error : check(quota)) {
            errors.push_back(std::move(error));
            errors.back().index = i;
        }
    }
    if (errors.empty()) {
        return pending;
    }
    std::string message = describe_all(errors);
    return refuse(
        {DocumentOutcome::invalid, pending.in_force, std::move(errors), std::move(message)});
}

DocumentReport DefinitionStore::offer_document(EncodedDocument document, Instant now) {
    WEIR_ASSERT(document.bytes != nullptr);
    if (document.bytes->size() > kMaximumDocument) {
        return refuse({DocumentOutcome::invalid, {}, {}, "the document is too long"});
    }
    SetState state;
    state.generation = document.generation;
    state.content_hash = document.content_hash;
    state.document = std::make_shared<DefinitionDocument>(std::move(document.bytes));
    Job job;
    job.key = {document.generation.has_value(), document.set};
    job.state = std::move(state);
    job.of_peer = document.of_peer;
    job.by_hand = document.by_hand;
    DocumentReport report = start(std::move(job), now);
    if (report.outcome == DocumentOutcome::loading && jobs_.size() == 1) {
        work(kAtOnce, now);
        if (!loading()) {
            WEIR_ASSERT(!reports_.empty());
            report = std::move(reports_.back().second);
            reports_.pop_back();
        }
    }
    return report;
}

void DefinitionStore::forget_file(std::string_view set, Instant now) {
    while (job_of(set) != nullptr) {  // it may be the one that is being loaded
        work(SIZE_MAX, now);
    }
    if (const auto fleet = sets_.find({true, std::string(set)}); fleet != sets_.end()) {
        note_file_content(fleet->second, std::nullopt);
    }
}

void DefinitionStore::end_local_document(std::string_view set, Instant now) {
    while (job_of(set) != nullptr) {
        work(SIZE_MAX, now);
    }
    const auto found = sets_.find({false, std::string(set)});
    if (found == sets_.end()) {
        return;
    }
    const SharedDocument document = sets_.extract(found).mapped().document;
    WEIR_ASSERT(document != nullptr && document->complete());
    for (std::size_t i = 0; i < document->size(); ++i) {
        update(document->item(i).name, now);
    }
}

std::size_t DefinitionStore::shared_quotas(std::string_view one, std::string_view other) const {
    const auto document_of = [this](std::string_view set) {
        const auto local = sets_.find({false, std::string(set)});
        const auto found = local != sets_.end() ? local : sets_.find({true, std::string(set)});
        return found == sets_.end() ? SharedDocument() : found->second.document;
    };
    const SharedDocument left = document_of(one);
    const SharedDocument right = document_of(other);
    std::size_t shared = 0;
    for (std::size_t i = 0; left && right && i < left->size(); ++i) {
        shared += right->find(left->item(i).name) ? 1U : 0U;
    }
    return shared;
}

std::vector<SetStatus> DefinitionStore::sets() const {
    std::vector<SetStatus> result;
    for (const auto& [key, state] : sets_) {
        WEIR_ASSERT(key.of_fleet == state.generation.has_value() && state.document != nullptr);
        result.push_back({key.set,
                          state.generation,
                          state.content_hash,
                          state.document->size(),
                          state.conflict(),
                          {},
                          state.file_content && state.outvoted_by(*state.file_content, false)});
        const Job* const job = job_of(key.set);
        if (job != nullptr && job->key == key && !job->installing) {
            result.back().loading = job->state.generation;
        }
    }
    return result;
}

std::vector<KeptDocument> DefinitionStore::documents() const {
    std::vector<KeptDocument> result;
    for (const auto& [key, state] : sets_) {
        // A decision of the fleet ends with the fleet: its content is kept without it.
        const bool numbered = state.generation && !is_automatic(*state.generation);
        result.push_back({key.set, numbered ? state.generation : std::nullopt, state.content_hash,
                          state.document->bytes()});
    }
    return result;
}

void DefinitionStore::note_peer_contents(std::string_view set, PeerContents contents) {
    const auto found = sets_.find({true, std::string(set)});
    if (found == sets_.end() || found->second.peers == contents) {
        return;
    }
    WEIR_ASSERT(found->second.generation && !is_automatic(*found->second.generation));
    const bool before = found->second.peer_conflict();
    found->second.peers = std::move(contents);
    counters_.document_conflicts += !before && found->second.peer_conflict() ? 1U : 0U;
    ++conflict_changes_;
}

void DefinitionStore::note_file_content(SetState& state, std::optional<std::uint64_t> content) {
    const bool before = state.conflict();
    state.file_content = content;
    conflict_changes_ += before == state.conflict() ? 0U : 1U;
}

SetVersion DefinitionStore::SetState::version() const {
    WEIR_ASSERT(generation.has_value());
    return {*generation, content_hash};
}

void DefinitionStore::offer_file(const std::string& set, Instant now) {
    const SetFile* const file = files_.find(set);
    const auto found = sets_.find({true, set});
    if (file == nullptr || file->generation || file->refused || job_of(set) != nullptr ||
        (found != sets_.end() && found->second.content_hash == file->content)) {
        return;
    }
    const DocumentReport report =
        offer_document({set, kUndecided, file->bytes, file->content, false}, now);
    if (report.outcome != DocumentOutcome::applied && report.outcome != DocumentOutcome::loading) {
        files_.note_refused(set);
        add_report(set, report);
    }
}

bool DefinitionStore::take_known(const std::string& set, const SetVersion& version, Instant now) {
    const auto found = sets_.find({true, set});
    if (found != sets_.end() && !supersedes(version, found->second.version())) {
        return true;
    }
    if (found != sets_.end() && found->second.content_hash == version.content) {
        found->second.generation = version.generation;
        conflict_changes_ += found->second.conflict() ? 1U : 0U;
        found->second.file_content.reset();
        found->second.peers.clear();
        return true;
    }
    const SetFile* const file = files_.find(set);
    if (file == nullptr || file->refused || file->content != version.content ||
        refused_of_peer(set, version.generation, version.content)) {
        return false;
    }
    const DocumentReport report =
        offer_document({set, version.generation, file->bytes, version.content, true}, now);
    const bool taken = report.outcome == DocumentOutcome::applied ||
                       report.outcome == DocumentOutcome::loading ||
                       report.outcome == DocumentOutcome::unchanged;
    if (!taken) {
        add_report(set, report);
    }
    return taken;
}

bool DefinitionStore::SetState::peer_conflict() const {
    return std::any_of(peers.begin(), peers.end(),
                       [this](const auto& one) { return one.first != content_hash; });
}

/// Whether more peers have `content` in force than have the content in force here, for which this
/// sidecar counts, too. With `by_a_tie` equal numbers are enough, as for a file with new content:
/// otherwise one of two sidecars could never be corrected.
bool DefinitionStore::SetState::outvoted_by(std::uint64_t content, bool by_a_tie) const {
    const auto at_peers = [this](std::uint64_t which) {
        const auto found = peers.find(which);
        return found == peers.end() ? std::size_t{0} : found->second;
    };
    const std::size_t here = at_peers(content_hash) + 1;
    return at_peers(content) > here || (by_a_tie && at_peers(content) == here);
}

std::shared_ptr<const std::vector<std::byte>> DefinitionStore::document_bytes(
    std::string_view set) const {
    const auto found = sets_.find({true, std::string(set)});
    return found == sets_.end() ? nullptr : found->second.document->bytes();
}

// --- API layer ----------------------------------------------------------------------------------

MergeOutcome DefinitionStore::merge(DefinitionEntry entry, Instant now) {
    const std::size_t texts =
        entry.name.size() + entry.who.size() + entry.why.size() + entry.value.size();
    // No edit is so long: whoever made it has invented it, and nobody could pass it on.
    const bool endless = texts > kMaximumEntry;
    if (endless || (entry.kind == EntryKind::set && !decode_definition(entry.name, entry.value))) {
        ++counters_.refused_entries;
        return MergeOutcome::invalid;
    }
    const MergeOutcome outcome =
        no_room_for_entry(entry) ? MergeOutcome::full : merge_entry(std::move(entry), now);
    counters_.refused_epochs += outcome == MergeOutcome::epoch ? 1 : 0;
    counters_.refused_full += outcome == MergeOutcome::full ? 1 : 0;
    counters_.refused_stale += outcome == MergeOutcome::stale ? 1 : 0;
    counters_.merged += outcome == MergeOutcome::applied ? 1 : 0;
    return outcome;
}

/// How much memory is left when all that waits for the limiter is there.
std::optional<std::uint64_t> DefinitionStore::room_left() const {
    constexpr std::uint64_t kOfWaiting = 256;
    const auto left = room_left_ ? room_left_() : std::nullopt;
    return left ? std::optional(*left - std::min(*left, waiting() * kOfWaiting)) : std::nullopt;
}

/// Whether the entry of a peer would be one more and there is no memory for more. Peers send up to
/// a million, so the memory is looked at for some of them only.
bool DefinitionStore::no_room_for_entry(const DefinitionEntry& entry) {
    constexpr std::size_t kRead = 256;
    if (!room_left_ || entry.kind != EntryKind::set || overrides_.find(entry.name) != nullptr) {
        return false;
    }
    if (until_room_is_read_ == 0) {
        room_for_entries_ = room_left() != 0U;
        until_room_is_read_ = kRead;
    }
    --until_room_is_read_;
    return !room_for_entries_;
}

/// Merges the entry, adds the entry that lost to the history, and updates the name.
MergeOutcome DefinitionStore::merge_entry(DefinitionEntry entry, Instant now) {
    now_ = std::max(now_, now);
    const std::string name = entry.name;
    const bool ours = entry.version.writer == writer_;
    std::optional<DefinitionEntry> other;
    if (const DefinitionEntry* const here = overrides_.find(name)) {
        other = here->version < entry.version ? *here : entry;
    }
    const MergeOutcome outcome = overrides_.merge(std::move(entry), now);
    if (outcome == MergeOutcome::applied) {
        WEIR_ASSERT(overrides_.find(name) != nullptr);
        if (other && !ours && other->version.writer == writer_ &&
            overtaken_.size() < kMaximumOvertaken) {
            overtaken_.push_back(*other);
            WEIR_ASSERT(overtaken_.size() <= kMaximumOvertaken);
        }
        if (other) {
            history_.note(std::move(*other), HistoryFate::replaced);
        }
        update(name, now);
    } else if (outcome == MergeOutcome::older && other &&
               history_.note(std::move(*other), HistoryFate::overruled)) {
        ++counters_.overruled;
    }
    return outcome;
}

std::vector<DefinitionEntry> DefinitionStore::take_edited() { return std::exchange(edited_, {}); }

std::vector<DefinitionEntry> DefinitionStore::take_overtaken() {
    return std::exchange(overtaken_, {});
}

std::vector<HistoryEntry> DefinitionStore::history(std::string_view name) const {
    std::vector<HistoryEntry> list = history_.of(name);
    if (const DefinitionEntry* const entry = overrides_.find(name)) {
        list.insert(list.begin(), {*entry, HistoryFate::current});
    }
    return list;
}

}  // namespace weir::definitions
