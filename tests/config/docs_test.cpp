// The documentation and the examples, held against the code.

#include <doctest/doctest.h>

#include <fstream>
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

TEST_CASE("the keys of routes and quota documents are documented") {
    const std::string docs = read("docs/configuration.md");
    for (const char* key : {"preset",
                            "domain",
                            "match.host",
                            "match.path",
                            "match.methods",
                            "match.headers",
                            "quota",
                            "weight",
                            "ambiguous_path",
                            "refund",
                            "apiVersion",
                            "kind",
                            "name",
                            "generation",
                            "quotas",
                            "parent",
                            "limits",
                            "mode",
                            "max_instances",
                            "max_children",
                            "headers",
                            "rate",
                            "of",
                            "low",
                            "high",
                            "debt",
                            "law",
                            "scope",
                            "safe",
                            "enforce",
                            "enforce_by",
                            "when_isolated",
                            "refusal.status",
                            "refusal.body",
                            "refusal.content_type"}) {
        CAPTURE(key);
        CHECK(docs.find("\n| `" + std::string(key) + "` |") != std::string::npos);
    }
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
