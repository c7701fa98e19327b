// The part of DefinitionStore that loads documents: each is judged, read, and installed name by
// name.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "definitions/codec.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

/// The most errors of a document that are kept; further ones are counted.
constexpr std::size_t kMostErrors = 1000;

}  // namespace

/// Whether this content was refused before. Peers that leave or are cut off can make the numbers
/// equal, too. A mistake that was refused must not be accepted then only because its file, or
/// another one, is read again.
bool DefinitionStore::refused_before(const Job& job) const {
    const auto found = sets_.find(job.key);
    return !job.of_peer && !job.by_hand && found != sets_.end() &&
           found->second.generation == job.state.generation &&
           found->second.file_content == job.state.content_hash;
}

/// The report on a document that is not to be loaded; nothing if it is to be loaded.
std::optional<DocumentReport> DefinitionStore::judge(const Job& job) {
    using enum DocumentOutcome;
    const SetKey& key = job.key;
    const SetState& state = job.state;
    const auto found = sets_.find(key);
    // The file has another content now than the one that was in conflict.
    if (const auto fleet = sets_.find({true, key.set}); !job.of_peer && fleet != sets_.end()) {
        note_file_content(fleet->second, std::nullopt);
    }
    if (key.set.empty() || key.set.size() > kMaximumSetName) {
        return refuse({invalid, {}, {}, "a set's name has 1 to 128 bytes"});
    }
    if (found == sets_.end()) {
        const bool room = sets_.size() < kMaximumSets;
        return room ? std::nullopt : std::optional(refuse({invalid, {}, {}, "more than 64 sets"}));
    }
    const SetState& here = found->second;
    if (here.generation == state.generation && here.content_hash == state.content_hash) {
        return DocumentReport{unchanged, here.generation, {}, {}};
    }
    if (!state.generation) {
        return std::nullopt;
    }
    return judge_version(job, found->second);
}

/// The same for a document with a version, where another one of the set is in force.
std::optional<DocumentReport> DefinitionStore::judge_version(const Job& job, SetState& here) {
    using enum DocumentOutcome;
    WEIR_ASSERT(here.generation.has_value());  // sets with and without one have keys of their own
    const SetState& state = job.state;
    if (*state.generation == kUndecided && !job.of_peer) {
        return judge_file(job, here);
    }
    if (supersedes(state.version(), here.version())) {
        return std::nullopt;
    }
    if (is_automatic(*here.generation) != is_automatic(*state.generation) && !job.of_peer) {
        if (here.content_hash == state.content_hash) {
            return DocumentReport{unchanged, here.generation, {}, {}};
        }
        note_file_content(here, state.content_hash);
        ++counters_.document_conflicts;
        return DocumentReport{conflict,
                              here.generation,
                              {},
                              "the fleet decides by a majority of the files which content of " +
                                  job.key.set + " is in force, so generation " +
                                  std::to_string(*state.generation) +
                                  " means nothing: take it out of the file"};
    }
    if (*here.generation > *state.generation || is_automatic(*state.generation)) {
        return refuse({older,
                       here.generation,
                       {},
                       "generation " + generation_text(here.generation) + " of " + job.key.set +
                           " is in force, this is " + generation_text(state.generation)});
    }
    WEIR_ASSERT(here.generation == state.generation);
    if (!job.of_peer && here.outvoted_by(state.content_hash, !job.refused_before)) {
        return std::nullopt;
    }
    if (!job.of_peer) {
        note_file_content(here, state.content_hash);
    }
    ++counters_.document_conflicts;
    return DocumentReport{conflict,
                          here.generation,
                          {},
                          "generation " + std::to_string(*here.generation) + " of " + job.key.set +
                              " is in force with other content: give the change a new "
                              "generation"};
}

/// The same for the file of an automatic set. Without a peer and without a decision it is in force
/// at once; otherwise the fleet decides.
std::optional<DocumentReport> DefinitionStore::judge_file(const Job& job,
                                                          const SetState& here) const {
    if (here.content_hash == job.state.content_hash) {
        return DocumentReport{DocumentOutcome::unchanged, here.generation, {}, {}};
    }
    if (epoch_of(*here.generation) == 0 && alone_) {
        return std::nullopt;
    }
    return DocumentReport{DocumentOutcome::pending,
                          here.generation,
                          {},
                          "other content of " + job.key.set +
                              " is in force until more than half of the sidecars that have a file "
                              "of this set have the same one"};
}

DocumentReport DefinitionStore::start(Job job, Instant now) {
    now_ = std::max(now_, now);
    job.refused_before = refused_before(job);
    if (auto report = judge(job)) {
        return std::move(*report);
    }
    if (const Job* const known = job_of(job.key.set);
        known != nullptr && known->key == job.key && !known->installing &&
        known->state.content_hash == job.state.content_hash) {
        return {DocumentOutcome::loading, known->state.generation, {}, {}};
    }
    if (jobs_.size() >= kMaximumSets) {
        return refuse({DocumentOutcome::invalid, {}, {}, "too many documents at once"});
    }
    const auto generation = job.state.generation;
    WEIR_ASSERT(!job.installing && job.before == nullptr);
    jobs_.push_back(std::move(job));
    WEIR_ASSERT(jobs_.size() <= kMaximumSets);
    return {DocumentOutcome::loading, generation, {}, {}};
}

const DefinitionStore::Job* DefinitionStore::job_of(std::string_view set) const {
    const auto found = std::find_if(jobs_.rbegin(), jobs_.rend(),
                                    [&](const Job& job) { return job.key.set == set; });
    return found == jobs_.rend() ? nullptr : &*found;
}

std::optional<std::uint64_t> DefinitionStore::loading_generation(std::string_view set) const {
    const Job* const job = job_of(set);
    return job == nullptr || job->installing ? std::nullopt : job->state.generation;
}

/// Goes on with the documents that wait, for at most `budget` definitions.
void DefinitionStore::work(std::size_t budget, Instant now) {
    while (!jobs_.empty() && budget > 0) {
        Job& job = jobs_.front();
        const bool done = job.installing ? install(job, budget, now) : read(job, budget, now);
        if (!done) {
            return;
        }
    }
}

/// Reads the document of the job. False when the budget is used up.
bool DefinitionStore::read(Job& job, std::size_t& budget, Instant now) {
    WEIR_ASSERT(!job.installing && job.key.of_fleet == job.state.generation.has_value());
    DefinitionDocument& document = *job.state.document;
    const std::size_t before = document.size();
    const auto outcome = document.read(budget, &job.errors);
    const std::size_t used = document.size() - before;
    WEIR_ASSERT(used <= budget);
    visits_ += used;
    budget -= std::min(budget, used);
    const auto in_force = [&] {
        const auto found = sets_.find(job.key);
        return found == sets_.end() ? std::nullopt : found->second.generation;
    };
    if (!outcome) {
        finish_job(refuse({DocumentOutcome::invalid, in_force(), {}, outcome.error().message}));
        return true;
    }
    if (!document.complete()) {
        return false;
    }
    // Another document of the set may have come into force since this one was offered.
    if (auto report = judge(job)) {
        finish_job(std::move(*report));
        return true;
    }
    if (!job.errors.empty() && !job.strict) {
        std::string message = describe_all(job.errors);
        finish_job(refuse(
            {DocumentOutcome::invalid, in_force(), std::move(job.errors), std::move(message)}));
        return true;
    }
    if (auto reason = no_room_for(job)) {
        finish_job(refuse({DocumentOutcome::no_room, in_force(), {}, std::move(*reason)}));
        return true;
    }
    SetState& place = sets_[job.key];
    conflict_changes_ += place.conflict() ? 1U : 0U;
    std::swap(place, job.state);
    job.before = std::exchange(job.state.document, place.document);
    job.installing = true;
    WEIR_ASSERT(place.document != nullptr && sets_.size() <= kMaximumSets);
    static_cast<void>(now);
    return true;
}

/// Why the job's document, which has been read, would take more memory than is left; nothing if it
/// would not. The memory that it takes in place of the one in force is known before any of its
/// definitions is installed.
std::optional<std::string> DefinitionStore::no_room_for(const Job& job) const {
    const auto left = room_left();
    if (!left) {
        return std::nullopt;
    }
    const auto found = sets_.find(job.key);
    const std::uint64_t before = found == sets_.end() ? 0 : found->second.document->need();
    const std::uint64_t need = job.state.document->need();
    const std::uint64_t more = need - std::min(need, before);
    if (more <= *left) {
        return std::nullopt;
    }
    const auto mebibytes = [](std::uint64_t bytes) {
        constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
        return std::to_string((bytes + kMebibyte - 1) / kMebibyte) + " MiB";
    };
    return "its " + std::to_string(job.state.document->size()) + " quotas would take " +
           mebibytes(more) + " of memory, and " + std::to_string(*left >> 20U) +
           " MiB are left for them under the memory limit: what was in force stays";
}

/// Goes through the names of the old and the new document in parallel. A definition that is in both
/// costs one comparison.
bool DefinitionStore::install(Job& job, std::size_t& budget, Instant now) {
    const DefinitionDocument& fresh = *job.state.document;
    const std::size_t old_size = job.before ? job.before->size() : 0;
    while (job.old_at < old_size || job.new_at < fresh.size()) {
        if (budget == 0) {
            return false;
        }
        --budget;
        ++visits_;
        using Item = std::optional<DefinitionDocument::Item>;
        const Item old = job.old_at < old_size ? Item(job.before->item(job.old_at)) : Item();
        const Item item = job.new_at < fresh.size() ? Item(fresh.item(job.new_at)) : Item();
        const bool take_old = old && (!item || old->name <= item->name);
        const bool take_new = item && (!old || item->name <= old->name);
        WEIR_ASSERT(take_old || take_new);
        job.old_at += take_old ? 1 : 0;
        job.new_at += take_new ? 1 : 0;
        if (!take_old || !take_new || old->value != item->value) {
            update(take_new ? item->name : old->name, now);
        }
    }
    if (job.strict && invalid_in_place(job, now)) {
        return true;
    }
    ++counters_.documents_applied;
    finish_job({DocumentOutcome::applied, sets_.at(job.key).generation, {}, {}});
    return true;
}

/// Takes a strict document back if any of its quotas is not valid in its place.
bool DefinitionStore::invalid_in_place(Job& job, Instant now) {
    WEIR_ASSERT(job.strict && job.installing);
    const SharedDocument document = job.state.document;
    for (std::size_t i = 0; i < document->size(); ++i) {
        const std::string_view name = document->item(i).name;
        const DefinitionTree::Node* const node = tree_.find(name);
        const bool own = node != nullptr && node->problem != nullptr &&
                         node->hash == content_hash_of(name, document->item(i).value);
        const bool known = std::any_of(job.errors.begin(), job.errors.end(),
                                       [&](const auto& error) { return error.index == i; });
        if (own && !known && job.errors.size() < kMostErrors) {
            job.errors.push_back(tree_.explain(*node));
            job.errors.back().index = i;
        }
    }
    if (job.errors.empty()) {
        return false;
    }
    if (job.before) {
        SetState& place = sets_[job.key];
        place = job.state;
        place.document = job.before;
        conflict_changes_ += place.conflict() ? 1U : 0U;
    } else {
        sets_.erase(job.key);
    }
    for (const SharedDocument& names : {document, job.before}) {
        for (std::size_t i = 0; names && i < names->size(); ++i) {
            update(names->item(i).name, now);
        }
    }
    std::string message = describe_all(job.errors);
    finish_job(refuse({DocumentOutcome::invalid, job.before ? job.state.generation : std::nullopt,
                       std::move(job.errors), std::move(message)}));
    return true;
}

void DefinitionStore::note_refused_document(const Job& job, const DocumentReport& report) {
    const bool no_room = report.outcome == DocumentOutcome::no_room;
    if (!no_room && report.outcome != DocumentOutcome::invalid) {
        return;
    }
    const SetFile* const file = files_.find(job.key.set);
    if (file != nullptr && file->content == job.state.content_hash) {
        files_.note_refused(job.key.set);
    }
    if (!job.of_peer) {
        return;
    }
    if (refused_documents_.size() >= kMaximumSets) {
        refused_documents_.erase(refused_documents_.begin());
    }
    refused_documents_[job.key.set] = {job.state.generation, job.state.content_hash,
                                       no_room ? std::optional(now_ + kRoomAgain) : std::nullopt};
    WEIR_ASSERT(refused_documents_.size() <= kMaximumSets);
}

bool DefinitionStore::refused_of_peer(std::string_view set, std::uint64_t generation,
                                      std::uint64_t content) const {
    const auto found = refused_documents_.find(set);
    return found != refused_documents_.end() && found->second.generation == generation &&
           found->second.content == content &&
           (!found->second.until || now_ < *found->second.until);
}

void DefinitionStore::finish_job(DocumentReport report) {
    WEIR_ASSERT(!jobs_.empty() && report.outcome != DocumentOutcome::loading);
    note_refused_document(jobs_.front(), report);
    add_report(jobs_.front().key.set, std::move(report));
    jobs_.pop_front();
}

void DefinitionStore::add_report(std::string set, DocumentReport report) {
    reports_.emplace_back(std::move(set), std::move(report));
    if (reports_.size() > kMaximumSets) {
        reports_.erase(reports_.begin());
    }
    WEIR_ASSERT(reports_.size() <= kMaximumSets);
}

std::vector<std::pair<std::string, DocumentReport>> DefinitionStore::take_reports() {
    return std::exchange(reports_, {});
}

}  // namespace weir::definitions
