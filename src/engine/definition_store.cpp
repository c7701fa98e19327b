#include "engine/definition_store.h"

#include <algorithm>
#include <utility>

#include "engine/definition_text.h"
#include "gossip/definition_codec.h"
#include "gossip/definition_messages.h"

namespace weir::engine {
namespace {

using crdt::DefinitionEntry;
using crdt::EntryKind;
using crdt::MergeOutcome;
using limiter::DefinitionError;
using limiter::QuotaDefinition;

std::string describe_all(const std::vector<DefinitionError>& errors) {
    constexpr std::size_t most = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(errors.size(), most); ++i) {
        text += (i == 0 ? "" : "; ") + describe(errors[i]);
    }
    if (errors.size() > most) {
        text += "; and " + std::to_string(errors.size() - most) + " more";
    }
    return text;
}

}  // namespace

DefinitionStore::DefinitionStore(std::uint64_t writer) : writer_(writer) {}

// --- file layer ---------------------------------------------------------------------------------

DocumentReport DefinitionStore::refuse(DocumentReport report) {
    counters_.documents_older += report.outcome == DocumentOutcome::older ? 1 : 0;
    counters_.document_conflicts += report.outcome == DocumentOutcome::conflict ? 1 : 0;
    counters_.documents_invalid += report.outcome == DocumentOutcome::invalid ? 1 : 0;
    return report;
}

DocumentReport DefinitionStore::apply_document(FileDocument document, Instant now) {
    using enum DocumentOutcome;
    const SetKey key{document.generation.has_value(), document.set};
    if (document.set.empty() || document.set.size() > gossip::kMaximumSetName) {
        return refuse({invalid, {}, {}, "a set's name has 1 to 128 bytes"});
    }
    auto encoded = gossip::encode_document(document.quotas);
    if (!encoded) {
        return refuse({invalid, {}, {}, encoded.error().message});
    }
    SetState state;
    state.generation = document.generation;
    state.content_hash = gossip::document_hash(*encoded);
    const auto found = sets_.find(key);
    if (found == sets_.end() && sets_.size() >= kMaximumSets) {
        return refuse({invalid, {}, {}, "more than 64 sets"});
    }
    if (found != sets_.end()) {
        const SetState& here = found->second;
        if (here.generation == state.generation && here.content_hash == state.content_hash) {
            return {unchanged, here.generation, {}, {}};
        }
        if (state.generation && *here.generation > *state.generation) {
            return refuse({older,
                           here.generation,
                           {},
                           "generation " + std::to_string(*here.generation) + " of " + key.set +
                               " is in force, this is " + std::to_string(*state.generation)});
        }
        if (state.generation && here.generation == state.generation) {
            note_conflict(key.set);
            return {conflict,
                    here.generation,
                    {},
                    "generation " + std::to_string(*here.generation) + " of " + key.set +
                        " is in force with other content: give the change a new generation"};
        }
    }
    if (auto errors = document_errors(document, key); !errors.empty()) {
        std::string message = describe_all(errors);
        return refuse({invalid, found == sets_.end() ? std::nullopt : found->second.generation,
                       std::move(errors), std::move(message)});
    }
    if (document.generation) {
        state.bytes = std::make_shared<const std::vector<std::byte>>(std::move(*encoded));
    }
    for (QuotaDefinition& quota : document.quotas) {
        std::string name = quota.name;
        state.quotas.emplace(std::move(name), std::move(quota));
    }
    ++counters_.documents_applied;
    install(key, std::move(state), now);
    return {applied, document.generation, {}, {}};
}

/// Errors of the document's own quotas, among everything else that would be in force.
std::vector<DefinitionError> DefinitionStore::document_errors(const FileDocument& document,
                                                              const SetKey& key) {
    settle();
    std::vector<QuotaDefinition> all = document.quotas;
    const auto former = sets_.find(key);
    std::set<std::string_view> own;
    for (const QuotaDefinition& quota : document.quotas) {
        own.insert(quota.name);
    }
    for (const auto& [name, effective] : effective_) {
        const bool was_here = former != sets_.end() && former->second.quotas.contains(name) &&
                              former->second.quotas.find(name)->second == effective.definition;
        if (effective.valid && !was_here && !own.contains(name)) {
            all.push_back(effective.definition);
        }
    }
    std::vector<DefinitionError> errors = limiter::validate(all);
    std::erase_if(errors, [&](const DefinitionError& error) {
        return error.index >= document.quotas.size();
    });
    return errors;
}

void DefinitionStore::install(const SetKey& key, SetState state, Instant now) {
    std::set<std::string> names;
    if (const auto found = sets_.find(key); found != sets_.end()) {
        for (const auto& [name, quota] : found->second.quotas) {
            names.insert(name);
        }
    }
    for (const auto& [name, quota] : state.quotas) {
        names.insert(name);
    }
    sets_[key] = std::move(state);
    for (const std::string& name : names) {
        update(name, now);
    }
}

void DefinitionStore::forget_local_document(std::string_view set, Instant now) {
    const auto found = sets_.find({false, std::string(set)});
    if (found == sets_.end()) {
        return;
    }
    const auto quotas = std::move(found->second.quotas);
    sets_.erase(found);
    for (const auto& [name, quota] : quotas) {
        update(name, now);
    }
}

std::vector<SetStatus> DefinitionStore::sets() const {
    std::vector<SetStatus> result;
    for (const auto& [key, state] : sets_) {
        result.push_back(
            {key.set, state.generation, state.content_hash, state.quotas.size(), state.conflict});
    }
    return result;
}

void DefinitionStore::note_conflict(std::string_view set) {
    const auto found = sets_.find({true, std::string(set)});
    if (found != sets_.end()) {
        found->second.conflict = true;
        ++counters_.document_conflicts;
    }
}

std::shared_ptr<const std::vector<std::byte>> DefinitionStore::document_bytes(
    std::string_view set) const {
    const auto found = sets_.find({true, std::string(set)});
    return found == sets_.end() ? nullptr : found->second.bytes;
}

DocumentReport DefinitionStore::apply_encoded(std::string_view set, std::uint64_t generation,
                                              std::span<const std::byte> bytes, Instant now) {
    auto decoded = gossip::decode_document(bytes);
    if (!decoded) {
        return refuse({DocumentOutcome::invalid, {}, {}, decoded.error().message});
    }
    return apply_document({std::string(set), generation, std::move(*decoded)}, now);
}

// --- API layer ----------------------------------------------------------------------------------

Result<crdt::Version> DefinitionStore::set(const QuotaDefinition& definition, const Edit& by,
                                           Instant now) {
    DefinitionEntry entry;
    entry.name = definition.name;
    entry.kind = EntryKind::set;
    entry.value = gossip::encode_definition(definition);
    return edit(std::move(entry), definition, by, now);
}

Result<crdt::Version> DefinitionStore::set_absent(std::string_view name, const Edit& by,
                                                  Instant now) {
    DefinitionEntry entry;
    entry.name = std::string(name);
    entry.kind = EntryKind::absent;
    return edit(std::move(entry), std::nullopt, by, now);
}

Result<crdt::Version> DefinitionStore::remove(std::string_view name, const Edit& by, Instant now) {
    const DefinitionEntry* const here = overrides_.find(name);
    if (here == nullptr || !here->in_force(now)) {
        ++counters_.edits_refused;
        return error(ErrorCode::not_found, "there is no override of " + std::string(name));
    }
    DefinitionEntry entry;
    entry.name = std::string(name);
    entry.kind = EntryKind::removed;
    const SetKey* key = nullptr;
    const QuotaDefinition* const file = in_files(name, &key);
    Edit without_lifetime = by;
    without_lifetime.lifetime.reset();
    return edit(std::move(entry), file != nullptr ? std::optional(*file) : std::nullopt,
                without_lifetime, now);
}

Result<crdt::Version> DefinitionStore::edit(DefinitionEntry entry,
                                            const std::optional<QuotaDefinition>& outcome,
                                            const Edit& by, Instant now) {
    const auto refused = [this](ErrorCode code, std::string message) {
        ++counters_.edits_refused;
        return error(code, std::move(message));
    };
    if (entry.name.empty() || entry.name.size() > limiter::kMaxNameBytes) {
        return refused(ErrorCode::invalid_argument, "a quota's name has 1 to 512 bytes");
    }
    if (by.who.size() > kMaximumWho || by.why.size() > kMaximumWhy) {
        return refused(ErrorCode::too_large, "who may have 64 bytes and why 256");
    }
    if (by.lifetime && *by.lifetime <= Duration::zero()) {
        return refused(ErrorCode::invalid_argument, "an expiry must lie ahead");
    }
    if (std::string errors = candidate_errors(entry.name, outcome); !errors.empty()) {
        return refused(ErrorCode::invalid_argument, std::move(errors));
    }
    entry.version = overrides_.next_version(writer_);
    entry.who = by.who;
    entry.why = by.why;
    entry.lifetime = by.lifetime;
    entry.written = now;
    if (const std::size_t size = gossip::entry_size(entry); size > gossip::kMaximumEntry) {
        return refused(ErrorCode::too_large,
                       "the definition takes " + std::to_string(size) +
                           " bytes on the wire, and one datagram carries " +
                           std::to_string(gossip::kMaximumEntry) +
                           ": shorten its names or reasons, or put it into a file");
    }
    const crdt::Version version = entry.version;
    const std::string name = entry.name;
    if (overrides_.merge(std::move(entry), now) == MergeOutcome::full) {
        return refused(ErrorCode::exhausted, "there are a million overrides already");
    }
    ++counters_.edits;
    edited_.push_back(name);
    update(name, now);
    return version;
}

/// What would be wrong if this were the outcome for that name; empty if nothing.
std::string DefinitionStore::candidate_errors(const std::string& name,
                                              const std::optional<QuotaDefinition>& outcome) {
    settle();
    if (outcome && same_shape(*outcome) && chain_valid(*outcome)) {
        return {};
    }
    if (!outcome && !effective_.contains(name)) {
        return {};
    }
    std::vector<QuotaDefinition> all;
    if (outcome) {
        all.push_back(*outcome);
    }
    for (const auto& [other, effective] : effective_) {
        if (effective.valid && other != name) {
            all.push_back(effective.definition);
        }
    }
    return describe_all(limiter::validate(all));
}

MergeOutcome DefinitionStore::merge(DefinitionEntry entry, Instant now) {
    if (entry.kind == EntryKind::set && !gossip::decode_definition(entry.name, entry.value)) {
        ++counters_.refused_entries;
        return MergeOutcome::invalid;
    }
    const std::string name = entry.name;
    const MergeOutcome outcome = overrides_.merge(std::move(entry), now);
    counters_.refused_epochs += outcome == MergeOutcome::epoch ? 1 : 0;
    counters_.refused_full += outcome == MergeOutcome::full ? 1 : 0;
    if (outcome == MergeOutcome::applied) {
        ++counters_.merged;
        update(name, now);
    }
    return outcome;
}

std::vector<std::string> DefinitionStore::take_edited() { return std::exchange(edited_, {}); }

}  // namespace weir::engine
