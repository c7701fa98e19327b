#include "base/bytes.h"

#include <algorithm>
#include <array>
#include <bit>

namespace weir {

void ByteReader::fail() {
    ok_ = false;
    input_ = {};
}

std::uint64_t ByteReader::big_endian(std::size_t count) {
    std::uint64_t value = 0;
    for (std::byte byte : bytes(count)) {
        value = (value << 8) | std::to_integer<std::uint64_t>(byte);
    }
    return value;
}

std::uint8_t ByteReader::u8() { return static_cast<std::uint8_t>(big_endian(1)); }
std::uint16_t ByteReader::u16() { return static_cast<std::uint16_t>(big_endian(2)); }
std::uint32_t ByteReader::u32() { return static_cast<std::uint32_t>(big_endian(4)); }
std::uint64_t ByteReader::u64() { return big_endian(8); }
double ByteReader::f64() { return std::bit_cast<double>(u64()); }

std::uint64_t ByteReader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint64_t byte = u8();
        if (!ok_) {
            return 0;
        }
        if (shift == 63 && byte > 1) {
            break;  // more than 64 bits
        }
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    fail();
    return 0;
}

ByteSpan ByteReader::bytes(std::size_t count) {
    if (count > input_.size()) {
        fail();
        return {};
    }
    const ByteSpan result = input_.first(count);
    input_ = input_.subspan(count);
    return result;
}

std::string_view ByteReader::string(std::size_t limit) {
    const std::uint64_t length = varint();
    if (length > limit || length > input_.size()) {
        fail();
        return {};
    }
    return as_text(bytes(static_cast<std::size_t>(length)));
}

ByteReader ByteReader::record() {
    const std::uint64_t length = varint();
    if (!ok_ || length > input_.size()) {
        fail();
        return *this;
    }
    return ByteReader(bytes(static_cast<std::size_t>(length)));
}

void ByteWriter::big_endian(std::uint64_t value, std::size_t count) {
    if (!ok_ || remaining() < count) {
        ok_ = false;
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        output_[size_ + i] = static_cast<std::byte>(value >> (8 * (count - 1 - i)));
    }
    size_ += count;
}

void ByteWriter::u8(std::uint8_t value) { big_endian(value, 1); }
void ByteWriter::u16(std::uint16_t value) { big_endian(value, 2); }
void ByteWriter::u32(std::uint32_t value) { big_endian(value, 4); }
void ByteWriter::u64(std::uint64_t value) { big_endian(value, 8); }
void ByteWriter::f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }

void ByteWriter::varint(std::uint64_t value) {
    while (value >= 0x80) {
        u8(static_cast<std::uint8_t>(value | 0x80));
        value >>= 7;
    }
    u8(static_cast<std::uint8_t>(value));
}

void ByteWriter::bytes(ByteSpan value) {
    if (!ok_ || remaining() < value.size()) {
        ok_ = false;
        return;
    }
    std::copy(value.begin(), value.end(), output_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += value.size();
}

void ByteWriter::string(std::string_view value) {
    varint(value.size());
    bytes(as_bytes(value));
}

std::size_t ByteWriter::begin_length() {
    u8(0);  // one byte is enough for most
    return size_;
}

void ByteWriter::end_length(std::size_t begin) {
    if (!ok_) {
        return;
    }
    std::array<std::byte, 10> buffer;
    ByteWriter length(buffer);
    length.varint(size_ - begin);
    const std::size_t more = length.size() - 1;
    if (remaining() < more) {
        ok_ = false;
        return;
    }
    const auto from = output_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = output_.begin() + static_cast<std::ptrdiff_t>(size_);
    std::copy_backward(from, end, end + static_cast<std::ptrdiff_t>(more));
    std::copy(length.written().begin(), length.written().end(), from - 1);
    size_ += more;
}

}  // namespace weir
