#include "node/loader.h"

#include <doctest/doctest.h>

#include <string>

#include "node/file_stamp.h"
#include "node/files.h"
#include "node/folder.h"

namespace weir::node {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using testing::quota_set;

TEST_CASE("files that change while they are read are read again") {
    const Folder folder;
    const std::string file = folder.write("q.yaml", "half");
    int readings = 0;
    const auto text = read_at_rest([&](Stamps& stamps) {
        stamps.note({folder.path()});
        auto result = read_file(file);
        if (++readings == 1) {
            folder.write("q.yaml", "half and half");
        }
        return result;
    });
    CHECK(readings == 2);
    CHECK(text.value() == "half and half");
}

TEST_CASE("files that always change are taken as they are") {
    const Folder folder;
    std::string text;
    int readings = 0;
    read_at_rest([&](Stamps& stamps) {
        stamps.note({folder.path()});
        folder.write("q.yaml", text += 'x');
        return ++readings;
    });
    CHECK(readings == kMostReadings);
}

TEST_CASE("files that cannot be read are told apart from wrong ones") {
    const Folder folder;
    config::Settings settings;
    settings.quotas = {folder.path() + "/none.yaml"};
    CHECK(load_quotas(settings, 0).unreadable);
    settings.quotas = {folder.write("wrong.yaml", "kind: Nothing")};
    const Loaded wrong = load_quotas(settings, 0);
    CHECK_FALSE(wrong.good());
    CHECK_FALSE(wrong.unreadable);
}

TEST_CASE("settings and quota files are read together") {
    const Folder folder;
    const std::string quotas = folder.write("q.yaml", quota_set("a", "[{name: x}]"));
    const std::string file = folder.write(
        "weir.yaml", "upstream: a:1\nquotas: [" + quotas + "]\nroutes: [{quota: x}]\n");
    const Loaded loaded = load({file, {}});
    CHECK(loaded.diagnostics.text() == "");
    CHECK(loaded.good());
    REQUIRE(loaded.sets.size() == 1);
    CHECK(loaded.sets[0].quotas[0].name == "x");

    const Loaded same = load_quotas(loaded.settings, loaded.quotas_hash);
    CHECK(same.quotas_unchanged);
    folder.write("q.yaml", quota_set("a", "[{name: y}]"));
    const Loaded other = load_quotas(loaded.settings, loaded.quotas_hash);
    CHECK_FALSE(other.quotas_unchanged);
    CHECK(other.sets[0].quotas[0].name == "y");
}

TEST_CASE("errors of both files are told at once") {
    const Folder folder;
    const std::string quotas = folder.write("q.yaml", quota_set("a", "[{nme: x}]"));
    const std::string file =
        folder.write("weir.yaml", "upstream: a:1\nworkers: x\nquotas: [" + quotas + "]\n");
    const std::string text = load({file, {}}).diagnostics.text();
    CHECK(text.find("weir.yaml:2:10: workers: ") != std::string::npos);
    CHECK(text.find("q.yaml:4:10: quotas[0]: 'name' is missing") != std::string::npos);
    CHECK(text.find("quotas[0].nme: unknown field, did you mean 'name'?") != std::string::npos);
}

TEST_CASE("the limiter takes as many instances as the settings may say, and no more") {
    const Folder folder;
    const auto loaded_with = [&folder](std::size_t instances) {
        const std::string file = folder.write(
            "weir.yaml",
            "upstream: a:1\nlimiter: {max_instances: " + std::to_string(instances) + "}\n");
        return load({file, {}});
    };
    CHECK(loaded_with(12'000'000).good());  // as limiter.cpp bounds it
    CHECK(loaded_with(12'000'001)
              .diagnostics.text()
              .ends_with(": limiter.max_instances: must be from 1000 to 12000000\n"));
}

TEST_CASE("routes that limit nothing are warned of, but not those of an embedding program") {
    const Folder folder;
    const std::string quotas = folder.write("q.yaml", quota_set("a", "[{name: all}]"));
    const std::string file = folder.write(
        "weir.yaml", "upstream: a:1\nquotas: [" + quotas + "]\nroutes: [{quota: al}]\n");
    ConfigSource source{file, {}};
    const Loaded loaded = load(source);
    CHECK(loaded.good());
    CHECK(loaded.diagnostics.warning_count() == 1);
    CHECK(loaded.diagnostics.text().ends_with("pass without a limit, did you mean 'all'?\n"));
    source.reader = config::Reader::embedding;
    CHECK(load(source).diagnostics.text().empty());
}

TEST_CASE("fixed weights above low are warned of") {
    const Folder folder;
    const std::string quotas =
        folder.write("q.yaml", quota_set("a", "[{name: 's3/{b}', limits: [{rate: 5r/s}]}]"));
    const std::string file =
        folder.write("weir.yaml", "upstream: a:1\nquotas: [" + quotas +
                                      "]\nroutes: [{preset: s3, weight: {ListObjectsV2: 5.5}}]\n");
    const Loaded loaded = load({file, {}});
    CHECK(loaded.good());
    CHECK(loaded.diagnostics.text() ==
          file +
              ": warning: routes[0].weight: a weight of 5.5 (ListObjectsV2) exceeds the low "
              "burst of quota 's3/{b}', 5: such a request passes only when the bucket is "
              "nearly empty\n");
}

TEST_CASE("hints are words or sentences, each as it should be") {
    const Folder folder;
    const std::string one = folder.write(
        "1.yaml", "apiVersion: weir/v1\nkind: QuotaSet\nname: a\ngeneration: 1\nquotas: []\n");
    const std::string two =
        folder.write("2.yaml",
                     "apiVersion: weir/v1\nkind: QuotaSet\nname: a\ngeneration: 2\n"
                     "quotas: [{name: good}, {name: b, parent: goood}]\n");
    const std::string file =
        folder.write("weir.yaml", "upstream: a:1\nquotas: [" + one + ", " + two + "]\n");
    const std::string text = load({file, {}}).diagnostics.text();
    CHECK(text.find(", files of one set carry one generation\n") != std::string::npos);
    CHECK(text.find("there is no quota 'goood', did you mean 'good'?\n") != std::string::npos);
}

TEST_CASE("files that cannot be read") {
    const Folder folder;
    CHECK(load({folder.path() + "/none.yaml", {}}).diagnostics.text() ==
          folder.path() + "/none.yaml: No such file or directory\n");
    CHECK(load({folder.path(), {}}).diagnostics.text() ==
          folder.path() + ": is a directory, not a file\n");
    const std::string file = folder.write("weir.yaml", "upstream: a:1\nquotas: [/nowhere.yaml]\n");
    CHECK(load({file, {}}).diagnostics.text() == "/nowhere.yaml: No such file or directory\n");
}

TEST_CASE("a directory stands for its documents in order, a ConfigMap's machinery left out") {
    const Folder folder;
    for (const char* name : {"b.yaml", "a.json", "c.yml", ".hidden.yaml", "notes.txt", ".yaml"}) {
        folder.write(name, "");
    }
    fs::create_directory(folder.path() + "/..data");
    config::Diagnostics diagnostics;
    CHECK(expand_quota_paths({folder.path(), "other.txt"}, diagnostics) ==
          std::vector<std::string>{folder.path() + "/a.json", folder.path() + "/b.yaml",
                                   folder.path() + "/c.yml", "other.txt"});
    CHECK(diagnostics.text().empty());
}

TEST_CASE("a directory without a document is warned of") {
    const Folder folder;
    folder.write("notes.txt", "");
    config::Diagnostics diagnostics;
    CHECK(expand_quota_paths({folder.path()}, diagnostics).empty());
    CHECK(diagnostics.text() ==
          folder.path() +
              ": warning: the folder holds no quota document (*.yaml, *.yml or *.json)\n");
}

TEST_CASE("a fixed weight above low is a warning, not an error") {
    const Folder folder;
    const std::string quotas =
        folder.write("q.yaml", quota_set("a", "[{name: x, limits: [{rate: 5r/s}]}]"));
    const std::string file = folder.write(
        "weir.yaml", "upstream: a:1\nquotas: [" + quotas +
                         "]\nroutes:\n  - {match: {path: /x/**}, quota: x, weight: 6}\n"
                         "  - {match: {path: /y/**}, quota: x, weight: {GET: 5}}\n");
    const Loaded loaded = load({file, {}});
    CHECK(loaded.good());
    CHECK(loaded.diagnostics.text() ==
          file +
              ": warning: routes[0].weight: a weight of 6 exceeds the low burst of quota 'x', 5: "
              "such "
              "a request passes only when the bucket is nearly empty\n");
}

TEST_CASE("the hash of settings follows text and overrides") {
    const Folder folder;
    const std::string file = folder.write("weir.yaml", "upstream: a:1\n");
    const auto hash = load({file, {}}).settings_hash;
    CHECK(load({file, {}}).settings_hash == hash);
    CHECK(load({file, {{"workers", "--workers", "2"}}}).settings_hash != hash);
}

/// A set in JSON with more bytes than a short one has. Its names are long, so that its quotas are
/// few.
std::string long_set(const std::string& last) {
    std::string text =
        R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "long", "quotas": [)";
    for (int i = 0; text.size() <= kLongQuotas; ++i) {
        std::string name = "quota-" + std::to_string(i) + "-";
        name.resize(256, 'x');
        text += R"({"name": ")" + name + R"("}, )";
    }
    return text + last + "]}";
}

/// How many quotas this JSON has, each of which begins with its name.
std::size_t count_quotas(const std::string& set) {
    std::size_t count = 0;
    for (std::size_t at = set.find("{\"name\""); at != std::string::npos;
         at = set.find("{\"name\"", at + 1)) {
        ++count;
    }
    return count;
}

TEST_CASE("sets that are handed on in their encoded form are counted too") {
    const Folder folder;
    std::string quotas;
    for (int i = 0; i < 9000; ++i) {
        quotas += (i == 0 ? "{name: q" : ", {name: q") + std::to_string(i) + "}";
    }
    const std::string file = folder.write("q.yaml", quota_set("a", "[" + quotas + "]"));
    const Loaded loaded =
        load({folder.write("weir.yaml", "upstream: a:1\nquotas: [" + file + "]\n"), {}});
    REQUIRE(loaded.sets.size() == 1);
    CHECK(loaded.sets[0].encoded != nullptr);
    CHECK(loaded.sets[0].size() == 9000);
}

TEST_CASE("long files are read quota by quota, and not parsed again when they have not changed") {
    const Folder folder;
    config::Settings settings;
    settings.quotas = {folder.write("q.json", long_set(R"({"name": "last"})"))};
    const Loaded first = load_quotas(settings, 0);
    REQUIRE(first.good());
    REQUIRE(first.sets.size() == 1);
    CHECK(first.sets[0].encoded != nullptr);
    CHECK(first.sets[0].quotas.empty());
    CHECK(first.sets[0].size() == count_quotas(long_set(R"({"name": "last"})")));
    CHECK(load_quotas(settings, first.quotas_hash).quotas_unchanged);
    folder.write("q.json", long_set(R"({"name": "lest"})"));
    const Loaded second = load_quotas(settings, first.quotas_hash);
    CHECK_FALSE(second.quotas_unchanged);
    REQUIRE(second.sets.size() == 1);
    CHECK(second.sets[0].encoded_hash != first.sets[0].encoded_hash);
}

TEST_CASE("errors of long files have places") {
    const Folder folder;
    config::Settings settings;
    settings.quotas = {folder.write("q.json", long_set(R"({"name": "last", "colour": "red"})"))};
    const Loaded wrong = load_quotas(settings, 0);
    REQUIRE(wrong.diagnostics.error_count() == 1);
    CHECK(wrong.diagnostics.text().find("q.json:1:") != std::string::npos);
    CHECK(wrong.diagnostics.text().find("colour") != std::string::npos);
    settings.quotas.push_back(folder.path() + "/none.json");
    CHECK(load_quotas(settings, 0).unreadable);
}

}  // namespace
}  // namespace weir::node
