#pragma once
// Bounded reading and writing of wire bytes: big-endian integers, IEEE 754 doubles, LEB128
// variable-length integers, length-prefixed strings. Neither class allocates. Both remember the
// first failure: after it every read returns zeros and every write does nothing, so a codec needs
// to ask ok() only once, at the end.
// The memory belongs to the caller and must outlive the reader, the writer and all views that they
// return. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir {

using ByteSpan = std::span<const std::byte>;

[[nodiscard]] inline ByteSpan as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view as_text(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteReader {
  public:
    explicit ByteReader(ByteSpan input) : input_(input) {}

    std::uint8_t u8();
    std::uint16_t u16();
    std::uint32_t u32();
    std::uint64_t u64();
    double f64();
    /// LEB128 of at most 10 bytes. A value of more than 64 bits is a failure.
    std::uint64_t varint();
    /// The next `count` bytes; a failure when fewer remain.
    ByteSpan bytes(std::size_t count);
    /// A string that follows its length, which is a varint. More than `limit` bytes are a failure.
    std::string_view string(std::size_t limit);
    /// A reader of the next record (records.h). It has failed if this one has or if the record is
    /// longer than what remains, which makes this one fail, too.
    ByteReader record();

    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] std::size_t remaining() const { return input_.size(); }
    /// Makes the reader fail. For a codec that finds a value out of range.
    void fail();

  private:
    std::uint64_t big_endian(std::size_t count);

    ByteSpan input_;
    bool ok_ = true;
};

class ByteWriter {
  public:
    explicit ByteWriter(std::span<std::byte> output) : output_(output) {}

    void u8(std::uint8_t value);
    void u16(std::uint16_t value);
    void u32(std::uint32_t value);
    void u64(std::uint64_t value);
    void f64(double value);
    void varint(std::uint64_t value);
    void bytes(ByteSpan value);
    void string(std::string_view value);
    /// Leaves room for the varint length of what is written from now on. The result is to be given
    /// to end_length(), which fills it in. Such parts may lie within each other.
    [[nodiscard]] std::size_t begin_length();
    void end_length(std::size_t begin);

    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t remaining() const { return output_.size() - size_; }
    [[nodiscard]] ByteSpan written() const { return ByteSpan(output_).first(size_); }

  private:
    void big_endian(std::uint64_t value, std::size_t count);

    std::span<std::byte> output_;
    std::size_t size_ = 0;
    bool ok_ = true;
};

}  // namespace weir
