// The part of DefinitionStore that finds what is in force: it combines both layers, checks
// validity, and makes changes and lists.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "definitions/codec.h"
#include "definitions/rules.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;

/// How many overrides each tick looks at to find those that can be forgotten.
constexpr std::size_t kForgetBudget = 64;
constexpr std::size_t kExpiryBudget = 1024;
constexpr std::size_t kDocumentBudget = 16'384;
/// The most refusals by the limiter that are kept until they are read.
constexpr std::size_t kMostLogged = 16;

std::string hexadecimal(std::uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = 16; i-- > 0; value >>= 4) {
        text[i] = digits[value & 15];
    }
    return text;
}

}  // namespace

std::optional<DefinitionDocument::Item> DefinitionStore::in_files(std::string_view name,
                                                                  const SetKey** key) const {
    for (const auto& [set, state] : sets_) {
        if (auto found = state.document->find(name)) {
            *key = &set;
            return found;
        }
    }
    return std::nullopt;
}

/// The definition that the two layers give the name, and its hash.
std::optional<QuotaDefinition> DefinitionStore::desired(std::string_view name,
                                                        std::uint64_t* hash) const {
    std::string_view value;
    const DefinitionEntry* const entry = overrides_.find(name);
    if (entry != nullptr && entry->in_force(now_)) {
        if (entry->kind == EntryKind::absent) {
            return std::nullopt;
        }
        value = entry->value;
    } else {
        const SetKey* key = nullptr;
        const auto file = in_files(name, &key);
        if (!file) {
            return std::nullopt;
        }
        value = file->value;
    }
    *hash = content_hash_of(name, value);
    auto decoded = decode_definition(name, value);
    return decoded ? std::optional(std::move(*decoded)) : std::nullopt;
}

std::optional<QuotaDefinition> DefinitionStore::definition_of_file(std::string_view name) const {
    const SetKey* key = nullptr;
    const auto file = in_files(name, &key);
    if (!file) {
        return std::nullopt;
    }
    auto decoded = decode_definition(name, file->value);
    return decoded ? std::optional(std::move(*decoded)) : std::nullopt;
}

/// Updates one name to what both layers say now.
void DefinitionStore::update(std::string_view name, Instant now) {
    ++visits_;
    now_ = std::max(now_, now);
    const DefinitionEntry* const entry = overrides_.find(name);
    if (entry != nullptr && entry->in_force(now)) {
        if (entry->kind == EntryKind::absent) {
            hidden_.emplace(name);
            tree_.erase(name);
            WEIR_ASSERT(tree_.find(name) == nullptr);
        } else {
            hidden_.erase(entry->name);
            put_encoded(name, entry->value, false);
        }
        return;
    }
    if (!hidden_.empty()) {
        hidden_.erase(std::string(name));
    }
    const SetKey* key = nullptr;
    if (const auto file = in_files(name, &key)) {
        put_encoded(name, file->value, file->sound);
    } else {
        tree_.erase(name);
    }
}

void DefinitionStore::put_encoded(std::string_view name, std::string_view value, bool sound) {
    const std::uint64_t hash = content_hash_of(name, value);
    const DefinitionTree::Node* const here = tree_.find(name);
    if (here != nullptr && here->hash == hash) {
        return;
    }
    if (const auto decoded = decode_definition(name, value)) {
        tree_.put(*decoded, hash, sound);
    }
}

std::vector<limiter::DefinitionChange> DefinitionStore::take_changes(std::size_t budget) {
    std::vector<limiter::DefinitionChange> changes;
    for (DefinitionTree::PendingChange& step : tree_.take(budget)) {
        std::optional<QuotaDefinition> definition;
        if (step.put) {
            std::uint64_t hash = 0;
            definition = desired(step.name, &hash);
            if (!definition || step.hash != hash) {
                // A document that is being loaded has installed this parent before the name itself,
                // whose turn is still to come.
                update(step.name, now_);
                continue;
            }
        }
        refused_.erase(step.name);
        changes.push_back({std::move(step.name), std::move(definition)});
    }
    WEIR_ASSERT(changes.size() <= budget);
    return changes;
}

void DefinitionStore::note_refused(std::span<const limiter::RefusedChange> refused) {
    for (const limiter::RefusedChange& change : refused) {
        const std::string reason = describe(refusal_error(change));
        if (refused_.size() < kMaximumRefused) {
            refused_.insert_or_assign(change.name, reason);
        }
        WEIR_ASSERT(refused_.size() <= kMaximumRefused);
        if (refused_lately_.size() < kMostLogged) {
            refused_lately_.push_back(reason);
        }
    }
}

std::vector<std::string> DefinitionStore::take_refused() {
    return std::exchange(refused_lately_, {});
}

std::optional<std::string> DefinitionStore::for_each_override(
    std::string_view after, std::size_t names,
    const std::function<bool(const DefinitionEntry&)>& visit) const {
    bool all = true;
    std::string_view done = after;
    tree_.for_each(after, [&](const DefinitionTree::Node& node) {
        if (node.name() == after) {
            return true;
        }
        const DefinitionEntry* const entry = overrides_.find(node.name());
        const bool said =
            entry != nullptr && entry->kind == EntryKind::set && entry->in_force(now_);
        all = names-- > 0 && (!said || visit(*entry));
        if (all) {
            done = node.name();
        }
        return all;
    });
    return all ? std::nullopt : std::optional(std::string(done));
}

std::vector<ListedDefinition> DefinitionStore::page(std::string_view prefix, std::string_view after,
                                                    std::size_t count, Instant now) const {
    const std::string_view from = std::max(prefix, after);
    auto hidden = hidden_.lower_bound(from);
    std::vector<ListedDefinition> result;
    const auto wanted = [&](std::string_view name) {
        return name.starts_with(prefix) && (after.empty() || name > after);
    };
    const auto add_hidden = [&](std::optional<std::string_view> up_to) {
        for (; hidden != hidden_.end() && result.size() < count && (!up_to || *hidden < *up_to);
             ++hidden) {
            if (!hidden->starts_with(prefix) && *hidden > prefix) {
                return;
            }
            if (wanted(*hidden)) {
                result.push_back(listed(*hidden, now));
            }
        }
    };
    tree_.for_each(from, [&](const DefinitionTree::Node& node) {
        add_hidden(node.name());
        if (result.size() >= count || (!node.name().starts_with(prefix) && node.name() > prefix)) {
            return false;
        }
        if (wanted(node.name())) {
            result.push_back(listed(node.name(), now));
        }
        return true;
    });
    add_hidden(std::nullopt);
    WEIR_ASSERT(result.size() <= count);
    return result;
}

std::vector<std::string> DefinitionStore::names_in_force(std::string_view after,
                                                         std::size_t count) const {
    std::vector<std::string> names;
    tree_.for_each(after, [&](const DefinitionTree::Node& node) {
        if (node.valid && node.name() != after && names.size() < count) {
            names.emplace_back(node.name());
        }
        return names.size() < count;
    });
    return names;
}

bool DefinitionStore::has(std::string_view name) const {
    const DefinitionTree::Node* const node = tree_.find(name);
    return node != nullptr && node->valid;
}

std::optional<ListedDefinition> DefinitionStore::find(std::string_view name, Instant now) const {
    const DefinitionEntry* const entry = overrides_.find(name);
    const bool overridden = entry != nullptr && entry->in_force(now);
    if (!overridden && tree_.find(name) == nullptr) {
        return std::nullopt;
    }
    return listed(name, now);
}

ListedDefinition DefinitionStore::listed(std::string_view name, Instant now) const {
    ListedDefinition result;
    result.name = std::string(name);
    std::uint64_t hash = 0;
    result.definition = desired(name, &hash);
    const DefinitionEntry* const entry = overrides_.find(name);
    if (entry != nullptr && entry->in_force(now)) {
        result.version = entry->version;
        result.tag = "api-" + std::to_string(entry->version.epoch) + "-" +
                     hexadecimal(entry->version.writer);
        result.source = "api epoch " + std::to_string(entry->version.epoch) + " by " +
                        hexadecimal(entry->version.writer);
        result.who = entry->who;
        result.why = entry->why;
        if (entry->lifetime) {
            result.expires_in = entry->written + *entry->lifetime - now;
        }
        result.file_definition = definition_of_file(name);
    } else {
        const SetKey* key = nullptr;
        if (in_files(name, &key)) {
            const auto& generation = sets_.at(*key).generation;
            const bool numbered = generation && !is_automatic(*generation);
            result.source =
                "file " + key->set + (numbered ? "#" + std::to_string(*generation) : "");
        }
        result.tag = "file-" + hexadecimal(hash);
    }
    if (const DefinitionTree::Node* const node = tree_.find(name)) {
        result.in_force = node->valid;
        result.problem = node->problem ? describe(*node->problem) : std::string();
        if (const auto refused = refused_.find(name); node->valid && refused != refused_.end()) {
            result.in_force = false;
            result.problem = refused->second;
        }
        if (node->incomplete && result.problem.empty()) {
            result.problem =
                "it has limits of a kind that only a later version of weir knows, which are not "
                "held here";
        }
    }
    return result;
}

/// An override that had expired when it came here from a peer or from the snapshot was told by
/// others, or is no news.
void DefinitionStore::note_expired(const std::string& name) {
    const DefinitionEntry* const entry = overrides_.find(name);
    if (entry == nullptr || !expired_to_ || entry->written + *entry->lifetime <= *expired_to_) {
        return;
    }
    if (expired_.listed.size() < kMaximumExpired) {
        expired_.listed.push_back({name, entry->who, entry->why});
    } else {
        ++expired_.more;
    }
}

void DefinitionStore::tick(Instant now) {
    now_ = std::max(now_, now);
    const std::vector<std::string> expired = overrides_.take_expired(now, kExpiryBudget);
    for (const std::string& name : expired) {
        note_expired(name);
        update(name, now);
    }
    if (expired.size() < kExpiryBudget) {
        expired_to_ = now;
    }
    overrides_.forget_old(now, kForgetBudget);
    work(kDocumentBudget, now);
}

}  // namespace weir::definitions
