#include "base/characters.h"

#include <algorithm>

namespace weir {

std::string in_lower_case(std::string_view text) {
    std::string all(text);
    std::transform(all.begin(), all.end(), all.begin(), to_lower);
    return all;
}

std::string in_upper_case(std::string_view text) {
    std::string all(text);
    std::transform(all.begin(), all.end(), all.begin(), to_upper);
    return all;
}

std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
    const unsigned lead = byte(0);
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xc2 && lead < 0xe0) {
        return follows(1) ? 2 : 0;
    }
    if (lead >= 0xe0 && lead < 0xf0) {
        const bool fits = (lead != 0xe0 || byte(1) >= 0xa0) && (lead != 0xed || byte(1) < 0xa0);
        return fits && follows(1) && follows(2) ? 3 : 0;
    }
    if (lead >= 0xf0 && lead < 0xf5) {
        const bool fits = (lead != 0xf0 || byte(1) >= 0x90) && (lead != 0xf4 || byte(1) < 0x90);
        return fits && follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

}  // namespace weir
