#include "cluster/key_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

using namespace weir;
using namespace weir::cluster;

namespace {

const std::string kHex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const std::string kBase64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const std::string kOther = "/+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7/8=";
const std::string kOtherUrlSafe = "_-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7_8";

Key counting() {
    Key key{};
    for (std::size_t i = 0; i < key.size(); ++i) {
        key[i] = static_cast<std::byte>(i);
    }
    return key;
}

/// A file that goes with the test.
class TemporaryFile {
  public:
    TemporaryFile(std::string_view text, mode_t mode) {
        std::string pattern = "/tmp/weir-key-XXXXXX";
        const int descriptor = ::mkstemp(pattern.data());
        REQUIRE(descriptor >= 0);
        REQUIRE(::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
        REQUIRE(::fchmod(descriptor, mode) == 0);
        ::close(descriptor);
        path = pattern;
    }
    ~TemporaryFile() { ::unlink(path.c_str()); }
    std::string path;
};

}  // namespace

TEST_CASE("keys are read from hex and base64") {
    for (const auto& text : {kHex, kBase64, kBase64.substr(0, 43), "  " + kHex + "\r\n",
                             "# first\n\n" + kBase64 + "\n"}) {
        CAPTURE(text);
        const auto keys = parse_keys(text);
        REQUIRE(keys.has_value());
        REQUIRE(keys->size() == 1);
        CHECK(keys->front() == counting());
    }
}

TEST_CASE("the order of two keys is kept: the first one seals") {
    const auto keys = parse_keys(kHex + "\n" + kOther + "\n");
    REQUIRE(keys.has_value());
    REQUIRE(keys->size() == 2);
    CHECK(keys->front() == counting());
    const auto url_safe = parse_keys(kOtherUrlSafe);
    REQUIRE(url_safe.has_value());
    CHECK(keys->back() == url_safe->front());
}

TEST_CASE("what is not a key is refused with its line and without showing it") {
    for (const auto& text : {std::string("secret"), kHex.substr(1), kHex + "00", kBase64 + "AA",
                             kBase64.substr(0, 40), kHex + " " + kHex, "!" + kBase64}) {
        CAPTURE(text);
        const auto keys = parse_keys("\n" + text);
        REQUIRE(keys.has_error());
        CHECK(keys.error().message.starts_with("line 2: "));
        CHECK(keys.error().message.find(text) == std::string::npos);
    }
    CHECK(parse_keys("").has_error());
    CHECK(parse_keys("# none\n\n").has_error());
    CHECK(parse_keys(kHex + "\n" + kOther + "\n" + kBase64).error().message.find("two") !=
          std::string::npos);
}

TEST_CASE("a key of equal bytes is no secret") {
    CHECK(parse_keys(std::string(64, '0')).has_error());
    CHECK(parse_keys(std::string(64, 'f')).has_error());
}

TEST_CASE("a key file that everybody may read is refused") {
    const TemporaryFile open(kHex, 0644);
    const auto refused = read_key_file(open.path);
    REQUIRE(refused.has_error());
    CHECK(refused.error().message.find("chmod") != std::string::npos);
    const TemporaryFile writable(kHex, 0602);
    CHECK(read_key_file(writable.path).has_error());
}

TEST_CASE("a key file of owner and group is read") {
    const TemporaryFile closed(kHex + "\n" + kOther, 0440);
    const auto file = read_key_file(closed.path);
    REQUIRE(file.has_value());
    CHECK(file->keys.size() == 2);
    CHECK(file->warnings.empty());
    const TemporaryFile loose(kHex, 0660);
    const auto warned = read_key_file(loose.path);
    REQUIRE(warned.has_value());
    CHECK(warned->warnings.size() == 1);
}

TEST_CASE("errors of a key file name the file") {
    const auto missing = read_key_file("/nonexistent/gossip.key");
    REQUIRE(missing.has_error());
    CHECK(missing.error().message.find("/nonexistent/gossip.key") != std::string::npos);
    const TemporaryFile bad("nonsense", 0600);
    CHECK(read_key_file(bad.path).error().message.starts_with(bad.path + ": line 1: "));
    const TemporaryFile large(std::string(kMaxKeyFileBytes + 1, '\n'), 0600);
    CHECK(read_key_file(large.path).error().code == ErrorCode::too_large);
    CHECK(read_key_file("/tmp").has_error());
}
