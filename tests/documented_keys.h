#pragma once
// The keys that a parser takes and the keys that a page has, for tests that hold one against the
// other. The source that includes it needs WEIR_SOURCE_DIR: weir_reads_project in CMakeLists.txt.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace weir::testing {

/// A file of the checkout.
inline std::string read(const std::string& path) {
    std::ifstream stream(std::string(WEIR_SOURCE_DIR) + "/" + path);
    REQUIRE_MESSAGE(stream.good(), path);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

/// What stands between quotes behind each of these words.
inline void add_quoted(const std::string& text, const std::string& before,
                       std::set<std::string>& found) {
    const std::string begin = before + "\"";
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
        at += begin.size();
        found.insert(text.substr(at, text.find('"', at) - at));
    }
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

/// The keys that a parser takes from maps, by its source: there is no other list of them.
inline std::set<std::string> taken_keys(const std::string& source) {
    const std::string text = read(source);
    std::set<std::string> keys;
    for (const char* before : {".take(", ".require(", "check_constant(reader, "}) {
        add_quoted(text, before, keys);
    }
    // A key that is no literal would be overlooked; check_constant's are.
    CAPTURE(source);
    CHECK(count_of(text, ".take(") == count_of(text, ".take(\""));
    CHECK(count_of(text, ".require(") ==
          count_of(text, ".require(\"") + count_of(text, ".require(key)"));
    return keys;
}

/// The keys of a page's tables between two headings; `match.host` is `match` and `host`.
inline std::set<std::string> documented_keys(const std::string& docs, const std::string& begin,
                                             const std::string& end) {
    const std::size_t from = docs.find(begin);
    const std::size_t to = docs.find(end, from);
    REQUIRE(to != std::string::npos);
    std::set<std::string> rows;
    std::string tables = docs.substr(from, to - from);
    std::replace(tables.begin(), tables.end(), '`', '"');
    add_quoted(tables, "\n| ", rows);
    std::set<std::string> keys;
    for (const std::string& row : rows) {
        std::istringstream parts(row);
        for (std::string part; std::getline(parts, part, '.');) {
            keys.insert(part);
        }
    }
    return keys;
}

}  // namespace weir::testing
