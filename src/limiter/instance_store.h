#pragma once
// The memory of instances: the records that every request touches, the facts about an instance that
// are rarely needed, its name, and views. All of it comes from bounded pools. Memory of a dropped
// instance waits in limbo until no thread can see it any more. The store does not know definitions.
//
// Thread-safety: record(), info(), name(), view_of() and names.find() may be called on any thread
// inside an Epochs section; hold(), unhold() and held() on any thread. Everything that changes the
// store needs the creation lock (`lock`). Workers mostly only try to take it (see creation.h).
// Ownership: it owns all of that memory for as long as it lives; addresses in it never change.
// Invariants: an id is either the head of a live instance, a further record of one, in limbo or
// free. The generation of an id is odd while it is the head of a live instance.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "limiter/epochs.h"
#include "limiter/lazy_array.h"
#include "limiter/name_table.h"
#include "limiter/record.h"
#include "limiter/view_record.h"

namespace weir::limiter {

/// The name of an instance, allocated together with its length when the instance is made.
struct NameBlock;

/// The facts about an instance that requests rarely need. Only those of a head record are used.
struct InstanceInfo {
    std::atomic<NameBlock*> name;  // null = not a live head
    /// The low half counts how often the id began and ceased to be a live head, so it is odd while
    /// it is one. The high half counts the calls of hold() without unhold().
    std::atomic<std::uint32_t> generation;
    std::uint32_t children;  // live instances below it, and pins (Instances::Pin)
    std::uint32_t previous;  // its neighbours in the ring of its definition's instances
    std::uint32_t next;
};

/// A spin lock that serialises all changes of the store.
class CreationLock {
  public:
    /// False if the lock was taken at each of `tries` attempts.
    [[nodiscard]] bool try_lock(std::uint32_t tries);
    void lock();  // yields the processor until it has the lock
    void unlock() { locked_.store(false, std::memory_order_release); }
    /// Whether any thread holds it. For assertions: false proves that the caller does not.
    [[nodiscard]] bool is_locked() const { return locked_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> locked_{false};
};

/// The addresses of the arrays of records and views, for code that reads very many of them and
/// saves a step. The arrays never move while their store lives. Thread-safety is that of
/// InstanceStore::record() and view_of().
struct RecordArrays {
    LimitRecord* records;
    ViewRecord* views;
    [[nodiscard]] LimitRecord& record(std::uint32_t id) const { return records[id]; }
    [[nodiscard]] ViewRecord* view_of(const LimitRecord& record) const {
        const std::uint32_t index = record.view.load(std::memory_order_acquire);
        return index == 0 ? nullptr : &views[index];
    }
};

class InstanceStore {
  public:
    /// Ids fit in 24 bits; 0 is not an id.
    static constexpr std::uint32_t kMaxRecords = (1U << 24) - 1;

    InstanceStore(std::uint32_t max_instances, std::uint32_t max_views);
    ~InstanceStore();
    InstanceStore(const InstanceStore&) = delete;
    InstanceStore& operator=(const InstanceStore&) = delete;

    [[nodiscard]] LimitRecord& record(std::uint32_t id) { return records_[id]; }
    [[nodiscard]] InstanceInfo& info(std::uint32_t id) { return infos_[id]; }
    [[nodiscard]] ViewRecord* view_of(const LimitRecord& record) {
        return arrays().view_of(record);
    }
    [[nodiscard]] RecordArrays arrays() { return {&records_[0], &views_[0]}; }
    [[nodiscard]] std::string_view name(std::uint32_t id) const;
    /// Whether the id is still the head of the live instance that had this generation().
    [[nodiscard]] bool live(std::uint32_t id, std::uint32_t generation) const {
        return id != 0 && id <= high_water() && (generation & 1) != 0 &&
               this->generation(id) == generation;
    }
    /// The low byte of the generation. It lies in the name table beside the 24 bits of the id.
    [[nodiscard]] std::uint32_t generation(std::uint32_t id) const {
        return infos_[id].generation.load(std::memory_order_acquire) & 0xff;
    }
    /// More bits of the generation, for references that are kept for longer than a request takes.
    [[nodiscard]] std::uint32_t long_generation(std::uint32_t id) const {
        return infos_[id].generation.load(std::memory_order_acquire) & kGenerationMask;
    }
    /// Keeps a live instance from being dropped as idle until unhold(), which must be called also
    /// when the instance has been dropped meanwhile. False if the instance does not live or too
    /// many hold it; then unhold() must not be called.
    [[nodiscard]] bool hold(std::uint32_t id, std::uint32_t generation);
    void unhold(std::uint32_t id) {
        infos_[id].generation.fetch_sub(kHold, std::memory_order_release);
    }
    [[nodiscard]] bool held(std::uint32_t id) const {
        return infos_[id].generation.load(std::memory_order_acquire) >= kHold;
    }
    /// Whether the id is the head of a live instance.
    [[nodiscard]] bool live_head(std::uint32_t id) const {
        return infos_[id].name.load(std::memory_order_relaxed) != nullptr;
    }
    /// The ids that have ever been used are 1 to high_water().
    [[nodiscard]] std::uint32_t high_water() const {
        return high_water_.load(std::memory_order_acquire);
    }

    /// A new record with an empty level and `now` as its anchor; 0 when all are in use.
    [[nodiscard]] std::uint32_t allocate_record(std::int64_t now);
    /// Resets what the record says of its limit, as in a new record. Its flags and links stay.
    void clear_record(std::uint32_t id, std::int64_t now);
    /// Makes the record the head of an instance with this name. Does not enter it in `names`.
    void make_instance(std::uint32_t id, std::string_view name);
    /// Frees all records and views of the instance as soon as no thread can see them. The caller
    /// has unlinked the instance before, so that it can no longer be found.
    void retire_instance(std::uint32_t id);
    /// Gives the record a view whose line has this slope; null when none is left.
    ViewRecord* attach_view(std::uint32_t id, double slope);
    void detach_view(std::uint32_t id);
    /// Free the object as soon as no thread can see it. The caller has unlinked it before.
    void retire_slots(std::unique_ptr<NameTable::Slots> slots);
    void retire_other(std::shared_ptr<const void> object);
    /// Makes all memory reusable that was retired before the epoch `oldest` (see Epochs).
    void reclaim(std::uint64_t oldest);

    mutable CreationLock lock;
    Epochs epochs;
    NameTable names;

    [[nodiscard]] std::uint32_t instances() const { return instances_; }
    [[nodiscard]] std::uint32_t records_in_use() const { return records_in_use_; }
    [[nodiscard]] std::uint32_t views_in_use() const { return views_in_use_; }
    [[nodiscard]] std::size_t name_bytes() const { return name_bytes_; }
    [[nodiscard]] std::size_t bytes() const;

  private:
    struct Retired {
        std::uint64_t epoch = 0;
        std::uint32_t instance = 0;
        std::uint32_t view = 0;
        NameBlock* name = nullptr;
        std::shared_ptr<const void> other;
    };
    static constexpr std::uint32_t kHold = 1U << 16;
    static constexpr std::uint32_t kGenerationMask = kHold - 1;

    void next_generation(std::uint32_t id);
    void push(Retired retired);
    void free_records(std::uint32_t head);

    LazyArray<LimitRecord> records_;
    LazyArray<InstanceInfo> infos_;
    LazyArray<ViewRecord> views_;
    std::vector<std::uint32_t> free_records_;
    std::vector<std::uint32_t> free_views_;
    std::deque<Retired> limbo_;
    std::atomic<std::uint32_t> high_water_{0};
    std::uint32_t view_high_water_ = 0;
    std::uint32_t instances_ = 0;
    std::uint32_t records_in_use_ = 0;
    std::uint32_t views_in_use_ = 0;
    std::size_t name_bytes_ = 0;
};

}  // namespace weir::limiter
