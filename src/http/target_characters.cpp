#include "http/target_characters.h"

#include <array>
#include <cstdint>

#include "base/characters.h"

namespace weir::http {
namespace {

enum Class : std::uint8_t { kPath = 1, kQuery = 2, kBrowserPath = 4, kBrowserQuery = 8 };

constexpr std::array<std::uint8_t, 256> make_table() {
    std::array<std::uint8_t, 256> table{};
    const auto allow = [&table](std::string_view characters, unsigned classes) {
        for (const char c : characters) {
            auto& entry = table[static_cast<unsigned char>(c)];
            entry = static_cast<std::uint8_t>(entry | classes);
        }
    };
    for (unsigned c = 0; c < 128; ++c) {
        if (is_alphanumeric(static_cast<char>(c))) {
            table[c] = 15;
        }
    }
    allow("-._~!$&'()*+,;=:@/%", 15);
    allow("?", kQuery | kBrowserQuery);
    allow("[]{}|^`\\\"<>", kBrowserPath | kBrowserQuery);
    return table;
}

constexpr auto kTable = make_table();

unsigned classes_of(char c) { return kTable[static_cast<unsigned char>(c)]; }

bool all_of_class(std::string_view text, unsigned wanted) {
    unsigned common = wanted;
    std::size_t i = 0;
    for (; i + 4 <= text.size(); i += 4) {
        common &= classes_of(text[i]) & classes_of(text[i + 1]) & classes_of(text[i + 2]) &
                  classes_of(text[i + 3]);
    }
    for (; i < text.size(); ++i) {
        common &= classes_of(text[i]);
    }
    return common != 0;
}

}  // namespace

bool is_valid_path(std::string_view path, bool browser_characters) {
    return all_of_class(path, browser_characters ? kBrowserPath : kPath);
}

bool is_valid_query(std::string_view query, bool browser_characters) {
    return all_of_class(query, browser_characters ? kBrowserQuery : kQuery);
}

}  // namespace weir::http
