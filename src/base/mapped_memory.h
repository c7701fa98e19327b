#pragma once
// Containers whose memory the system has back as soon as they have shrunk. The C library's
// allocator keeps a freed block for later ones if a block that is still in use lies behind it, so a
// table that was large once would count as the process' memory for good. Thread-safety and
// ownership are those of std::vector.

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace weir {

/// An allocator whose large blocks are memory mappings of their own. Small ones are from the C
/// library. Throws std::bad_alloc where there is no memory.
template <class T>
class MappedAllocator {
  public:
    using value_type = T;
    /// Blocks of so many bytes and more are mappings.
    static constexpr std::size_t kLeastMapped = std::size_t{128} << 10;

    MappedAllocator() = default;
    template <class Other>
    MappedAllocator(const MappedAllocator<Other>& /*other*/) {}  // NOLINT: as the standard asks

    [[nodiscard]] T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        if (bytes < kLeastMapped) {
            return static_cast<T*>(::operator new(bytes));
        }
        void* memory =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::bad_alloc();
        }
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        if (bytes < kLeastMapped) {
            ::operator delete(memory);
            return;
        }
        // It can fail where the process has as many mappings as it may have. Then the pages at
        // least go back.
        if (::munmap(memory, bytes) != 0) {
            (void)::madvise(memory, bytes, MADV_DONTNEED);
        }
    }
    template <class Other>
    friend bool operator==(const MappedAllocator& /*one*/,
                           const MappedAllocator<Other>& /*other*/) {
        return true;
    }
};

template <class T>
using MappedVector = std::vector<T, MappedAllocator<T>>;

/// Moves the elements into a smaller block if they need less than a quarter of theirs. Called after
/// each removal it costs little, because a vector has to lose as many elements as are moved.
template <class T>
void give_back(MappedVector<T>& vector) {
    if (vector.capacity() * sizeof(T) < MappedAllocator<T>::kLeastMapped ||
        vector.size() > vector.capacity() / 4) {
        return;
    }
    MappedVector<T> smaller;
    smaller.reserve(2 * vector.size());
    smaller.assign(std::make_move_iterator(vector.begin()), std::make_move_iterator(vector.end()));
    vector.swap(smaller);
}

/// A vector of many large elements in chunks. To grow or shrink at the end moves no other element,
/// and gives whole chunks back. One chunk that is empty is kept for what comes next.
template <class T>
class ChunkedVector {
  public:
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] T& operator[](std::size_t index) {
        WEIR_ASSERT(index < size_);
        return chunks_[index / kChunk][index % kChunk];
    }
    [[nodiscard]] const T& operator[](std::size_t index) const {
        WEIR_ASSERT(index < size_);
        return chunks_[index / kChunk][index % kChunk];
    }
    T& emplace_back() {
        if (size_ == chunks_.size() * kChunk) {
            chunks_.emplace_back().reserve(kChunk);
        }
        return chunks_[size_++ / kChunk].emplace_back();
    }
    void pop_back() {
        WEIR_ASSERT(size_ > 0);
        --size_;
        chunks_[size_ / kChunk].pop_back();
        if (chunks_.size() * kChunk - size_ >= 2 * kChunk) {
            chunks_.pop_back();
        }
    }
    /// The bytes of all chunks.
    [[nodiscard]] std::size_t memory() const { return chunks_.size() * kChunk * sizeof(T); }

  private:
    static constexpr std::size_t kChunk = 1024;
    std::vector<MappedVector<T>> chunks_;
    std::size_t size_ = 0;
};

}  // namespace weir
