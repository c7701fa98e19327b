#pragma once
// Reads the gossip keys from their file (a mounted Secret, for instance). The file has one or two
// lines, each a key of 32 bytes in hex (64 digits) or base64; empty lines and lines that begin with
// # are skipped. Both keys are accepted from peers, and the first one seals. The parser is pure.
// Errors never show a key.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gossip/seal.h"

namespace weir::cluster {

inline constexpr std::size_t kMaxKeyFileBytes = 4096;

using gossip::Key;

struct KeyFile {
    std::vector<Key> keys;
    /// Warnings about things that should be corrected, one in each line: permissions that are wider
    /// than needed.
    std::vector<std::string> warnings;
};

/// The key as 64 hexadecimal digits.
[[nodiscard]] std::string to_hex(const Key& key);
[[nodiscard]] Result<std::vector<Key>> parse_keys(std::string_view text);
/// Reads the file. Fails when others than owner and group may read or write it, because the whole
/// fleet trusts everybody who has the key.
[[nodiscard]] Result<KeyFile> read_key_file(const std::string& path);

}  // namespace weir::cluster
