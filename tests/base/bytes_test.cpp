#include "base/bytes.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <limits>
#include <vector>

#include "base/hash.h"

namespace weir {
namespace {

TEST_CASE("what a writer wrote, a reader reads") {
    CHECK(rc::check([](std::uint8_t a, std::uint16_t b, std::uint32_t c, std::uint64_t d, double e,
                       const std::string& text) {
        std::vector<std::byte> buffer(64 + text.size());
        ByteWriter writer(buffer);
        writer.u8(a);
        writer.u16(b);
        writer.u32(c);
        writer.u64(d);
        writer.f64(e);
        writer.varint(d);
        writer.string(text);
        RC_ASSERT(writer.ok());
        ByteReader reader(writer.written());
        RC_ASSERT(reader.u8() == a);
        RC_ASSERT(reader.u16() == b);
        RC_ASSERT(reader.u32() == c);
        RC_ASSERT(reader.u64() == d);
        RC_ASSERT(reader.f64() == e);
        RC_ASSERT(reader.varint() == d);
        RC_ASSERT(reader.string(text.size()) == text);
        RC_ASSERT(reader.ok());
        RC_ASSERT(reader.remaining() == 0u);
    }));
}

TEST_CASE("integers are big-endian") {
    std::array<std::byte, 4> buffer{};
    ByteWriter writer(buffer);
    writer.u32(0x01020304);
    CHECK(buffer[0] == std::byte{1});
    CHECK(buffer[3] == std::byte{4});
}

TEST_CASE("a full writer fails and stays as it was") {
    std::array<std::byte, 3> buffer{};
    ByteWriter writer(buffer);
    writer.u16(7);
    writer.u16(8);
    CHECK_FALSE(writer.ok());
    CHECK(writer.size() == 2);
    writer.u8(1);
    CHECK(writer.size() == 2);
}

TEST_CASE("an empty reader fails and gives zeros") {
    ByteReader reader({});
    CHECK(reader.u64() == 0);
    CHECK_FALSE(reader.ok());
}

TEST_CASE("a variable-length integer over 64 bits is refused") {
    std::array<std::byte, 11> buffer{};
    buffer.fill(std::byte{0xff});
    ByteReader reader(buffer);
    reader.varint();
    CHECK_FALSE(reader.ok());
    buffer[9] = std::byte{1};
    ByteReader largest(buffer);
    CHECK(largest.varint() == std::numeric_limits<std::uint64_t>::max());
    CHECK(largest.ok());
    buffer[9] = std::byte{2};
    ByteReader over(buffer);
    over.varint();
    CHECK_FALSE(over.ok());
}

TEST_CASE("a string that claims more than is there, or more than the limit, is refused") {
    std::array<std::byte, 4> buffer{std::byte{9}, std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
    ByteReader upwards(buffer);
    CHECK(upwards.string(100).empty());
    CHECK_FALSE(upwards.ok());
    buffer[0] = std::byte{3};
    ByteReader over(buffer);
    CHECK(over.string(2).empty());
    CHECK_FALSE(over.ok());
}

TEST_CASE("the keyed hash is SipHash-2-4") {
    // The vector of the paper's appendix A: key 00..0f, input 00..0e.
    HashKey key;
    std::string input;
    for (std::size_t i = 0; i < 16; ++i) {
        key.bytes[i] = static_cast<std::byte>(i);
        if (i < 15) {
            input.push_back(static_cast<char>(i));
        }
    }
    CHECK(keyed_hash(input, key) == 0xa129ca6149be45e5ULL);
}

}  // namespace
}  // namespace weir
