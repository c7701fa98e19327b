#include "node/quota_sets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "definitions/codec.h"
#include "definitions/generation.h"
#include "definitions/store.h"

namespace weir::node {
namespace {

bool in_force(const std::string& set, const definitions::SetFile& file,
              const definitions::DefinitionStore& store) {
    const std::vector<definitions::SetStatus> sets = store.sets();
    return std::any_of(sets.begin(), sets.end(), [&](const definitions::SetStatus& one) {
        return one.set == set && one.content_hash == file.content && one.generation &&
               definitions::is_automatic(*one.generation);
    });
}

/// The set as it is in force with quotas; nothing if it is not.
std::optional<definitions::SetStatus> find_in_force(const std::string& set,
                                                    const definitions::DefinitionStore& store) {
    for (const definitions::SetStatus& one : store.sets()) {
        if (one.set == set && one.quotas > 0) {
            return one;
        }
    }
    return std::nullopt;
}

}  // namespace

void QuotaSets::note(const std::string& set, const definitions::DocumentReport& report,
                     SetsOutcome& outcome) {
    const auto file = files_.find(set);
    const std::string message =
        (file == files_.end() ? "set " + set : file->second) + ": " + report.message;
    problems_.erase(set);
    mixed_problems_.erase(set);
    too_large_.erase(set);
    if (report.outcome == definitions::DocumentOutcome::no_room) {
        too_large_[set] = message;
    }
    switch (report.outcome) {
        case definitions::DocumentOutcome::applied:
        case definitions::DocumentOutcome::unchanged:
        case definitions::DocumentOutcome::loading:
            return;
        case definitions::DocumentOutcome::pending:
            outcome.waiting.push_back(message);
            return;
        case definitions::DocumentOutcome::older:
            outcome.older.push_back(message);
            break;
        case definitions::DocumentOutcome::conflict:
            outcome.errors.push_back(message);
            break;
        case definitions::DocumentOutcome::invalid:
        case definitions::DocumentOutcome::no_room:
            outcome.errors.push_back(message);
            if (file != files_.end()) {
                outcome.refused.push_back(message);
            }
            break;
    }
    if (file != files_.end()) {
        problems_[set] = message;
    }
}

/// Tells the store what the file has, for the fleet counts that.
void QuotaSets::note_file(const config::QuotaSet& set, definitions::DefinitionStore& store) const {
    if (set.encoded != nullptr) {
        store.files().put(set.name, {set.generation, set.encoded_hash, set.encoded});
        return;
    }
    auto encoded = definitions::encode_document(set.quotas);
    if (!encoded) {
        return;
    }
    const std::uint64_t content = definitions::document_hash(*encoded);
    store.files().put(set.name,
                      {set.generation, content,
                       std::make_shared<const std::vector<std::byte>>(std::move(*encoded))});
}

definitions::DocumentReport QuotaSets::give(const config::QuotaSet& set,
                                            definitions::DefinitionStore& store, Instant now,
                                            bool at_once, bool by_hand) const {
    auto generation = set.generation;
    if (of_fleet_) {
        note_file(set, store);
        generation = generation.value_or(definitions::kUndecided);
    }
    if (set.encoded == nullptr) {
        return store.apply_document({set.name, generation, set.quotas, by_hand}, now);
    }
    auto report = store.offer_document(
        {set.name, generation, set.encoded, set.encoded_hash, false, by_hand}, now);
    while (at_once && store.loading()) {
        store.tick(now);
    }
    for (auto& [name, late] : store.take_reports()) {
        if (name == set.name) {
            report = std::move(late);
        }
    }
    return report;
}

SetsOutcome QuotaSets::apply(const std::vector<config::QuotaSet>& sets,
                             definitions::DefinitionStore& store, Instant now, bool at_once,
                             bool by_hand) {
    SetsOutcome outcome;
    std::map<std::string, std::string> files;
    generations_.clear();
    older_since_.clear();
    files_are_new_ = true;
    for (const config::QuotaSet& set : sets) {
        files[set.name] = set.file;
        without_file_.erase(set.name);
        if (set.generation) {
            generations_[set.name] = *set.generation;
        }
    }
    std::swap(files, files_);
    for (const config::QuotaSet& set : sets) {
        const auto report = give(set, store, now, at_once, by_hand);
        if (report.outcome == definitions::DocumentOutcome::invalid ||
            report.outcome == definitions::DocumentOutcome::no_room) {
            store.files().note_refused(set.name);  // also where it could not even be encoded
        }
        note(set.name, report, outcome);
    }
    for (const auto& [name, file] : files) {
        if (!files_.contains(name)) {
            forget(name, file, store, now, outcome);
        }
    }
    return outcome;
}

void QuotaSets::forget(const std::string& name, const std::string& file,
                       definitions::DefinitionStore& store, Instant now, SetsOutcome& outcome) {
    store.files().erase(name);
    store.forget_file(name, now);
    problems_.erase(name);
    too_large_.erase(name);
    mixed_since_.erase(name);
    mixed_problems_.erase(name);
    const std::optional<definitions::SetStatus> stays = find_in_force(name, store);
    if (!stays) {
        return;
    }
    const std::string message =
        file + ": the set " + name + " is in no file here any more; " + how_it_stays(*stays);
    outcome.gone.push_back(message);
    without_file_[name] = message;
}

std::string QuotaSets::how_it_stays(const definitions::SetStatus& set) const {
    const std::string where = of_fleet_ ? "in the fleet" : "here";
    if (!set.generation || definitions::is_automatic(*set.generation)) {
        return "it stays in force " + where + " (a file of the set without quotas takes them away)";
    }
    return "generation " + std::to_string(*set.generation) + " stays in force " + where +
           " until a newer one comes (one without quotas takes them away)";
}

/// Ends what a person has renamed: without a fleet, a set whose file is gone and all of whose
/// quotas another set of a file has. It is looked for when files were read, and takes time by the
/// number of quotas of the set and by the number of sets.
void QuotaSets::end_renamed(definitions::DefinitionStore& store, Instant now,
                            SetsOutcome& outcome) {
    if (without_file_.empty() || store.loading()) {
        return;
    }
    const bool may_be_renamed = std::exchange(files_are_new_, false) && !of_fleet_;
    std::erase_if(without_file_, [&](const auto& one) {
        const std::optional<definitions::SetStatus> stays = find_in_force(one.first, store);
        if (!stays || !may_be_renamed || stays->generation) {
            return !stays;
        }
        const auto renamed = std::find_if(files_.begin(), files_.end(), [&](const auto& file) {
            return store.shared_quotas(one.first, file.first) == stays->quotas;
        });
        if (renamed == files_.end()) {
            return false;
        }
        store.end_local_document(one.first, now);
        outcome.gone.push_back("the set " + one.first + " ends, because all of its quotas are in " +
                               renamed->second + " now, in the set " + renamed->first);
        return true;
    });
}

KeptOutcome QuotaSets::apply_kept(std::vector<definitions::KeptDocument> documents,
                                  const std::string& file, definitions::DefinitionStore& store,
                                  Instant now, bool at_once, bool files_are_good) {
    KeptOutcome outcome;
    const std::vector<definitions::SetStatus> sets = store.sets();
    for (definitions::KeptDocument& one : documents) {
        const bool in_force = std::any_of(sets.begin(), sets.end(),
                                          [&](const auto& set) { return set.set == one.set; });
        if (in_force) {
            continue;
        }
        const std::string shown =
            one.set + (one.generation ? "#" + std::to_string(*one.generation) : "");
        if (!one.generation && of_fleet_) {
            one.generation = definitions::kUndecided;
        } else if (!one.generation && !files_are_good) {
            files_.emplace(one.set, file);
        }
        definitions::SetStatus kept;
        kept.set = one.set;
        kept.generation = one.generation;
        auto report = store.offer_document(
            {one.set, one.generation, std::move(one.bytes), one.content_hash}, now);
        while (at_once && store.loading()) {
            store.tick(now);
        }
        for (auto& [name, late] :
             at_once ? store.take_reports() : decltype(store.take_reports())()) {
            if (name == one.set) {
                report = std::move(late);
            }
        }
        using definitions::DocumentOutcome;
        const bool used = report.outcome == DocumentOutcome::applied ||
                          report.outcome == DocumentOutcome::unchanged ||
                          report.outcome == DocumentOutcome::loading;
        (used ? outcome.used : outcome.not_used)
            .push_back(used ? shown : shown + ": " + report.message);
        // It may be long and still loading. poll() drops the message if that comes to nothing.
        if (files_are_good && !of_fleet_ && used) {
            without_file_[kept.set] = "the set " + kept.set + " is in no file here; " +
                                      how_it_stays(kept) + ", as it was kept in " + file;
        }
    }
    return outcome;
}

/// A sidecar that starts with an old file has it in force until it hears a newer generation, so
/// nobody has refused that file.
void QuotaSets::note_old_files(const definitions::DefinitionStore& store, Instant now,
                               SetsOutcome& outcome) {
    if (generations_.empty() && !of_fleet_) {
        return;
    }
    for (const definitions::SetStatus& set : store.sets()) {
        note_mixed(set, store, now);
        const auto file = generations_.find(set.set);
        if (file == generations_.end() || !set.generation ||
            definitions::is_automatic(*set.generation) || *set.generation <= file->second ||
            problems_.contains(set.set)) {
            continue;
        }
        if (now - older_since_.try_emplace(set.set, now).first->second < kFileMayCome) {
            continue;
        }
        const std::string message = files_[set.set] + ": generation " +
                                    std::to_string(*set.generation) + " of " + set.set +
                                    " is in force, this is " + std::to_string(file->second);
        problems_[set.set] = message;
        outcome.older.push_back(message);
    }
}

/// A set that has numbers in some files and none in others: neither counting nor the majority of
/// files works as it should.
void QuotaSets::note_mixed(const definitions::SetStatus& set,
                           const definitions::DefinitionStore& store, Instant now) {
    const definitions::SetFile* const file = store.files().find(set.set);
    const bool mixed = file != nullptr && set.generation && file->content != set.content_hash &&
                       definitions::is_automatic(*set.generation) == file->generation.has_value();
    if (!mixed) {
        mixed_since_.erase(set.set);
        if (mixed_problems_.erase(set.set) > 0) {
            problems_.erase(set.set);
        }
        return;
    }
    const Instant since = mixed_since_.try_emplace(set.set, now).first->second;
    if (now - since < kFileMayCome || problems_.contains(set.set)) {
        return;
    }
    mixed_problems_.insert(set.set);
    const std::string in_force = definitions::generation_text(set.generation);
    problems_[set.set] =
        files_[set.set] + ": generation " + in_force + " of " + set.set + " is in force, this is " +
        definitions::generation_text(file->generation.value_or(definitions::kUndecided)) +
        ": give all files of the set a generation, or none";
}

SetsOutcome QuotaSets::poll(definitions::DefinitionStore& store, Instant now) {
    SetsOutcome outcome;
    note_old_files(store, now, outcome);
    end_renamed(store, now, outcome);
    for (const auto& [set, report] : store.take_reports()) {
        // Of documents from peers only errors are reported.
        const bool own = files_.contains(set);
        if (own || report.outcome == definitions::DocumentOutcome::invalid ||
            report.outcome == definitions::DocumentOutcome::no_room) {
            note(set, report, outcome);
        }
    }
    for (std::string& reason : store.take_refused()) {
        outcome.errors.push_back("quota " + std::move(reason));
    }
    if (conflicts_seen_ == store.conflict_changes()) {
        return outcome;
    }
    conflicts_seen_ = store.conflict_changes();
    std::set<std::string> in_conflict;
    for (const definitions::SetStatus& set : store.sets()) {
        if (!set.conflict) {
            continue;
        }
        outcome.again = outcome.again || set.outvoted;
        in_conflict.insert(set.set);
        if (in_conflict_.contains(set.set) || problems_.contains(set.set)) {
            continue;
        }
        outcome.errors.push_back("set " + set.set + ": generation " +
                                 std::to_string(set.generation.value_or(0)) +
                                 " is in force here and with other content elsewhere in the fleet: "
                                 "give the change a new generation");
    }
    for (const std::string& set : in_conflict_) {
        if (!in_conflict.contains(set)) {
            outcome.over.push_back(set);
            // The majority of the files may have what the file here was refused for.
            const definitions::SetFile* const file = store.files().find(set);
            outcome.again = outcome.again || (file != nullptr && in_force(set, *file, store));
        }
    }
    in_conflict_ = std::move(in_conflict);
    return outcome;
}

}  // namespace weir::node
