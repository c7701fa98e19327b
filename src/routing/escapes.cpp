#include "routing/escapes.h"

#include <array>

#include "base/hash.h"

namespace weir::routing {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

int digit_of(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

constexpr std::array<bool, 256> make_safe() {
    std::array<bool, 256> safe{};
    for (const char c :
         std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "-._~!$&'()*+,;=:@")) {
        safe[static_cast<unsigned char>(c)] = true;
    }
    return safe;
}
constexpr auto kSafe = make_safe();

bool is_safe_character(char c) { return kSafe[static_cast<unsigned char>(c)]; }

void append_escape(std::string& out, unsigned char byte) {
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
}

void append_hash(std::string& out, std::string_view value) {
    auto hash =
        keyed_hash(value, HashKey{});  // without a secret: every sidecar must get the same name
    for (int i = 0; i < 16; ++i, hash <<= 4U) {
        out += kDigits[hash >> 60U];
    }
}

}  // namespace

std::optional<char> decode_escape(std::string_view text) {
    if (text.size() < 3 || text[0] != '%') {
        return std::nullopt;
    }
    const int high = digit_of(text[1]);
    const int low = digit_of(text[2]);
    if (high < 0 || low < 0) {
        return std::nullopt;
    }
    return static_cast<char>(high * 16 + low);
}

bool append_decoded(std::string& out, std::string_view text) {
    bool good = true;
    while (!text.empty()) {
        const auto decoded = decode_escape(text);
        out += decoded.value_or(text[0]);
        good = good && (decoded || text[0] != '%');
        text.remove_prefix(decoded ? 3 : 1);
    }
    return good;
}

bool equals_decoded(std::string_view encoded, std::string_view plain) {
    for (const char c : plain) {
        if (encoded.empty()) {
            return false;
        }
        const auto decoded = decode_escape(encoded);
        if (decoded.value_or(encoded[0]) != c) {
            return false;
        }
        encoded.remove_prefix(decoded ? 3 : 1);
    }
    return encoded.empty();
}

bool is_safe(std::string_view value) {
    bool safe = value.size() <= kMaxCapture;
    for (const char c : value.substr(0, kMaxCapture)) {
        safe &= is_safe_character(c);
    }
    return safe;
}

void append_safe(std::string& out, std::string_view value) {
    const std::size_t begin = out.size();
    for (const char c : value) {
        if (out.size() - begin > kMaxCapture) {
            break;
        }
        is_safe_character(c) ? out.push_back(c) : append_escape(out, static_cast<unsigned char>(c));
    }
    if (out.size() - begin <= kMaxCapture) {
        return;
    }
    out.resize(begin + kMaxCapture - 17);
    out += '~';
    append_hash(out, value);
}

}  // namespace weir::routing
