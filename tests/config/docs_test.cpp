// The documentation and the examples, held against the code.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "config/helpers.h"
#include "config/settings_fields.h"

namespace weir::config {
namespace {

using testing::Lines;
using testing::lines;

std::string read(const std::string& path) {
    std::ifstream stream(std::string(WEIR_SOURCE_DIR) + "/" + path);
    REQUIRE_MESSAGE(stream.good(), path);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

TEST_CASE("docs/configuration.md has each key's row as the code has it, and no other") {
    const std::string docs = read("docs/configuration.md");
    std::size_t rows = 0;
    for (const SettingField& field : setting_fields()) {
        std::ostringstream row;
        row << "| `" << field.key << "` | " << field.type << " | " << field.default_text << " | "
            << field.bounds << " | " << field.meaning << " |\n";
        CAPTURE(row.str());
        CHECK(docs.find(row.str()) != std::string::npos);
    }
    const std::size_t end = docs.find("## `routes`");
    REQUIRE(end != std::string::npos);
    for (std::size_t at = docs.find("\n| `"); at < end; at = docs.find("\n| `", at + 1)) {
        ++rows;
    }
    CHECK(rows == setting_fields().size());
}

/// What stands between quotes behind each of these words.
void add_quoted(const std::string& text, const std::string& before, std::set<std::string>& found) {
    const std::string begin = before + "\"";
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
        at += begin.size();
        found.insert(text.substr(at, text.find('"', at) - at));
    }
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

/// The keys that a parser takes from maps, by its source: there is no other list of them.
std::set<std::string> taken_keys(const std::string& source) {
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

/// The keys of the tables between two headings; `match.host` is `match` and `host`.
std::set<std::string> documented_keys(const std::string& begin, const std::string& end) {
    const std::string docs = read("docs/configuration.md");
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

TEST_CASE("the keys of routes and quota documents are documented, and no others") {
    CHECK(documented_keys("## `routes`", "## Quota documents") ==
          taken_keys("src/config/route_reader.cpp"));
    std::set<std::string> keys = taken_keys("src/config/quota_document.cpp");
    keys.merge(taken_keys("src/config/quota_reader.cpp"));
    CHECK(documented_keys("## Quota documents", "## What the parser refuses") == keys);
    CHECK(keys.contains("when_isolated"));
}

TEST_CASE("the examples are valid") {
    Diagnostics diagnostics;
    const auto sets =
        parse_quota_sets({{"config/quotas.yaml", read("config/quotas.yaml")}}, diagnostics);
    const Settings settings =
        load_settings(SourceText{"config/weir.yaml", read("config/weir.yaml")}, {}, diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    CHECK(sets.size() == 1);
    CHECK(settings.quotas == std::vector<std::string>{"config/quotas.yaml"});
}

TEST_CASE("the document of the documentation is valid") {
    const std::string docs = read("docs/configuration.md");
    const std::size_t begin = docs.find("```yaml\napiVersion") + 8;
    const std::size_t end = docs.find("```", begin);
    REQUIRE(end != std::string::npos);
    CHECK(testing::quota_errors(docs.substr(begin, end - begin)) == Lines{});
}

}  // namespace
}  // namespace weir::config
