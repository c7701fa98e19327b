// What is in force: both layers brought together, validity, changes, lists. Part of
// DefinitionStore.

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "engine/definition_store.h"
#include "engine/definition_text.h"
#include "gossip/definition_codec.h"

namespace weir::engine {
namespace {

using crdt::DefinitionEntry;
using crdt::EntryKind;
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

}  // namespace

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
