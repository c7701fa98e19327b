#include "limiter/instance_store.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

#include "base/assert.h"
#include "base/relaxed.h"

namespace weir::limiter {

struct NameBlock {
    std::uint32_t size;

    [[nodiscard]] char* text() { return reinterpret_cast<char*>(this + 1); }
};

namespace {

constexpr std::size_t kFirstTable = 1024;

NameBlock* make_name(std::string_view text) {
    void* memory = std::malloc(sizeof(NameBlock) + text.size());
    WEIR_ASSERT(memory != nullptr);
    auto* block = ::new (memory) NameBlock{static_cast<std::uint32_t>(text.size())};
    std::memcpy(block->text(), text.data(), text.size());
    return block;
}

/// The memory that the C library uses for the block, with its own word in front.
std::size_t bytes_of(NameBlock* block) { return ::malloc_usable_size(block) + sizeof(std::size_t); }

/// The number of records. It is larger than max_instances, because instances that were dropped wait
/// in limbo while their successors exist already.
std::uint32_t pool_size(std::uint32_t max_instances) {
    constexpr std::uint32_t kSlack = 4096;
    const std::uint64_t size = std::uint64_t{max_instances} + max_instances / 4 + kSlack;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(size, InstanceStore::kMaxRecords - 1));
}

}  // namespace

bool CreationLock::try_lock(std::uint32_t tries) {
    for (std::uint32_t i = 0; i < tries; ++i) {
        if (!locked_.load(kRelaxed) && !locked_.exchange(true, std::memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

void CreationLock::lock() {
    constexpr std::uint32_t kTries = 4096;
    while (!try_lock(kTries)) {
        std::this_thread::yield();
    }
}

InstanceStore::InstanceStore(std::uint32_t max_instances, std::uint32_t max_views)
    : names(kFirstTable),
      records_(pool_size(max_instances) + 1),
      infos_(pool_size(max_instances) + 1),
      views_(max_views + 1) {}

InstanceStore::~InstanceStore() {
    reclaim(Epochs::kOutside);
    WEIR_ASSERT(limbo_.empty());
    for (std::uint32_t id = 1; id <= high_water(); ++id) {
        std::free(infos_[id].name.load(kRelaxed));
    }
}

std::string_view InstanceStore::name(std::uint32_t id) const {
    NameBlock* block = infos_[id].name.load(std::memory_order_acquire);
    return block == nullptr ? std::string_view() : std::string_view(block->text(), block->size);
}

std::uint32_t InstanceStore::allocate_record(std::int64_t now) {
    std::uint32_t id = high_water() + 1;
    if (!free_records_.empty()) {
        id = free_records_.back();
        free_records_.pop_back();
    } else if (id < records_.size()) {
        high_water_.store(id, std::memory_order_release);
    } else {
        return 0;
    }
    WEIR_ASSERT(id != 0 && id < records_.size() && !live_head(id));
    clear_record(id, now);
    LimitRecord& record = records_[id];
    record.lot.store(0, kRelaxed);
    record.control.store(0, kRelaxed);
    record.view.store(0, kRelaxed);
    record.owner.store(0, kRelaxed);
    record.link.store(kNoIdentity, kRelaxed);
    record.definition.store(0, kRelaxed);
    ++records_in_use_;
    return id;
}

void InstanceStore::clear_record(std::uint32_t id, std::int64_t now) {
    WEIR_ASSERT(id != 0 && id <= high_water());
    LimitRecord& record = records_[id];
    record.level.store(0, kRelaxed);
    record.anchor.store(now, kRelaxed);
    record.pending.store(0, kRelaxed);
    record.recent.store(pack(Recent{0, tick_of(now)}), kRelaxed);
    record.typical.store(-1, kRelaxed);
    record.heaviest.store(0, kRelaxed);
}

void InstanceStore::make_instance(std::uint32_t id, std::string_view name) {
    WEIR_ASSERT(!live_head(id));
    InstanceInfo& info = infos_[id];
    NameBlock* block = make_name(name);
    info.name.store(block, std::memory_order_release);
    next_generation(id);
    info.children = 0;
    WEIR_ASSERT((generation(id) & 1) == 1);
    name_bytes_ += bytes_of(block);
    ++instances_;
}

bool InstanceStore::hold(std::uint32_t id, std::uint32_t generation) {
    if (id == 0 || id > high_water() || (generation & 1) == 0) {
        return false;
    }
    std::atomic<std::uint32_t>& word = infos_[id].generation;
    std::uint32_t old = word.load(kRelaxed);
    do {
        constexpr std::uint32_t kMostHolds = ~std::uint32_t{0} - kHold;
        if ((old & 0xff) != generation || old > kMostHolds) {
            return false;
        }
    } while (!word.compare_exchange_weak(old, old + kHold, std::memory_order_acq_rel, kRelaxed));
    return true;
}

/// Adds 1 to the generation without a carry into the count of holds, which other threads may change
/// at the same time.
void InstanceStore::next_generation(std::uint32_t id) {
    std::atomic<std::uint32_t>& word = infos_[id].generation;
    std::uint32_t old = word.load(kRelaxed);
    std::uint32_t next = 0;
    do {
        next = (old & ~kGenerationMask) | ((old + 1) & kGenerationMask);
    } while (!word.compare_exchange_weak(old, next, std::memory_order_release, kRelaxed));
}

void InstanceStore::push(Retired retired) {
    WEIR_ASSERT(lock.is_locked());
    retired.epoch = epochs.retire();
    WEIR_ASSERT(limbo_.empty() || limbo_.back().epoch < retired.epoch);
    limbo_.push_back(std::move(retired));
}

void InstanceStore::retire_instance(std::uint32_t id) {
    InstanceInfo& info = infos_[id];
    Retired retired;
    retired.instance = id;
    retired.name = info.name.exchange(nullptr, kRelaxed);
    WEIR_ASSERT(retired.name != nullptr && instances_ > 0);
    next_generation(id);
    WEIR_ASSERT((generation(id) & 1) == 0);
    name_bytes_ -= bytes_of(retired.name);
    --instances_;
    for (std::uint32_t i = id; i != 0; i = records_[i].next()) {
        detach_view(i);
    }
    push(std::move(retired));
}

ViewRecord* InstanceStore::attach_view(std::uint32_t id, double slope) {
    std::uint32_t index = view_high_water_ + 1;
    if (!free_views_.empty()) {
        index = free_views_.back();
        free_views_.pop_back();
    } else if (index < views_.size()) {
        view_high_water_ = index;
    } else {
        return nullptr;
    }
    WEIR_ASSERT(index != 0 && index < views_.size());
    WEIR_ASSERT(records_[id].view.load(kRelaxed) == 0);
    ViewRecord* view = ::new (&views_[index]) ViewRecord();
    view->record.store(id, kRelaxed);
    view->slope.store(slope, kRelaxed);
    records_[id].view.store(index, std::memory_order_release);
    ++views_in_use_;
    return view;
}

void InstanceStore::detach_view(std::uint32_t id) {
    Retired retired;
    retired.view = records_[id].view.exchange(0, kRelaxed);
    if (retired.view != 0) {
        WEIR_ASSERT(views_in_use_ > 0);
        --views_in_use_;
        push(std::move(retired));
    }
}

void InstanceStore::retire_slots(std::unique_ptr<NameTable::Slots> slots) {
    retire_other(std::shared_ptr<const void>(std::move(slots)));
}

void InstanceStore::retire_other(std::shared_ptr<const void> object) {
    WEIR_ASSERT(object != nullptr);
    Retired retired;
    retired.other = std::move(object);
    push(std::move(retired));
}

void InstanceStore::free_records(std::uint32_t head) {
    for (std::uint32_t id = head; id != 0;) {
        WEIR_ASSERT(records_in_use_ > 0 && !live_head(id));
        const std::uint32_t next = records_[id].next();
        records_[id].definition.store(0, kRelaxed);
        free_records_.push_back(id);
        --records_in_use_;
        id = next;
    }
}

void InstanceStore::reclaim(std::uint64_t oldest) {
    while (!limbo_.empty() && limbo_.front().epoch < oldest) {
        const Retired& retired = limbo_.front();
        if (retired.instance != 0) {
            std::free(retired.name);
            free_records(retired.instance);
        }
        if (retired.view != 0) {
            free_views_.push_back(retired.view);
        }
        limbo_.pop_front();
    }
}

std::size_t InstanceStore::bytes() const {
    return std::size_t{high_water()} * (sizeof(LimitRecord) + sizeof(InstanceInfo)) +
           names.bytes() + std::size_t{view_high_water_} * sizeof(ViewRecord) +
           free_records_.capacity() * sizeof(std::uint32_t);
}

}  // namespace weir::limiter
