#pragma once
// Bytes on their way: a contiguous window of filled bytes in memory that is borrowed from the
// worker's pool only while there is something in it. Sizes: small (a head), economic (a relay
// buffer while memory is scarce), large (a relay buffer) and, for heads beyond that, whatever was
// asked for.
//
// Thread-safety: none; one pool per worker. Buffers must not outlive their pool.

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace weir::proxy {

inline constexpr std::size_t kSmallBuffer = 2 * 1024;
/// A transfer goes on with these when memory is short: slower, but it takes hardly any more.
inline constexpr std::size_t kEconomicBuffer = 2 * kSmallBuffer;

class BufferPool {
  public:
    /// Bytes of free large buffers that are kept, if they are fewer than `kept`.
    static constexpr std::size_t kKeptLargeBytes = 2 * 1024 * 1024;

    /// `large` is the size of a relay buffer; at most `kept` free ones of each size are kept.
    BufferPool(std::size_t large, std::size_t kept);
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;
    ~BufferPool();

    [[nodiscard]] std::size_t large() const { return large_; }
    /// From now on; buffers of the old size may still come back.
    void set_large(std::size_t large);
    /// What may be borrowed in bytes; beyond it new relay buffers are economic ones.
    void set_bound(std::size_t bytes) { bound_ = bytes; }
    /// The size of a relay buffer that is taken now: large(), or less at the bound.
    [[nodiscard]] std::size_t relay_size() const;
    [[nodiscard]] char* take(std::size_t size);
    void give(char* memory, std::size_t size);
    /// Free ones of that size that are kept.
    [[nodiscard]] std::size_t kept_free(std::size_t size);
    /// Borrowed now, in bytes.
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

    /// Free memory behind the filled bytes; empty when full or when there is no memory.
    [[nodiscard]] std::span<char> room() { return {memory_ + end_, capacity_ - end_}; }
    void filled(std::size_t bytes) { end_ += bytes; }
    /// Takes bytes off the front.
    void consume(std::size_t bytes);
    /// Takes bytes off the front that stay where they are, readable through views, until unpin(),
    /// even if nothing is behind them.
    void pin(std::size_t bytes);
    void unpin();
    /// Takes bytes off the end.
    void drop_last(std::size_t bytes) { end_ -= bytes; }

    /// Makes the memory at least this big and moves what is in it to its front.
    void reserve(std::size_t capacity);
    /// Moves what is in it to the front.
    void compact();
    /// Moves to a small buffer if what is in it fits.
    void shrink();
    /// Gives the memory back, with what is in it.
    void release();
    void swap(Buffer& other) noexcept;

  private:
    BufferPool* pool_;
    char* memory_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t floor_ = 0;  ///< of pinned bytes
};

}  // namespace weir::proxy
