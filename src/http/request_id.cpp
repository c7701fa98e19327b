#include "http/request_id.h"

#include <cstdint>
#include <cstring>

#include "base/characters.h"

namespace weir::http {
namespace {

constexpr std::size_t kMaxRequestId = 128;

constexpr CharacterSet kRequestIdCharacters("-_.:/+=@~");

bool is_valid_request_id(std::string_view id) {
    return !id.empty() && id.size() <= kMaxRequestId && kRequestIdCharacters.contains_all(id);
}

/// Eight hexadecimal digits, one for each four bits.
std::array<char, 8> hexadecimal(std::uint32_t bits) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<char, 8> digits;
    for (char& digit : digits) {
        digit = kDigits[bits & 15U];
        bits >>= 4U;
    }
    return digits;
}

/// Writes a random UUID (RFC 9562, 5.4).
void write_uuid(MadeRequestId& out, Random& random) {
    // Four groups of eight digits. Of the second and the third one the halves go to different
    // places, with a dash between them.
    const std::uint64_t high = random.next();
    const std::uint64_t low = random.next();
    const std::array digits{hexadecimal(static_cast<std::uint32_t>(high)),
                            hexadecimal(static_cast<std::uint32_t>(high >> 32U)),
                            hexadecimal(static_cast<std::uint32_t>(low)),
                            hexadecimal(static_cast<std::uint32_t>(low >> 32U))};
    constexpr std::string_view kVariants = "89ab";
    char* const to = out.data();
    std::memcpy(to, digits[0].data(), 8);
    std::memcpy(to + 9, digits[1].data(), 4);
    std::memcpy(to + 14, digits[1].data() + 4, 4);
    std::memcpy(to + 19, digits[2].data(), 4);
    std::memcpy(to + 24, digits[2].data() + 4, 4);
    std::memcpy(to + 28, digits[3].data(), 8);
    to[8] = to[13] = to[18] = to[23] = '-';
    to[14] = '4';
    to[19] = kVariants[low & 3U];
}

}  // namespace

std::string_view own_request_id(const Fields& fields) {
    const auto index = fields.find(FieldId::x_request_id);
    const bool fit = index != Fields::kNone && !fields.repeats(FieldId::x_request_id) &&
                     is_valid_request_id(fields.value(index)) && !fields[index].dropped;
    return fit ? fields.value(index) : std::string_view();
}

std::string_view make_request_id(MadeRequestId& room, Random& random) {
    write_uuid(room, random);
    return {room.data(), room.size()};
}

}  // namespace weir::http
