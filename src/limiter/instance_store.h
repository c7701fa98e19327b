#pragma once
// The memory of instances: records that every request touches, facts that few need, names and
// views, all from bounded pools. What is dropped waits in limbo until no thread can see it. Nothing
// here knows definitions.
//
// Thread-safety: record(), info(), name(), view_of() and names.find() may be called on any thread
// inside an Epochs section; hold(), unhold() and held() on any thread. Everything that changes the
// store needs the creation lock (`lock`), which workers only try to get.
// Ownership: it owns all of that memory for as long as it lives; addresses never change.
// Invariants: an id is the head of a live instance, a further record of one, in limbo or free. The
// generation of an id is odd while it is the head of a live instance.

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

/// A name in one allocation, made when its instance is.
struct NameBlock;

/// The cold part of an instance.
struct InstanceInfo {
    std::atomic<NameBlock*> name;  // null = not a live head
    /// Low half: counts births and deaths, odd = live. High half: how many hold it.
    std::atomic<std::uint32_t> generation;
    std::uint32_t children;
    std::uint32_t previous;  // in the ring of its definition's instances
    std::uint32_t next;
};

class CreationLock {
  public:
    [[nodiscard]] bool try_lock(std::uint32_t tries);
    void lock();  // yields until it has it
    void unlock() { locked_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> locked_{false};
};

/// Where the records and views lie, for who reads very many of them: one step instead of two. They
/// never move while their store lives. Threads: as InstanceStore::record() and view_of().
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
    /// Ids fit in 24 bits; 0 is none.
    static constexpr std::uint32_t kMaxRecords = (1U << 24) - 1;

    InstanceStore(std::uint32_t max_instances, std::uint32_t max_views);
    ~InstanceStore();
    InstanceStore(const InstanceStore&) = delete;
    InstanceStore& operator=(const InstanceStore&) = delete;

    [[nodiscard]] LimitRecord& record(std::uint32_t id) { return records_[id]; }
    [[nodiscard]] const LimitRecord& record(std::uint32_t id) const { return records_[id]; }
    [[nodiscard]] InstanceInfo& info(std::uint32_t id) { return infos_[id]; }
    [[nodiscard]] const InstanceInfo& info(std::uint32_t id) const { return infos_[id]; }
    [[nodiscard]] ViewRecord* view_of(const LimitRecord& record) {
        return arrays().view_of(record);
    }
    [[nodiscard]] RecordArrays arrays() { return {&records_[0], &views_[0]}; }
    [[nodiscard]] std::string_view name(std::uint32_t id) const;
    [[nodiscard]] bool live(std::uint32_t id, std::uint32_t generation) const {
        return id != 0 && id <= high_water() && (generation & 1) != 0 &&
               this->generation(id) == generation;
    }
    /// The low byte: it travels in the name table beside the 24 bits of the id.
    [[nodiscard]] std::uint32_t generation(std::uint32_t id) const {
        return infos_[id].generation.load(std::memory_order_acquire) & 0xff;
    }
    /// More of it, for whoever keeps it for longer than a request takes.
    [[nodiscard]] std::uint32_t long_generation(std::uint32_t id) const {
        return infos_[id].generation.load(std::memory_order_acquire) & kGenerationMask;
    }
    /// Keeps a live instance from being dropped for idleness until unhold(), which is also right
    /// after its death. False: it does not live, or too many hold it. Any thread.
    [[nodiscard]] bool hold(std::uint32_t id, std::uint32_t generation);
    void unhold(std::uint32_t id) {
        infos_[id].generation.fetch_sub(kHold, std::memory_order_release);
    }
    [[nodiscard]] bool held(std::uint32_t id) const {
        return infos_[id].generation.load(std::memory_order_acquire) >= kHold;
    }
    /// Is it the head of a live instance?
    [[nodiscard]] bool live_head(std::uint32_t id) const {
        return infos_[id].name.load(std::memory_order_relaxed) != nullptr;
    }
    /// Records ever used: ids 1 .. high_water().
    [[nodiscard]] std::uint32_t high_water() const {
        return high_water_.load(std::memory_order_acquire);
    }

    /// A record fresh at `now`, or 0 when all are used.
    [[nodiscard]] std::uint32_t allocate_record(std::int64_t now);
    /// The limit's part of a record as allocate_record() makes it; its flags and links stay.
    void clear_record(std::uint32_t id, std::int64_t now);
    /// Makes the record the head of an instance. Publishes nothing.
    void make_instance(std::uint32_t id, std::string_view name);
    /// Unlinks nothing by itself: the caller has made it unreachable. Frees all its records and
    /// views when no thread can see them.
    void retire_instance(std::uint32_t id);
    /// A view for the record, or null when there are no more.
    ViewRecord* attach_view(std::uint32_t id);
    void detach_view(std::uint32_t id);
    void retire_slots(std::unique_ptr<NameTable::Slots> slots);
    void retire_other(std::shared_ptr<const void> object);
    /// Makes everything reusable that was retired before `oldest` (see Epochs).
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
