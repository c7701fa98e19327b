#pragma once
// Bounded reading and writing of wire bytes: big-endian integers, IEEE 754 doubles, LEB128
// variable-length integers, length-prefixed strings. Neither class allocates; both remember the
// first failure, after which reads give zeros and writes do nothing, so a codec checks ok() once.
// The viewed memory belongs to the caller and must outlive reader, writer and the views they give.

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
    float f32();
    /// LEB128, at most 10 bytes, no overflow past 64 bits.
    std::uint64_t varint();
    ByteSpan bytes(std::size_t count);
    /// A string with a varint length in front, at most `limit` bytes.
    std::string_view string(std::size_t limit);

    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] std::size_t remaining() const { return input_.size(); }
    /// For codecs that find a value out of range.
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
    void f32(float value);
    void varint(std::uint64_t value);
    void bytes(ByteSpan value);
    void string(std::string_view value);

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
