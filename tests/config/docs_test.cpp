// The documentation and the examples, held against the code.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "config/helpers.h"
#include "config/settings_fields.h"
#include "config/settings_reload.h"
#include "definitions/fields.h"
#include "documented_keys.h"

namespace weir::config {
namespace {

using testing::Lines;
using testing::lines;
using weir::testing::count_of;
using weir::testing::documented_keys;
using weir::testing::read;
using weir::testing::taken_keys;

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

/// The section of a key, if all of its keys wait for a restart; else the key.
std::string named_in_docs(const SettingField& field) {
    const std::string section(field.key.substr(0, field.key.find('.') + 1));
    const auto fields = setting_fields();
    const bool whole =
        !section.empty() &&
        std::all_of(fields.begin(), fields.end(), [&](const SettingField& other) {
            return !other.key.starts_with(section) || waits_for_restart(other.at_reload);
        });
    return whole ? section.substr(0, section.size() - 1) : std::string(field.key);
}

TEST_CASE("docs/configuration.md names the keys that need a restart, and no others") {
    std::set<std::string> expected;
    for (const SettingField& field : setting_fields()) {
        if (waits_for_restart(field.at_reload)) {
            expected.insert(named_in_docs(field));
        }
    }
    std::string docs = read("docs/configuration.md");
    const std::size_t begin = docs.find("**What needs a restart.**");
    const std::size_t end = docs.find("\n\n", begin);
    REQUIRE(end != std::string::npos);
    std::set<std::string> named;
    std::istringstream parts(docs.substr(begin, end - begin));
    std::string part;
    for (bool quoted = false; std::getline(parts, part, '`'); quoted = !quoted) {
        if (quoted) {
            named.insert(part);
        }
    }
    CHECK(named == expected);
}

TEST_CASE("the keys of routes and quota documents are documented, and no others") {
    const std::string docs = read("docs/configuration.md");
    CHECK(documented_keys(docs, "## `routes`", "## Quota documents") ==
          taken_keys("src/config/route_reader.cpp"));
    CHECK(documented_keys(docs, "## Quota documents", "### Keys of a quota") ==
          taken_keys("src/config/quota_document.cpp"));
}

/// Between these headings each field has its row as the table has it, and nothing else has one.
template <class Fields>
void check_rows(const Fields& fields, const std::string& begin, const std::string& end) {
    const std::string docs = read("docs/configuration.md");
    const std::size_t from = docs.find(begin);
    const std::size_t to = docs.find(end, from);
    REQUIRE(to != std::string::npos);
    const std::string section = docs.substr(from, to - from);
    for (const auto& field : fields) {
        std::ostringstream row;
        row << "\n| `" << field.key << "` | " << field.type << " | " << field.default_text << " | "
            << field.meaning << " |\n";
        CAPTURE(row.str());
        CHECK(section.find(row.str()) != std::string::npos);
    }
    CHECK(count_of(section, "\n| `") == fields.size());
}

TEST_CASE(
    "docs/configuration.md has each field's row as the table of fields has it, and no other") {
    check_rows(definitions::quota_fields(), "### Keys of a quota", "### Keys of a limit");
    check_rows(definitions::limit_fields(), "### Keys of a limit", "## What the parser refuses");
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
