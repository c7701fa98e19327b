#include "definitions/map.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"

namespace weir::definitions {
namespace {

/// Constants of the protocol version: "weir definitions".
constexpr HashKey kMapKey{{std::byte{'w'}, std::byte{'e'}, std::byte{'i'}, std::byte{'r'},
                           std::byte{' '}, std::byte{'d'}, std::byte{'e'}, std::byte{'f'},
                           std::byte{'i'}, std::byte{'n'}, std::byte{'i'}, std::byte{'t'},
                           std::byte{'i'}, std::byte{'o'}, std::byte{'n'}, std::byte{'s'}}};

/// The place of the name in a sorted slot, or where it would be inserted.
template <class Entries>
std::size_t place_in(const Entries& entries, std::string_view name) {
    // Names that come in order are inserted at the end, so the last entry is looked at first.
    if (!entries.empty() && entries.back()->name <= name) {
        return entries.size() - (entries.back()->name == name ? 1 : 0);
    }
    const auto place = std::lower_bound(
        entries.begin(), entries.end(), name,
        [](const auto& entry, std::string_view other) { return entry->name < other; });
    return static_cast<std::size_t>(place - entries.begin());
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

/// The instant from which the entry has no effect; nothing if there is none.
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

DefinitionMap::Hashed DefinitionMap::hashed(std::string_view name) {
    const std::uint64_t hash = keyed_hash(name, kMapKey);
    return {hash % kAllSlots, static_cast<std::uint32_t>(hash >> 32U)};
}

/// The entry's place, or the number of entries.
std::size_t DefinitionMap::known_place(const Slot& slot, std::uint32_t tag, std::string_view name) {
    WEIR_ASSERT(slot.tags.size() == slot.entries.size());
    for (std::size_t i = 0; i < slot.tags.size(); ++i) {
        if (slot.tags[i] == tag && slot.entries[i]->name == name) {
            return i;
        }
    }
    return slot.entries.size();
}

Version DefinitionMap::next_version(std::uint64_t writer) const {
    return {highest_epoch_ + 1, writer};
}

MergeOutcome DefinitionMap::merge(DefinitionEntry entry, Instant now) {
    if (entry.version.epoch > highest_epoch_ && entry.version.epoch - highest_epoch_ > kEpochLeap) {
        return MergeOutcome::epoch;
    }
    entry.written = std::min(entry.written, now);
    const Hashed at = hashed(entry.name);
    const Slot& slot = slots_[at.slot];
    const std::size_t place = known_place(slot, at.tag, entry.name);
    const bool known = place < slot.entries.size();
    if (!known) {
        if (forgettable(entry, now)) {
            return MergeOutcome::stale;
        }
        if (size_ >= maximum_) {
            return MergeOutcome::full;
        }
    } else {
        const DefinitionEntry& here = *slot.entries[place];
        if (same_content(here, entry)) {
            // Of two estimates the earlier one counts, so that both sides get the same.
            if (entry.written < here.written) {
                replace(at.slot, place, std::move(entry));
            }
            return MergeOutcome::known;
        }
        // A writer never uses a version twice. If it did, all members would still choose the same
        // entry.
        if (std::pair(entry.version, content(entry)) < std::pair(here.version, content(here))) {
            return MergeOutcome::older;
        }
    }
    note_writer(entry.version);
    WEIR_ASSERT(entry.version.epoch <= highest_epoch_ && entry.written <= now);
    if (known) {
        replace(at.slot, place, std::move(entry));
    } else {
        insert(at, std::move(entry));
    }
    return MergeOutcome::applied;
}

void DefinitionMap::add_hash(std::size_t slot, std::uint64_t hash) {
    WEIR_ASSERT(slot < kAllSlots);
    root_ ^= hash;
    partitions_[slot / kSlots] ^= hash;
    slot_hashes_[slot] ^= hash;
}

void DefinitionMap::insert(Hashed at, DefinitionEntry entry) {
    Slot& slot = slots_[at.slot];
    const auto place = static_cast<std::ptrdiff_t>(place_in(slot.entries, entry.name));
    const auto behind = slot.entries.begin() + place;
    WEIR_ASSERT(behind == slot.entries.end() || (*behind)->name > entry.name);
    note(at.slot, entry);
    slot.tags.insert(slot.tags.begin() + place, at.tag);
    slot.entries.insert(slot.entries.begin() + place,
                        std::make_shared<const DefinitionEntry>(std::move(entry)));
    ++size_;
    WEIR_ASSERT(size_ <= maximum_);
}

void DefinitionMap::replace(std::size_t slot, std::size_t place, DefinitionEntry entry) {
    auto& here = slots_[slot].entries[place];
    WEIR_ASSERT(here->name == entry.name);
    unnote(slot, *here);
    note(slot, entry);
    here = std::make_shared<const DefinitionEntry>(std::move(entry));
}

void DefinitionMap::erase(std::size_t slot, std::size_t place) {
    auto& [tags, entries] = slots_[slot];
    WEIR_ASSERT(size_ > 0 && place < entries.size());
    unnote(slot, *entries[place]);
    tags.erase(tags.begin() + static_cast<std::ptrdiff_t>(place));
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(place));
    --size_;
}

/// Updates hashes and deadlines for an entry that is added.
void DefinitionMap::note(std::size_t slot, const DefinitionEntry& entry) {
    add_hash(slot, entry_hash(entry));
    if (entry.lifetime && entry.kind != EntryKind::removed) {
        deadlines_.insert({entry.written + *entry.lifetime, entry.name});
    }
}

/// Updates hashes and deadlines for an entry that is removed.
void DefinitionMap::unnote(std::size_t slot, const DefinitionEntry& entry) {
    add_hash(slot, entry_hash(entry));
    if (entry.lifetime) {
        deadlines_.erase({entry.written + *entry.lifetime, entry.name});
    }
}

void DefinitionMap::note_writer(const Version& version) {
    // Comes first, because there may be no memory for it.
    std::uint64_t& highest = writers_[version.writer];
    highest = std::max(highest, version.epoch);
    highest_epoch_ = std::max(highest_epoch_, version.epoch);
    if (writers_.size() > kWriters) {
        writers_.erase(
            std::min_element(writers_.begin(), writers_.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; }));
    }
    WEIR_ASSERT(writers_.size() <= kWriters);
}

const DefinitionEntry* DefinitionMap::find(std::string_view name) const {
    if (size_ == 0) {
        return nullptr;
    }
    const Hashed at = hashed(name);
    const Slot& slot = slots_[at.slot];
    const std::size_t place = known_place(slot, at.tag, name);
    return place == slot.entries.size() ? nullptr : slot.entries[place].get();
}

std::vector<std::string> DefinitionMap::take_expired(Instant now, std::size_t budget) {
    std::vector<std::string> names;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now && names.size() < budget) {
        names.push_back(deadlines_.begin()->second);
        deadlines_.erase(deadlines_.begin());
    }
    WEIR_ASSERT(names.size() <= budget);
    return names;
}

void DefinitionMap::forget_old(Instant now, std::size_t budget) {
    for (std::size_t turns = 0; budget > 0 && size_ > 0 && turns <= kAllSlots; ++turns) {
        WEIR_ASSERT(forget_slot_ < kAllSlots);
        const auto& entries = slots_[forget_slot_].entries;
        std::size_t next = forget_after_.empty() ? 0 : place_in(entries, forget_after_);
        for (; budget > 0 && next < entries.size(); --budget) {
            if (forgettable(*entries[next], now)) {
                erase(forget_slot_, next);
            } else {
                ++next;
            }
        }
        if (next < entries.size()) {
            forget_after_ = entries[next]->name;
            return;
        }
        forget_after_.clear();
        forget_slot_ = (forget_slot_ + 1) % kAllSlots;
    }
}

std::vector<Version> DefinitionMap::writers() const {
    std::vector<Version> result;
    for (const auto& [writer, epoch] : writers_) {
        result.push_back({epoch, writer});
    }
    std::sort(result.rbegin(), result.rend());
    WEIR_ASSERT(result.empty() || result.front().epoch == highest_epoch_);
    return result;
}

DefinitionMap::Hashes DefinitionMap::slot_hashes(std::size_t partition) const {
    WEIR_ASSERT(partition < kPartitions);
    Hashes hashes{};
    std::copy_n(slot_hashes_.begin() + static_cast<std::ptrdiff_t>(partition * kSlots), kSlots,
                hashes.begin());
    return hashes;
}

void DefinitionMap::for_each_in_slot(std::size_t partition, std::size_t slot,
                                     const std::function<bool(const DefinitionEntry&)>& visit,
                                     std::string_view after) const {
    WEIR_ASSERT(partition < kPartitions && slot < kSlots);
    const auto& entries = slots_[partition * kSlots + slot].entries;
    std::size_t next = after.empty() ? 0 : place_in(entries, after);
    if (next < entries.size() && !after.empty() && entries[next]->name == after) {
        ++next;
    }
    for (; next < entries.size(); ++next) {
        if (!visit(*entries[next])) {
            return;
        }
    }
}

}  // namespace weir::definitions
