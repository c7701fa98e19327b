#include "engine/definition_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "gossip/definition_codec.h"
#include "gossip/definition_messages.h"

namespace weir::engine {
namespace {

using crdt::DefinitionEntry;
using crdt::EntryKind;
using crdt::MergeOutcome;
using limiter::DefinitionError;
using limiter::QuotaDefinition;

constexpr std::size_t kForgetBudget = 64;

std::string hexadecimal(std::uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = 16; i-- > 0; value >>= 4) {
        text[i] = digits[value & 15];
    }
    return text;
}

std::string describe(const DefinitionError& error) {
    std::string text =
        error.quota + (error.field.empty() ? "" : ": " + error.field) + ": " + error.message;
    return error.suggestion.empty() ? text : text + " (" + error.suggestion + ")";
}

std::string describe(const std::vector<DefinitionError>& errors) {
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
        std::string message = describe(errors);
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
    return describe(limiter::validate(all));
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

// --- what is in force ---------------------------------------------------------------------------

const QuotaDefinition* DefinitionStore::in_files(std::string_view name, const SetKey** key) const {
    for (const auto& [set, state] : sets_) {
        const auto found = state.quotas.find(name);
        if (found != state.quotas.end()) {
            *key = &set;
            return &found->second;
        }
    }
    return nullptr;
}

std::optional<QuotaDefinition> DefinitionStore::desired(const std::string& name,
                                                        Instant now) const {
    const DefinitionEntry* const entry = overrides_.find(name);
    if (entry != nullptr && entry->in_force(now)) {
        if (entry->kind == EntryKind::absent) {
            return std::nullopt;
        }
        auto decoded = gossip::decode_definition(name, entry->value);
        return decoded ? std::optional(std::move(*decoded)) : std::nullopt;
    }
    const SetKey* key = nullptr;
    const QuotaDefinition* const file = in_files(name, &key);
    return file != nullptr ? std::optional(*file) : std::nullopt;
}

/// Brings one name to what both layers say now. Whatever may concern others than this name is left
/// to settle().
void DefinitionStore::update(const std::string& name, Instant now) {
    std::optional<QuotaDefinition> wanted = desired(name, now);
    const auto found = effective_.find(name);
    if (!wanted) {
        if (found == effective_.end()) {
            return;
        }
        if (found->second.given) {
            gone_[name] = found->second.definition.parent;
        }
        effective_.erase(found);
        revalidate_ = true;
    } else if (found == effective_.end()) {
        Effective& fresh = effective_[name];
        fresh.definition = std::move(*wanted);
        fresh.given = gone_.erase(name) > 0;
        revalidate_ = true;
    } else if (found->second.definition == *wanted) {
        return;
    } else {
        revalidate_ = revalidate_ || !same_shape(*wanted) || !chain_valid(*wanted);
        found->second.definition = std::move(*wanted);
    }
    touched_.insert(name);
    content_hash_.reset();
}

/// Whether only amounts, modes and the like would change: nobody else's validity depends on them.
bool DefinitionStore::same_shape(const QuotaDefinition& definition) const {
    const auto found = effective_.find(definition.name);
    return found != effective_.end() && found->second.valid &&
           found->second.definition.parent == definition.parent &&
           found->second.definition.limits.size() == definition.limits.size();
}

/// Checks a definition with its ancestors only; false as well when one is not named exactly.
bool DefinitionStore::chain_valid(const QuotaDefinition& definition) const {
    std::vector<QuotaDefinition> chain{definition};
    while (chain.back().parent && chain.size() <= limiter::kMaxChainDepth) {
        const auto parent = effective_.find(*chain.back().parent);
        if (parent == effective_.end() || parent->first == definition.name) {
            return false;
        }
        chain.push_back(parent->second.definition);
    }
    return limiter::validate(chain).empty();
}

/// Finds the largest valid set: whoever has an error is left out, until there is none.
void DefinitionStore::settle() {
    if (!std::exchange(revalidate_, false)) {
        return;
    }
    std::vector<Effective*> rest;
    std::vector<bool> before;
    for (auto& [name, effective] : effective_) {
        rest.push_back(&effective);
        before.push_back(effective.valid);
        effective.valid = true;
        effective.problem.clear();
    }
    const std::vector<Effective*> everybody = rest;
    for (;;) {
        std::vector<QuotaDefinition> definitions;
        definitions.reserve(rest.size());
        for (const Effective* effective : rest) {
            definitions.push_back(effective->definition);
        }
        const std::vector<DefinitionError> errors = limiter::validate(definitions);
        if (errors.empty()) {
            break;
        }
        for (const DefinitionError& error : errors) {
            rest[error.index]->valid = false;
            rest[error.index]->problem = describe(error);
        }
        std::erase_if(rest, [](const Effective* effective) { return !effective->valid; });
    }
    for (std::size_t i = 0; i < everybody.size(); ++i) {
        if (everybody[i]->valid != before[i]) {
            touched_.insert(everybody[i]->definition.name);
        }
    }
    content_hash_.reset();
}

std::size_t DefinitionStore::depth_of(std::string_view name) const {
    std::size_t depth = 0;
    for (; depth <= limiter::kMaxChainDepth; ++depth) {
        const std::optional<std::string>* parent = nullptr;
        if (const auto found = effective_.find(name); found != effective_.end()) {
            parent = &found->second.definition.parent;
        } else if (const auto gone = gone_.find(name); gone != gone_.end()) {
            parent = &gone->second;
        }
        if (parent == nullptr || !*parent) {
            break;
        }
        name = **parent;
    }
    return depth;
}

std::vector<DefinitionChange> DefinitionStore::take_changes() {
    settle();
    std::vector<std::pair<std::size_t, DefinitionChange>> puts;
    std::vector<std::pair<std::size_t, DefinitionChange>> erases;
    for (const std::string& name : touched_) {
        const auto found = effective_.find(name);
        if (found == effective_.end()) {
            if (gone_.contains(name)) {
                erases.push_back({depth_of(name), {name, std::nullopt}});
            }
        } else if (found->second.valid) {
            puts.push_back({depth_of(name), {name, found->second.definition}});
            found->second.given = true;
        } else if (found->second.given) {
            erases.push_back({depth_of(name), {name, std::nullopt}});
            found->second.given = false;
        }
    }
    const auto by_depth = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(puts.begin(), puts.end(), by_depth);
    std::stable_sort(erases.rbegin(), erases.rend(), by_depth);
    std::vector<DefinitionChange> changes;
    for (auto* list : {&puts, &erases}) {
        for (auto& [depth, change] : *list) {
            changes.push_back(std::move(change));
        }
    }
    touched_.clear();
    gone_.clear();
    return changes;
}

std::vector<QuotaDefinition> DefinitionStore::in_force() {
    settle();
    std::vector<QuotaDefinition> result;
    for (const auto& [name, effective] : effective_) {
        if (effective.valid) {
            result.push_back(effective.definition);
        }
    }
    return result;
}

std::vector<ListedDefinition> DefinitionStore::list(Instant now) {
    settle();
    std::set<std::string> names;
    for (const auto& [name, effective] : effective_) {
        names.insert(name);
    }
    overrides_.for_each([&](const DefinitionEntry& entry) {
        if (entry.in_force(now)) {
            names.insert(entry.name);
        }
    });
    std::vector<ListedDefinition> result;
    for (const std::string& name : names) {
        result.push_back(listed(name, now));
    }
    return result;
}

std::optional<ListedDefinition> DefinitionStore::find(std::string_view name, Instant now) {
    settle();
    const DefinitionEntry* const entry = overrides_.find(name);
    const bool overridden = entry != nullptr && entry->in_force(now);
    if (!overridden && effective_.find(name) == effective_.end()) {
        return std::nullopt;
    }
    return listed(std::string(name), now);
}

ListedDefinition DefinitionStore::listed(const std::string& name, Instant now) const {
    ListedDefinition result;
    result.name = name;
    const DefinitionEntry* const entry = overrides_.find(name);
    if (entry != nullptr && entry->in_force(now)) {
        result.source = "api epoch " + std::to_string(entry->version.epoch) + " by " +
                        hexadecimal(entry->version.writer);
        result.who = entry->who;
        result.why = entry->why;
        if (entry->lifetime) {
            result.expires_in = entry->written + *entry->lifetime - now;
        }
    } else {
        const SetKey* key = nullptr;
        if (in_files(name, &key) != nullptr) {
            const auto& generation = sets_.at(*key).generation;
            result.source =
                "file " + key->set + (generation ? "#" + std::to_string(*generation) : "");
        }
    }
    if (const auto found = effective_.find(name); found != effective_.end()) {
        result.definition = found->second.definition;
        result.in_force = found->second.valid;
        result.problem = found->second.problem;
    }
    return result;
}

void DefinitionStore::tick(Instant now) {
    for (const std::string& name : overrides_.take_expired(now)) {
        update(name, now);
    }
    overrides_.forget_old(now, kForgetBudget);
}

std::uint64_t DefinitionStore::content_hash() {
    settle();
    if (!content_hash_) {
        std::uint64_t hash = 1;
        for (const auto& [name, effective] : effective_) {
            if (effective.valid) {
                const std::string value = gossip::encode_definition(effective.definition);
                hash = mix(hash ^ gossip::document_hash(as_bytes(name)));
                hash = mix(hash ^ gossip::document_hash(as_bytes(value)));
            }
        }
        content_hash_ = hash;
    }
    return *content_hash_;
}

}  // namespace weir::engine
