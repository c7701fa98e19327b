#include "crdt/definition_map.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/hash.h"

namespace weir::crdt {
namespace {

/// Constants of the protocol version: "weir definitions".
constexpr HashKey kMapKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                           std::byte{' '}, std::byte{'d'}, std::byte{'e'}, std::byte{'f'},
                           std::byte{'i'}, std::byte{'n'}, std::byte{'i'}, std::byte{'t'},
                           std::byte{'i'}, std::byte{'o'}, std::byte{'n'}, std::byte{'s'}}};

std::uint16_t leaf_of(std::string_view name) {
    constexpr std::size_t all = DefinitionMap::kBuckets * DefinitionMap::kLeaves;
    return static_cast<std::uint16_t>(keyed_hash(name, kMapKey) % all);
}

auto content(const DefinitionEntry& entry) {
    return std::tie(entry.kind, entry.value, entry.who, entry.why, entry.lifetime);
}

std::uint64_t entry_hash(const DefinitionEntry& entry) {
    std::uint64_t hash = mix(keyed_hash(entry.name, kMapKey) ^ entry.version.epoch);
    hash = mix(hash + entry.version.writer);
    hash = mix(hash + static_cast<std::uint64_t>(entry.kind));
    hash = mix(hash ^ keyed_hash(entry.value, kMapKey));
    hash = mix(hash ^ keyed_hash(entry.who, kMapKey));
    hash = mix(hash + keyed_hash(entry.why, kMapKey));
    return mix(hash + static_cast<std::uint64_t>(entry.lifetime.value_or(Duration(-1)).count()));
}

/// When it stops to say anything; nothing while it goes on for ever.
std::optional<Instant> silent_from(const DefinitionEntry& entry) {
    if (entry.kind == EntryKind::removed) {
        return entry.written;
    }
    if (entry.lifetime) {
        return entry.written + *entry.lifetime;
    }
    return std::nullopt;
}

bool forgettable(const DefinitionEntry& entry, Instant now) {
    const std::optional<Instant> from = silent_from(entry);
    return from && now - *from >= DefinitionMap::kTombstoneTime;
}

}  // namespace

bool DefinitionEntry::expired(Instant now) const { return lifetime && now - written >= *lifetime; }

bool DefinitionEntry::in_force(Instant now) const {
    return kind != EntryKind::removed && !expired(now);
}

bool same_content(const DefinitionEntry& one, const DefinitionEntry& other) {
    return one.name == other.name && one.version == other.version && content(one) == content(other);
}

Version DefinitionMap::next_version(std::uint64_t writer) const {
    return {highest_epoch_ + 1, writer};
}

MergeOutcome DefinitionMap::merge(DefinitionEntry entry, Instant now) {
    if (entry.version.epoch > highest_epoch_ && entry.version.epoch - highest_epoch_ > kEpochLeap) {
        return MergeOutcome::epoch;
    }
    entry.written = std::min(entry.written, now);
    Place place{leaf_of(entry.name), entry.name};
    const auto found = entries_.find(place);
    if (found == entries_.end()) {
        if (forgettable(entry, now)) {
            return MergeOutcome::stale;
        }
        if (entries_.size() >= maximum_) {
            return MergeOutcome::full;
        }
    } else {
        DefinitionEntry& here = found->second;
        if (same_content(here, entry)) {
            // Of two estimates the earlier one: both sides come to the same.
            if (entry.written < here.written) {
                put(std::move(place), std::move(entry));
            }
            return MergeOutcome::known;
        }
        // One writer never gives a version twice; should it happen, all still agree.
        if (std::pair(entry.version, content(entry)) < std::pair(here.version, content(here))) {
            return MergeOutcome::older;
        }
    }
    note_writer(entry.version);
    put(std::move(place), std::move(entry));
    return MergeOutcome::applied;
}

void DefinitionMap::add_hash(std::uint16_t leaf, std::uint64_t hash) {
    root_ ^= hash;
    buckets_[leaf / kLeaves] ^= hash;
    std::uint64_t& stored = leaves_[leaf];
    stored ^= hash;
    if (stored == 0) {
        leaves_.erase(leaf);
    }
}

void DefinitionMap::put(Place place, DefinitionEntry entry) {
    DefinitionEntry& stored = entries_[place];
    if (!stored.name.empty()) {
        add_hash(place.leaf, entry_hash(stored));
        if (stored.lifetime) {
            deadlines_.erase({stored.written + *stored.lifetime, stored.name});
        }
    }
    stored = std::move(entry);
    add_hash(place.leaf, entry_hash(stored));
    if (stored.lifetime && stored.kind != EntryKind::removed) {
        deadlines_.insert({stored.written + *stored.lifetime, stored.name});
    }
}

void DefinitionMap::note_writer(const Version& version) {
    highest_epoch_ = std::max(highest_epoch_, version.epoch);
    std::uint64_t& highest = writers_[version.writer];
    highest = std::max(highest, version.epoch);
    if (writers_.size() > kWriters) {
        writers_.erase(
            std::min_element(writers_.begin(), writers_.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; }));
    }
}

const DefinitionEntry* DefinitionMap::find(std::string_view name) const {
    const auto found = entries_.find({leaf_of(name), std::string(name)});
    return found == entries_.end() ? nullptr : &found->second;
}

void DefinitionMap::for_each(const std::function<void(const DefinitionEntry&)>& visit) const {
    for (const auto& [place, entry] : entries_) {
        visit(entry);
    }
}

std::vector<std::string> DefinitionMap::take_expired(Instant now) {
    std::vector<std::string> names;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        names.push_back(deadlines_.begin()->second);
        deadlines_.erase(deadlines_.begin());
    }
    return names;
}

void DefinitionMap::forget_old(Instant now, std::size_t budget) {
    auto next = forget_from_ ? entries_.lower_bound(*forget_from_) : entries_.begin();
    for (; budget > 0 && next != entries_.end(); --budget) {
        if (!forgettable(next->second, now)) {
            ++next;
            continue;
        }
        add_hash(next->first.leaf, entry_hash(next->second));
        if (next->second.lifetime) {
            deadlines_.erase({next->second.written + *next->second.lifetime, next->second.name});
        }
        next = entries_.erase(next);
    }
    forget_from_ = next == entries_.end() ? std::nullopt : std::optional(next->first);
}

std::vector<Version> DefinitionMap::writers() const {
    std::vector<Version> result;
    for (const auto& [writer, epoch] : writers_) {
        result.push_back({epoch, writer});
    }
    std::sort(result.rbegin(), result.rend());
    return result;
}

DefinitionMap::Hashes DefinitionMap::leaf_hashes(std::size_t bucket) const {
    Hashes hashes{};
    const auto first = static_cast<std::uint16_t>(bucket * kLeaves);
    for (auto it = leaves_.lower_bound(first); it != leaves_.end() && it->first < first + kLeaves;
         ++it) {
        hashes[it->first - first] = it->second;
    }
    return hashes;
}

void DefinitionMap::for_each_in_leaf(
    std::size_t bucket, std::size_t leaf,
    const std::function<bool(const DefinitionEntry&)>& visit) const {
    const auto number = static_cast<std::uint16_t>(bucket * kLeaves + leaf);
    for (auto it = entries_.lower_bound({number, {}});
         it != entries_.end() && it->first.leaf == number; ++it) {
        if (!visit(it->second)) {
            return;
        }
    }
}

}  // namespace weir::crdt
