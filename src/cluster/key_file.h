#pragma once
// The gossip keys as they lie in a file (a mounted Secret): one or two lines, each a key of 32
// bytes in hex (64 digits) or base64; empty lines and lines that begin with # are skipped. Both
// keys are accepted from peers, the first one seals. The parser is pure; errors never show a key.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::cluster {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kMaxKeys = 2;
inline constexpr std::size_t kMaxKeyFileBytes = 4096;

using Key = std::array<std::byte, kKeyBytes>;

struct KeyFile {
    std::vector<Key> keys;
    /// Worth a line in the log: permissions wider than needed.
    std::vector<std::string> warnings;
};

/// 64 hexadecimal digits.
[[nodiscard]] std::string to_hex(const Key& key);
[[nodiscard]] Result<std::vector<Key>> parse_keys(std::string_view text);
/// Fails when others than owner and group may read or write the file: whoever has the key is
/// trusted by the whole fleet.
[[nodiscard]] Result<KeyFile> read_key_file(const std::string& path);

}  // namespace weir::cluster
