#include "proxy/buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace weir::proxy {

BufferPool::BufferPool(std::size_t large, std::size_t kept) : large_(large), kept_(kept) {}

BufferPool::~BufferPool() {
    WEIR_ASSERT(borrowed_ == 0);
    for (char* memory : free_small_) {
        delete[] memory;
    }
    for (char* memory : free_economic_) {
        delete[] memory;
    }
    for (char* memory : free_large_) {
        delete[] memory;
    }
}

void BufferPool::set_large(std::size_t large) {
    if (large == large_) {
        return;
    }
    for (char* memory : free_large_) {
        delete[] memory;
    }
    free_large_.clear();
    large_ = large;
}

std::size_t BufferPool::kept_free(std::size_t size) {
    const auto* free = list(size);
    return free == nullptr ? 0 : free->size();
}

std::vector<char*>* BufferPool::list(std::size_t size) {
    if (size == kSmallBuffer) {
        return &free_small_;
    }
    if (size == kEconomicBuffer) {
        return &free_economic_;
    }
    if (size == large_) {
        return &free_large_;
    }
    return nullptr;
}

std::size_t BufferPool::kept(std::size_t size) const {
    return std::min(kept_, std::max<std::size_t>(1, kKeptLargeBytes / size));
}

std::size_t BufferPool::relay_size() const {
    return borrowed_ + large_ <= bound_ ? large_ : std::min(large_, kEconomicBuffer);
}

char* BufferPool::take(std::size_t size) {
    borrowed_ += size;
    auto* free = list(size);
    if (free == nullptr || free->empty()) {
        return new char[size];
    }
    char* memory = free->back();
    free->pop_back();
    return memory;
}

void BufferPool::give(char* memory, std::size_t size) {
    borrowed_ -= size;
    auto* free = list(size);
    if (free == nullptr || free->size() >= kept(size)) {
        delete[] memory;
    } else {
        free->push_back(memory);
    }
}

void Buffer::consume(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) {
        begin_ = end_ = floor_;
    }
}

void Buffer::pin(std::size_t bytes) {
    begin_ += bytes;
    floor_ = begin_;
}

void Buffer::unpin() {
    floor_ = 0;
    consume(0);
}

void Buffer::reserve(std::size_t capacity) {
    WEIR_ASSERT(floor_ == 0);
    if (capacity_ >= capacity) {
        compact();
        return;
    }
    char* memory = pool_->take(capacity);
    const std::size_t bytes = size();
    if (bytes > 0) {
        std::memcpy(memory, memory_ + begin_, bytes);
    }
    release();
    memory_ = memory;
    capacity_ = capacity;
    end_ = bytes;
}

void Buffer::compact() {
    WEIR_ASSERT(floor_ == 0);
    if (begin_ == 0) {
        return;
    }
    std::memmove(memory_, memory_ + begin_, size());
    end_ = size();
    begin_ = 0;
}

void Buffer::shrink() {
    WEIR_ASSERT(floor_ == 0);
    if (capacity_ <= kSmallBuffer || size() > kSmallBuffer) {
        return;
    }
    if (empty()) {
        release();
        return;
    }
    char* memory = pool_->take(kSmallBuffer);
    const std::size_t bytes = size();
    std::memcpy(memory, memory_ + begin_, bytes);
    release();
    memory_ = memory;
    capacity_ = kSmallBuffer;
    end_ = bytes;
}

void Buffer::release() {
    if (memory_ != nullptr) {
        pool_->give(memory_, capacity_);
    }
    memory_ = nullptr;
    capacity_ = begin_ = end_ = floor_ = 0;
}

void Buffer::swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(capacity_, other.capacity_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(floor_, other.floor_);
}

}  // namespace weir::proxy
