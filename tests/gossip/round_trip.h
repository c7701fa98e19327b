#pragma once
// For tests of codecs: random values, a round trip through bytes that also reads every shorter
// input, and the bytes of a value as text.

#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/wire.h"

namespace weir::gossip::test {

inline Endpoint arbitrary_endpoint() {
    Endpoint endpoint = Endpoint::v4(*rc::gen::arbitrary<std::uint32_t>(),
                                     *rc::gen::inRange<std::uint16_t>(1, 65535));
    if (*rc::gen::arbitrary<bool>()) {
        for (std::uint8_t& byte : endpoint.address) {
            byte = *rc::gen::arbitrary<std::uint8_t>();
        }
        endpoint.address[0] = 0x20;  // so that it is never an IPv4 address in IPv6 form
    }
    return endpoint;
}

inline MemberId arbitrary_id() {
    return {arbitrary_endpoint(), *rc::gen::inRange<Incarnation>(1, ~Incarnation{0})};
}

inline std::vector<std::byte> arbitrary_bytes(std::size_t most) {
    const auto numbers = *rc::gen::container<std::vector<std::uint8_t>>(
        *rc::gen::inRange<std::size_t>(0, most), rc::gen::arbitrary<std::uint8_t>());
    std::vector<std::byte> bytes;
    for (std::uint8_t number : numbers) {
        bytes.push_back(std::byte{number});
    }
    return bytes;
}

/// Writes a value, reads it, and checks that reading any shorter input fails or gives another
/// value, and does no harm.
template <class T, class Decode>
void round_trip(const T& value, Decode decode) {
    std::vector<std::byte> buffer(2 * kMaximumDatagram);
    ByteWriter writer(buffer);
    encode(writer, value);
    RC_ASSERT(writer.ok());
    RC_ASSERT(writer.size() <= kMaximumPayload);
    ByteReader reader(writer.written());
    RC_ASSERT(decode(reader) == value);
    RC_ASSERT(reader.ok());
    RC_ASSERT(reader.remaining() == 0u);
    const std::vector<std::byte> cut(writer.written().begin(), writer.written().end());
    for (std::size_t length = 0; length < cut.size(); ++length) {
        // The input is a copy of exactly this size, so that a sanitizer notices reads beyond it.
        const std::vector<std::byte> shorter(cut.begin(),
                                             cut.begin() + static_cast<std::ptrdiff_t>(length));
        ByteReader short_reader(shorter);
        (void)decode(short_reader);
    }
}
template <class T>
std::string hex_of(const T& value) {
    std::array<std::byte, kMaximumDatagram> buffer{};
    ByteWriter writer(buffer);
    encode(writer, value);
    std::string text;
    for (const std::byte byte : writer.written()) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        text += kDigits[std::to_integer<std::size_t>(byte) >> 4];
        text += kDigits[std::to_integer<std::size_t>(byte) & 15];
    }
    return text;
}

}  // namespace weir::gossip::test
