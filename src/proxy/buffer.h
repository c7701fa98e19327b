#pragma once
// Buffers for bytes that pass through a worker. A Buffer is a contiguous window of filled bytes, in
// memory that it borrows from the worker's pool only while it holds bytes. There are three sizes:
// small (for a head), economic (for relaying while memory is scarce) and large (for relaying); for
// larger heads the pool allocates what is asked for.
//
// Thread-safety: none; each worker has a pool. Buffers must not outlive their pool.

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace weir::proxy {

inline constexpr std::size_t kSmallBuffer = 2 * 1024;
/// When memory is short, transfers go on with buffers of this size: they are slower and need little
/// more memory.
inline constexpr std::size_t kEconomicBuffer = 2 * kSmallBuffer;

/// A large buffer has so much room beside limits.buffer: a head of usual size and a body whose size
/// is a multiple of that take no read and no write more than the body alone.
inline constexpr std::size_t kHeadRoom = 1024;

class BufferPool {
  public:
    /// The largest number of bytes of free large buffers that are kept, however many buffers `kept`
    /// allows.
    static constexpr std::size_t kKeptLargeBytes = 2 * 1024 * 1024;

    /// `large` is the size of a relay buffer; at most `kept` free ones of each size are kept.
    BufferPool(std::size_t large, std::size_t kept);
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;
    ~BufferPool();

    [[nodiscard]] std::size_t large() const { return large_; }
    /// Changes the size of large buffers from now on. Buffers of the old size may still be given
    /// back.
    void set_large(std::size_t large);
    /// While more bytes than this are borrowed, new relay buffers are economic ones.
    void set_bound(std::size_t bytes) { bound_ = bytes; }
    /// The size of the next relay buffer: large(), or kEconomicBuffer at the bound.
    [[nodiscard]] std::size_t relay_size() const;
    [[nodiscard]] char* take(std::size_t size);
    void give(char* memory, std::size_t size);
    /// The number of free buffers of that size that are kept.
    [[nodiscard]] std::size_t kept_free(std::size_t size);
    /// The bytes that are borrowed now.
    [[nodiscard]] std::size_t borrowed() const { return borrowed_; }

  private:
    [[nodiscard]] std::vector<char*>* list(std::size_t size);
    [[nodiscard]] std::size_t kept(std::size_t size) const;

    std::size_t large_;
    std::size_t kept_;
    std::size_t bound_ = std::numeric_limits<std::size_t>::max();
    std::size_t borrowed_ = 0;
    std::vector<char*> free_small_;
    std::vector<char*> free_economic_;
    std::vector<char*> free_large_;
};

class Buffer {
  public:
    explicit Buffer(BufferPool& pool) : pool_(&pool) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { release(); }

    [[nodiscard]] bool empty() const { return begin_ == end_; }
    [[nodiscard]] std::size_t size() const { return end_ - begin_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] char* data() { return memory_ + begin_; }
    [[nodiscard]] std::string_view view() const { return {memory_ + begin_, size()}; }

    /// The free memory behind the filled bytes. Empty when the buffer is full or has no memory.
    [[nodiscard]] std::span<char> room() { return {memory_ + end_, capacity_ - end_}; }
    /// Says that this many bytes were written into room().
    void filled(std::size_t bytes) { end_ += bytes; }
    /// Removes bytes from the front.
    void consume(std::size_t bytes);
    /// Removes bytes from the front, but keeps them in memory, where views of them stay valid until
    /// unpin().
    void pin(std::size_t bytes);
    void unpin();
    /// Removes bytes from the end.
    void drop_last(std::size_t bytes) { end_ -= bytes; }

    /// Makes the memory at least this large and moves the filled bytes to its front.
    void reserve(std::size_t capacity);
    /// Moves the filled bytes to the front of the memory.
    void compact();
    /// Changes to a small buffer if the filled bytes fit into one.
    void shrink();
    /// Gives the memory back and forgets the filled bytes.
    void release();
    void swap(Buffer& other) noexcept;

  private:
    BufferPool* pool_;
    char* memory_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t floor_ = 0;  ///< offset behind which bytes are pinned
};

}  // namespace weir::proxy
