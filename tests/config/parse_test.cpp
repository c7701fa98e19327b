#include "config/parse.h"

#include <doctest/doctest.h>

#include <string>

#include "config/helpers.h"

namespace weir::config {
namespace {

using testing::Lines;
using testing::lines;

Lines errors_of(const std::string& text, const std::string& file, const ParseLimits& limits) {
    Diagnostics diagnostics;
    const auto documents = parse_documents(text, file, limits, diagnostics);
    return lines(diagnostics);
}

Lines yaml_errors(const std::string& text) { return errors_of(text, "f.yaml", {}); }
Lines json_errors(const std::string& text) { return errors_of(text, "f.json", {}); }

/// Keys and texts of a whole tree.
std::string outline(NodeRef node) {
    std::string text(node->key);
    text += text.empty() ? "" : "=";
    if (node.is_scalar()) {
        return text + std::string(node->text);
    }
    if (node->kind == NodeKind::null) {
        return text + "~";
    }
    text += node->kind == NodeKind::list ? "[" : "{";
    for (const NodeRef child : node.children()) {
        text += outline(child) + " ";
    }
    return text + (node->kind == NodeKind::list ? "]" : "}");
}

std::vector<Document> parse(const std::string& text, const std::string& file) {
    Diagnostics diagnostics;
    auto documents = parse_documents(text, file, ParseLimits{}, diagnostics);
    CHECK(lines(diagnostics) == Lines{});
    return documents;
}

TEST_CASE("YAML and JSON give the same tree") {
    const auto yaml = parse("a: 1\nb:\n  - x\n  - {c: ~, d: \"two words\"}\n", "f.yaml");
    const auto json = parse(R"({"a": 1, "b": ["x", {"c": null, "d": "two words"}]})", "f.json");
    REQUIRE(yaml.size() == 1);
    REQUIRE(json.size() == 1);
    CHECK(outline(yaml[0].root()) == "{a=1 b=[x {c=~ d=two words } ] }");
    CHECK(outline(json[0].root()) == outline(yaml[0].root()));
}

TEST_CASE("every value knows its place and its path") {
    const auto documents = parse("a: 1\nb:\n  - x\n  - {c: ~, d: 2}\n", "f.yaml");
    const NodeRef d = documents[0].root().children()[1].children()[1].children()[1];
    CHECK(d->place == TextPlace{4, 15});
    CHECK(d->key_place == TextPlace{4, 12});
    CHECK(d.path() == "b[1].d");

    const auto json = parse("{\n \"k\\\"\\u00e9\": [10,\n  true ,{\"d\":\"q\"}]\n}", "f.json");
    const NodeRef list = json[0].root().children()[0];
    CHECK(list->key == "k\"\xc3\xa9");
    CHECK(list->key_place == TextPlace{2, 2});
    CHECK(list->place == TextPlace{2, 15});
    CHECK(list.children()[0]->place == TextPlace{2, 16});
    CHECK(list.children()[0]->text == "10");
    CHECK(list.children()[1]->place == TextPlace{3, 3});
    CHECK(list.children()[2].children()[0]->place == TextPlace{3, 14});
    CHECK(list.children()[2].children()[0].path() == "k\"\xc3\xa9[2].d");
}

TEST_CASE("several documents, empty ones left out") {
    const auto documents = parse("---\na: 1\n---\n---\nb: 2\n...\n", "f.yaml");
    REQUIRE(documents.size() == 2);
    CHECK(outline(documents[1].root()) == "{b=2 }");
    CHECK(parse("", "f.yaml").empty());
    CHECK(parse("# nothing\n", "f.yaml").empty());
}

TEST_CASE("text that looks like JSON is JSON, flow style is still YAML") {
    CHECK(outline(parse("{\"a\": [1, 2]}", "body")[0].root()) == "{a=[1 2 ] }");
    CHECK(outline(parse("{\"a\": b}", "body")[0].root()) == "{a=b }");
    CHECK(outline(parse("{a: b}", "body")[0].root()) == "{a=b }");
    CHECK(outline(parse("\xef\xbb\xbf{\"a\": 1}", "body")[0].root()) == "{a=1 }");
}

TEST_CASE("syntax errors have their place") {
    CHECK(yaml_errors("a: 1\nb: [1, 2\nc: 3\n").size() == 1);
    CHECK(yaml_errors("a: 1\n b: 2\n")[0].substr(0, 11) == "f.yaml:2:3:");
    CHECK(json_errors("{\"a\": 1,\n \"b\": }")[0].substr(0, 11) == "f.json:2:7:");
    CHECK(json_errors("")[0].substr(0, 7) == "f.json:");
    CHECK(json_errors("{\"a\": 1} x")[0].substr(0, 12) == "f.json:1:10:");
    CHECK(json_errors("{\"a\": 1e999}").size() == 1);
}

TEST_CASE("a token out of place ends the reading (found by fuzzing: it went on for ever)") {
    CHECK(yaml_errors("- a\n,b\n") == Lines{"f.yaml:2:1: this belongs to nothing"});
    CHECK(yaml_errors("a: 1\n]\n").size() == 1);
    CHECK(yaml_errors("}").size() == 1);
}

TEST_CASE("duplicate keys are errors in both") {
    CHECK(yaml_errors("a: 1\nb: {c: 1, c: 2}\na: 3\n") ==
          Lines{"f.yaml:2:11: b: the key 'c' is given twice",
                "f.yaml:3:1: the key 'a' is given twice"});
    CHECK(json_errors("{\"a\": 1,\n\"a\": 2}") == Lines{"f.json:2:1: the key 'a' is given twice"});
    std::string many = "{";
    for (int i = 0; i < 100; ++i) {
        many += "\"k" + std::to_string(i) + "\": 1, ";
    }
    CHECK(json_errors(many + "\"k99\": 2}").size() == 1);
    CHECK(json_errors(many + "\"k3\": 2}").size() == 1);
    CHECK(json_errors(many + "\"k100\": 2}").empty());
}

TEST_CASE("control characters and broken UTF-8 are refused") {
    using namespace std::string_literals;
    CHECK(yaml_errors("a: b\0c\n"s) == Lines{"f.yaml:1:5: a control character"});
    CHECK(yaml_errors("a: 1\nb: \x1b[1m\n") == Lines{"f.yaml:2:4: a control character"});
    CHECK(yaml_errors("a: \xff\xfe\n") == Lines{"f.yaml:1:4: not valid UTF-8"});
    CHECK(yaml_errors("a: \xc0\x80\n") == Lines{"f.yaml:1:4: not valid UTF-8"});
    CHECK(yaml_errors("a: \xed\xa0\x80\n") == Lines{"f.yaml:1:4: not valid UTF-8"});
    CHECK(yaml_errors("a: \xf4\x90\x80\x80\n") == Lines{"f.yaml:1:4: not valid UTF-8"});
    CHECK(yaml_errors("a: \xe2\x82") == Lines{"f.yaml:1:4: not valid UTF-8"});
    CHECK(yaml_errors("a: \xf0\x9f\x92\xa7\n").empty());
    CHECK(yaml_errors("a: \"b\\0c\"\n") == Lines{"f.yaml:1:4: a text holds a control character"});
    CHECK(yaml_errors("\"a\\x07\": 1\n") == Lines{"f.yaml:1:1: a text holds a control character"});
    CHECK(json_errors("{\"a\": \"b\\u0000\"}") ==
          Lines{"f.json:1:7: a text holds a control character"});
    CHECK(json_errors("{\"a\": \"\\u0085\"}") ==
          Lines{"f.json:1:7: a text holds a control character"});
}

TEST_CASE("aliases unfold, within bounds") {
    const auto documents = parse("a: &x {k: [1, 2]}\nb: *x\n", "f.yaml");
    CHECK(outline(documents[0].root()) == "{a={k=[1 2 ] } b={k=[1 2 ] } }");
    CHECK(documents[0].root().children()[1].children()[0].path() == "b.k");
    CHECK(yaml_errors("a: &x [*x]\n") == Lines{"f.yaml:1:8: an alias stands inside what it means"});
    CHECK(yaml_errors("a: &k key\n*k : 1\n") ==
          Lines{"f.yaml:2:1: a key must be text, not an alias"});

    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int j = 0; j < 9; ++j) {
            bomb += ", " + before;
        }
        bomb += "]\n";
    }
    const Lines errors = yaml_errors(bomb);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].find("aliases unfold to more than 100000 values") != std::string::npos);
}

TEST_CASE("depth, number and size are bounded") {
    const std::string deep_yaml = std::string(40, '[') + std::string(40, ']');
    CHECK(yaml_errors(deep_yaml) == Lines{"f.yaml:1:33: nested deeper than 32 levels"});
    CHECK(yaml_errors(std::string(100'000, '[')).size() == 1);
    CHECK(json_errors(std::string(100'000, '[')) ==
          Lines{"f.json:1:33: nested deeper than 32 levels"});
    CHECK(yaml_errors(std::string(32, '[') + std::string(32, ']')).empty());

    ParseLimits small;
    small.nodes = 3;
    CHECK(errors_of("[1, 2]", "f.yaml", small).empty());
    CHECK(errors_of("[1, 2, 3]", "f.yaml", small) ==
          Lines{"f.yaml:1:8: more than 3 values in one document"});
    CHECK(errors_of("[1, 2, 3]", "f.json", small) ==
          Lines{"f.json:1:8: more than 3 values in one document"});
    small = {};
    small.scalar_bytes = 4;
    CHECK(errors_of("[abcde]", "f.yaml", small) ==
          Lines{"f.yaml:1:2: a text of more than 4 bytes"});
    small = {};
    small.yaml_bytes = 10;
    CHECK(errors_of("[1,2,3,4,5]", "f.yaml", small) ==
          Lines{"f.yaml: larger than 10 bytes of YAML; write large sets as JSON"});
    CHECK(errors_of("[1,2,3,4,5]", "f.json", small).empty());
    small.json_bytes = 10;
    CHECK(errors_of("[1,2,3,4,5]", "f.json", small) == Lines{"f.json: larger than 10 bytes"});
}

TEST_CASE("what no reader could use") {
    CHECK(yaml_errors("? [a, b]\n: 1\n") ==
          Lines{"f.yaml:1:3: a key must be text, not a list or a map"});
    CHECK(yaml_errors("~: 1\n") == Lines{"f.yaml:1:1: a key must be text"});
    CHECK(yaml_errors("a: !!binary aGk=\n") ==
          Lines{"f.yaml:1:4: the tag 'tag:yaml.org,2002:binary' is not understood"});
    CHECK(yaml_errors("a: !!str 5\n").empty());
}

}  // namespace
}  // namespace weir::config
