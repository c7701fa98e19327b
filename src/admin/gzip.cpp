#include "admin/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "base/characters.h"

namespace weir::admin {
namespace {

std::string normalised(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (!is_blank(c)) {
            result += to_lower(c);
        }
    }
    return result;
}

/// Whether the parameter says that the coding is not acceptable: "q=0", "q=0.", "q=0.000".
bool is_zero_weight(std::string_view parameter) {
    if (!parameter.starts_with("q=0")) {
        return false;
    }
    return parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

/// Whether the coding is acceptable; nothing when the list does not name it.
std::optional<bool> weight_of(std::string_view list, std::string_view coding) {
    while (!list.empty()) {
        const auto end = std::min(list.find(','), list.size());
        const auto item = list.substr(0, end);
        const auto semicolon = item.find(';');
        if (item.substr(0, semicolon) == coding) {
            return semicolon == std::string_view::npos ||
                   !is_zero_weight(item.substr(semicolon + 1));
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return std::nullopt;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
    const std::string list = normalised(accept_encoding);
    if (const auto named = weight_of(list, "gzip")) {
        return *named;
    }
    return weight_of(list, "*").value_or(false);
}

std::optional<std::string> gzip(std::string_view text) {
    constexpr int kGzipWindow = 15 + 16;  // zlib writes gzip's head and checksum if 16 is added
    constexpr int kMemoryLevel = 8;
    z_stream stream{};
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return std::nullopt;
    }
    std::string result(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    const int done = deflate(&stream, Z_FINISH);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    if (done != Z_STREAM_END) {
        return std::nullopt;
    }
    return result;
}

}  // namespace weir::admin
