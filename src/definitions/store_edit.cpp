// The part of DefinitionStore for changes by the API: a change is planned, checked as a whole, and
// made or refused.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "definitions/codec.h"
#include "definitions/messages.h"
#include "definitions/store.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;

DefinitionEntry entry_of(const QuotaDefinition& definition) {
    DefinitionEntry entry;
    entry.name = definition.name;
    entry.kind = EntryKind::set;
    entry.value = encode_definition(definition);
    return entry;
}

/// Whether a peer will read exactly this definition from the entry.
bool reads_back(const DefinitionEntry& entry, const QuotaDefinition& definition) {
    const auto read = decode_definition(entry.name, entry.value);
    return read && *read == definition;
}

DefinitionEntry entry_of(std::string_view name, EntryKind kind) {
    DefinitionEntry entry;
    entry.name = std::string(name);
    entry.kind = kind;
    return entry;
}

}  // namespace

Result<Version> DefinitionStore::set(const QuotaDefinition& definition, const Edit& by,
                                     Instant now) {
    return edit({entry_of(definition), definition, by.expected}, by, now);
}

Result<Version> DefinitionStore::set_absent(std::string_view name, const Edit& by, Instant now) {
    return edit({entry_of(name, EntryKind::absent), std::nullopt, by.expected}, by, now);
}

Result<Version> DefinitionStore::remove(std::string_view name, const Edit& by, Instant now) {
    const DefinitionEntry* const here = overrides_.find(name);
    if (here == nullptr || !here->in_force(now)) {
        ++counters_.edits_refused;
        return error(ErrorCode::not_found, "there is no override of " + std::string(name));
    }
    Edit for_good = by;
    for_good.lifetime.reset();
    for_good.keep_lifetime = false;
    return edit({entry_of(name, EntryKind::removed), definition_of_file(name), by.expected},
                for_good, now);
}

Result<Version> DefinitionStore::edit(Planned change, const Edit& by, Instant now) {
    const auto refused = [&](Error why) {
        counters_.edits_refused += by.dry_run ? 0U : 1U;
        return why;
    };
    if (auto ready = prepare(change, by, now); !ready) {
        return refused(ready.error());
    }
    WEIR_ASSERT(change.entry.version.writer == writer_);
    if (const auto errors = losses_of({&change, 1}, now); !errors.empty()) {
        return refused(error(ErrorCode::invalid_argument, describe_all(errors)));
    }
    if (auto room = check_room({&change, 1}); !room) {
        return refused(room.error());
    }
    return by.dry_run ? change.entry.version : commit(std::move(change.entry), now);
}

TogetherReport DefinitionStore::set_together(std::span<const WantedDefinition> wanted,
                                             const Edit& by, Instant now) {
    TogetherReport report;
    const auto refused = [&](const Error& why) {
        counters_.edits_refused += by.dry_run ? 0U : 1U;
        report.code = why.code;
        report.message = why.message;
        return report;
    };
    if (wanted.size() > kMaximumTogether) {
        return refused(error(ErrorCode::too_large,
                             "one change sets at most " + std::to_string(kMaximumTogether) +
                                 " quotas, and these are " + std::to_string(wanted.size()) +
                                 ": make several changes, or put them into a file of a set"));
    }
    std::vector<Planned> changes;
    std::set<std::string_view> names;
    for (const WantedDefinition& one : wanted) {
        if (!names.insert(one.definition.name).second) {
            return refused(
                error(ErrorCode::invalid_argument, "'" + one.definition.name + "' is there twice"));
        }
        changes.push_back({entry_of(one.definition), one.definition, one.expected});
        if (auto ready = prepare(changes.back(), by, now); !ready) {
            return refused(error(ready.error().code,
                                 "'" + one.definition.name + "': " + ready.error().message));
        }
    }
    report.errors = losses_of(changes, now);
    if (!report.errors.empty()) {
        return refused(error(ErrorCode::invalid_argument, describe_all(report.errors)));
    }
    if (auto room = check_room(changes); !room) {
        return refused(room.error());
    }
    for (Planned& change : changes) {
        report.versions.push_back(by.dry_run ? change.entry.version
                                             : commit(std::move(change.entry), now));
    }
    WEIR_ASSERT(report.versions.size() == wanted.size());
    return report;
}

/// Fills in author, reason and lifetime, and checks the rules that do not depend on other
/// definitions.
Result<void> DefinitionStore::prepare(Planned& change, const Edit& by, Instant now) {
    DefinitionEntry& entry = change.entry;
    if (entry.name.empty() || entry.name.size() > limiter::kMaxNameBytes) {
        return error(ErrorCode::invalid_argument, "a quota's name has 1 to 512 bytes");
    }
    if (by.who.size() > kMaximumWho || by.why.size() > kMaximumWhy) {
        return error(ErrorCode::too_large, "who may have 64 bytes and why 256");
    }
    if (by.lifetime && *by.lifetime <= Duration::zero()) {
        return error(ErrorCode::invalid_argument, "an expiry must lie ahead");
    }
    if (change.expected) {
        const auto row = find(entry.name, now);
        if (*change.expected != (row ? row->tag : "")) {
            ++counters_.edits_outdated;
            return error(ErrorCode::conflict,
                         row ? "the quota has changed meanwhile: it is now from " + row->source
                             : "there is no such quota any more");
        }
    }
    entry.version = overrides_.next_version(writer_);
    entry.who = by.who;
    entry.why = by.why;
    entry.written = now;
    entry.lifetime = by.lifetime;
    const DefinitionEntry* const here = overrides_.find(entry.name);
    if (!by.lifetime && by.keep_lifetime && here != nullptr && here->in_force(now) &&
        here->lifetime) {
        entry.lifetime = here->written + *here->lifetime - now;
    }
    if (entry.lifetime) {
        // Messages have milliseconds, and all members must have the same value.
        entry.lifetime = std::chrono::ceil<std::chrono::milliseconds>(*entry.lifetime);
        WEIR_ASSERT(*entry.lifetime > Duration::zero());  // what has expired is not kept
    }
    return {};
}

/// Whether definitions that are valid fit into a message and into the map. This is checked last,
/// because other errors say more than the size.
Result<void> DefinitionStore::check_room(std::span<const Planned> changes) const {
    for (const Planned& change : changes) {
        const DefinitionEntry& entry = change.entry;
        WEIR_ASSERT((entry.kind != EntryKind::set || change.outcome.has_value()) &&
                    (entry.kind == EntryKind::set || entry.value.empty()));
        const std::string of = changes.size() > 1 ? "'" + entry.name + "': " : "";
        if (entry.kind == EntryKind::set && !reads_back(entry, *change.outcome)) {
            return error(ErrorCode::invalid_argument,
                         of + "other sidecars could not read this definition");
        }
        if (const std::size_t size = entry_size(entry); size > kMaximumEntry) {
            return error(ErrorCode::too_large,
                         of + "the definition takes " + std::to_string(size) +
                             " bytes on the wire, and one datagram carries " +
                             std::to_string(kMaximumEntry) +
                             ": shorten its names or reasons, or put it into a file");
        }
    }
    const auto fresh = std::count_if(changes.begin(), changes.end(), [this](const Planned& change) {
        return overrides_.find(change.entry.name) == nullptr;
    });
    if (overrides_.size() + static_cast<std::size_t>(fresh) > kMaximumOverrides && fresh > 0) {
        return error(ErrorCode::exhausted, "there are a million overrides already");
    }
    const bool adds = std::any_of(changes.begin(), changes.end(), [this](const Planned& change) {
        return change.entry.kind == EntryKind::set && overrides_.find(change.entry.name) == nullptr;
    });
    if (adds && room_left() == 0U) {
        return error(ErrorCode::exhausted,
                     "no memory is left for more quotas under the memory limit");
    }
    return {};
}

/// Makes a change that has been checked; nothing can refuse it any more.
Version DefinitionStore::commit(DefinitionEntry entry, Instant now) {
    entry.version = overrides_.next_version(writer_);
    WEIR_ASSERT(entry.version.writer == writer_);
    const Version version = entry.version;
    edited_.push_back(entry);
    static_cast<void>(merge_entry(std::move(entry), now));
    ++counters_.edits;
    return version;
}

/// The definitions that would not be in force if these changes were made. The changes are tried
/// together and taken back.
std::vector<DefinitionError> DefinitionStore::losses_of(std::span<const Planned> changes,
                                                        Instant now) {
    std::vector<DefinitionError> noted;
    std::vector<std::string> lost;
    tree_.watch(&noted, &lost);
    for (const Planned& change : changes) {
        if (change.outcome) {
            tree_.put(*change.outcome,
                      content_hash_of(change.entry.name, encode_definition(*change.outcome)));
        } else {
            tree_.erase(change.entry.name);
        }
    }
    tree_.watch(nullptr);
    std::vector<DefinitionError> losses =
        changes.size() == 1 ? std::move(noted) : lasting_losses(changes, noted, lost);
    // Restores what was there before. While a document is being loaded, this need not be what the
    // layers say.
    for (const Planned& change : changes) {
        update(change.entry.name, now);
    }
    return losses;
}

/// The errors that remain when several changes, tried one after another, have all been made. `lost`
/// has the quotas that were not in force at some time meanwhile.
std::vector<DefinitionError> DefinitionStore::lasting_losses(
    std::span<const Planned> changes, const std::vector<DefinitionError>& noted,
    const std::vector<std::string>& lost) const {
    constexpr std::size_t kMostTold = 64;
    std::vector<DefinitionError> losses;
    std::set<std::string, std::less<>> told;
    const auto look_at = [&](std::string_view name) {
        const DefinitionTree::Node* const node = tree_.find(name);
        if (node == nullptr || node->valid || !told.emplace(name).second) {
            return;
        }
        if (told.size() > kMostTold) {
            return;  // Enough: each explanation has to look for a suggestion.
        }
        if (!node->own_problem) {
            losses.push_back(tree_.explain(*node));
            return;
        }
        std::copy_if(noted.begin(), noted.end(), std::back_inserter(losses),
                     [&](const DefinitionError& one) { return one.quota == name; });
    };
    for (const Planned& change : changes) {
        look_at(change.entry.name);
    }
    for (const std::string& name : lost) {
        look_at(name);
    }
    if (told.size() > kMostTold) {
        losses.push_back(
            {0,
             *told.begin(),
             "",
             "and others, " + std::to_string(told.size()) + " in all, would not be in force",
             {}});
    }
    return losses;
}

std::vector<DefinitionError> DefinitionStore::check(const QuotaDefinition& definition) {
    const Planned change{entry_of(definition), definition, {}};
    return losses_of({&change, 1}, now_);
}

}  // namespace weir::definitions
