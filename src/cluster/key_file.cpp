#include "cluster/key_file.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/characters.h"
#include "net/file_descriptor.h"

namespace weir::cluster {
namespace {

unsigned char* raw(Key& key) { return reinterpret_cast<unsigned char*>(key.data()); }

std::optional<Key> from_hex(std::string_view text) {
    Key key{};
    std::size_t size = 0;
    const char* end = nullptr;
    const int failed =
        sodium_hex2bin(raw(key), key.size(), text.data(), text.size(), nullptr, &size, &end);
    if (failed != 0 || size != key.size() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return key;
}

std::optional<Key> from_base64(std::string_view text) {
    for (const int variant :
         {sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_URLSAFE,
          sodium_base64_VARIANT_ORIGINAL_NO_PADDING, sodium_base64_VARIANT_URLSAFE_NO_PADDING}) {
        Key key{};
        std::size_t size = 0;
        const char* end = nullptr;
        const int failed = sodium_base642bin(raw(key), key.size(), text.data(), text.size(),
                                             nullptr, &size, &end, variant);
        if (failed == 0 && size == key.size() && end == text.data() + text.size()) {
            return key;
        }
    }
    return std::nullopt;
}

/// Whether all bytes of the key are equal, as in a Kubernetes Secret that was never filled in.
bool is_trivial(const Key& key) {
    return std::all_of(key.begin(), key.end(), [&](std::byte b) { return b == key.front(); });
}

Result<std::string> read_all(int descriptor, const std::string& path) {
    std::string text(kMaxKeyFileBytes + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const auto count = ::read(descriptor, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return error(ErrorCode::io, "cannot read the key file " + path + ": " +
                                            std::generic_category().message(errno));
        }
        if (count == 0) {
            break;
        }
        size += static_cast<std::size_t>(count);
    }
    if (size > kMaxKeyFileBytes) {
        return error(ErrorCode::too_large, path + ": a key file has at most 4096 bytes");
    }
    text.resize(size);
    return text;
}

}  // namespace

std::string to_hex(const Key& key) {
    std::string text(2 * key.size() + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(key.data()),
                   key.size());
    text.pop_back();
    return text;
}

Result<std::vector<Key>> parse_keys(std::string_view text) {
    std::vector<Key> keys;
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        const auto end = text.find('\n');
        const auto line = trim_line(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        auto key = from_hex(line);
        if (!key) {
            key = from_base64(line);
        }
        const std::string place = "line " + std::to_string(number) + ": ";
        if (!key) {
            return error(ErrorCode::invalid_argument,
                         place +
                             "not a key of 32 bytes in hex (64 digits) or base64; "
                             "`weir key FILE` makes one");
        }
        if (is_trivial(*key)) {
            return error(ErrorCode::invalid_argument, place +
                                                          "a key of 32 equal bytes is no secret; "
                                                          "`weir key FILE` makes one");
        }
        if (keys.size() == gossip::kMaximumKeys) {
            return error(ErrorCode::invalid_argument, place + "at most two keys are used");
        }
        keys.push_back(*key);
    }
    if (keys.empty()) {
        return error(ErrorCode::invalid_argument, "no key in it");
    }
    return keys;
}

Result<KeyFile> read_key_file(const std::string& path) {
    const net::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
        return error(ErrorCode::io, "cannot open the key file " + path + ": " +
                                        std::generic_category().message(errno));
    }
    if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0) {
        return error(ErrorCode::invalid_argument,
                     path +
                         ": everybody on this machine may read or write the key; "
                         "`chmod o-rw` it (Kubernetes: defaultMode 0440)");
    }
    auto text = read_all(file.get(), path);
    if (!text) {
        return text.error();
    }
    auto keys = parse_keys(*text);
    sodium_memzero(text->data(), text->size());
    if (!keys) {
        return error(keys.error().code, path + ": " + keys.error().message);
    }
    KeyFile result{.keys = std::move(*keys), .warnings = {}};
    if ((status.st_mode & S_IWGRP) != 0) {
        result.warnings.push_back(path + ": the group may write the key");
    }
    return result;
}

}  // namespace weir::cluster
