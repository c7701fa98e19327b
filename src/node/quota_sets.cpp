#include "node/quota_sets.h"

#include <algorithm>
#include <utility>

#include "definitions/store.h"

namespace weir::node {

void QuotaSets::note(const std::string& set, const definitions::DocumentReport& report,
                     SetsOutcome& outcome) {
    const auto file = files_.find(set);
    const std::string message =
        (file == files_.end() ? "set " + set : file->second) + ": " + report.message;
    problems_.erase(set);
    too_large_.erase(set);
    if (report.outcome == definitions::DocumentOutcome::no_room) {
        too_large_[set] = message;
    }
    switch (report.outcome) {
        case definitions::DocumentOutcome::applied:
        case definitions::DocumentOutcome::unchanged:
        case definitions::DocumentOutcome::loading:
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

SetsOutcome QuotaSets::apply(const std::vector<config::QuotaSet>& sets,
                             definitions::DefinitionStore& store, Instant now, bool at_once,
                             bool by_hand) {
    SetsOutcome outcome;
    std::map<std::string, std::string> files;
    generations_.clear();
    older_since_.clear();
    for (const config::QuotaSet& set : sets) {
        files[set.name] = set.file;
        if (set.generation) {
            generations_[set.name] = *set.generation;
        }
    }
    std::swap(files, files_);
    for (const config::QuotaSet& set : sets) {
        if (set.encoded == nullptr) {
            note(set.name,
                 store.apply_document({set.name, set.generation, set.quotas, by_hand}, now),
                 outcome);
            continue;
        }
        auto report = store.offer_document(
            {set.name, set.generation, set.encoded, set.encoded_hash, false, by_hand}, now);
        while (at_once && store.loading()) {
            store.tick(now);
        }
        for (auto& [name, late] : store.take_reports()) {
            if (name == set.name) {
                report = std::move(late);
            }
        }
        note(set.name, report, outcome);
    }
    for (const auto& [name, file] : files) {
        if (files_.contains(name)) {
            continue;
        }
        const auto stays = store.forget_local_document(name, now);
        problems_.erase(name);
        too_large_.erase(name);
        if (!stays) {
            continue;
        }
        outcome.gone.push_back(file + ": the set " + name + " is in no file here any more; " +
                               "generation " + std::to_string(*stays) +
                               " stays in force in the fleet until a newer one comes (one without "
                               "quotas takes them away)");
    }
    return outcome;
}

KeptOutcome QuotaSets::apply_kept(std::vector<definitions::KeptDocument> documents,
                                  const std::string& file, definitions::DefinitionStore& store,
                                  Instant now, bool at_once) {
    KeptOutcome outcome;
    const std::vector<definitions::SetStatus> sets = store.sets();
    for (definitions::KeptDocument& one : documents) {
        const bool in_force = std::any_of(sets.begin(), sets.end(),
                                          [&](const auto& set) { return set.set == one.set; });
        if (in_force) {
            continue;
        }
        if (!one.generation) {
            files_.emplace(one.set, file);
        }
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
        const std::string name =
            one.set + (one.generation ? "#" + std::to_string(*one.generation) : "");
        (used ? outcome.used : outcome.not_used)
            .push_back(used ? name : name + ": " + report.message);
    }
    return outcome;
}

/// A sidecar that starts with an old file has it in force until it hears a newer generation, so
/// nobody has refused that file.
void QuotaSets::note_old_files(const definitions::DefinitionStore& store, Instant now,
                               SetsOutcome& outcome) {
    if (generations_.empty()) {
        return;
    }
    for (const definitions::SetStatus& set : store.sets()) {
        const auto file = generations_.find(set.set);
        if (file == generations_.end() || !set.generation || *set.generation <= file->second ||
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

SetsOutcome QuotaSets::poll(definitions::DefinitionStore& store, Instant now) {
    SetsOutcome outcome;
    note_old_files(store, now, outcome);
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
        }
    }
    in_conflict_ = std::move(in_conflict);
    return outcome;
}

}  // namespace weir::node
