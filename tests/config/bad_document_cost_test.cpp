// Whatever is wrong in a document, reading it takes at most three times as long as a valid document
// of its size, and a bounded amount of memory. The times are processor time, and the valid document
// is read in the same run.

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "config/quota_document.h"

namespace {

constexpr std::size_t kDocumentBytes = std::size_t{1} << 20;
constexpr std::size_t kMostBytes = 100'000'000;
constexpr double kMostTimes = 3;

std::size_t bytes_in_use = 0;
std::size_t most_in_use = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    bytes_in_use += ::malloc_usable_size(memory);
    most_in_use = std::max(most_in_use, bytes_in_use);
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    bytes_in_use -= ::malloc_usable_size(memory);
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { operator delete(memory); }

namespace weir::config {
namespace {

/// A text for each number, one after another until they fill a document.
using Part = std::function<std::string(std::size_t)>;

struct Kind {
    std::string what;
    Part part;
    /// What stands around the parts.
    std::string before =
        R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "a", "quotas": [)";
    std::string after = "]}";
    std::string between = ",";
};

/// A file that begins with a comment is no JSON, so it is read as YAML.
std::string document(const Kind& kind, const std::string& file) {
    std::string text = (file.ends_with(".yaml") ? "# quotas\n" : "") + kind.before;
    for (std::size_t i = 0; text.size() < kDocumentBytes; ++i) {
        text += (i == 0 ? "" : kind.between) + kind.part(i);
    }
    return text + kind.after;
}

struct Cost {
    double seconds = 0;
    std::size_t bytes = 0;
    std::size_t errors = 0;
    std::size_t listed = 0;
};

Cost cost_of(const std::string& text, const std::string& file) {
    Cost cost{1e9, 0, 0, 0};
    for (int i = 0; i < 3; ++i) {
        const std::size_t before = bytes_in_use;
        most_in_use = before;
        const std::clock_t begin = std::clock();
        Diagnostics diagnostics;
        static_cast<void>(parse_quota_sets({{file, text}}, diagnostics));
        const std::string told = diagnostics.text();
        cost.seconds =
            std::min(cost.seconds, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
        cost.bytes = std::max(cost.bytes, most_in_use - before);
        cost.errors = diagnostics.error_count();
        cost.listed = diagnostics.sorted().size();
    }
    return cost;
}

std::string number(std::size_t i) { return std::to_string(i); }
std::string name(std::size_t i) { return R"("name": "tenant-)" + number(i) + '"'; }
std::string limits(const std::string& of) { return R"("limits": [{"rate": ")" + of + R"("}])"; }

const Kind kValid{"valid",
                  [](std::size_t i) { return "{" + name(i) + ", " + limits("10r/s") + "}"; }};

using Kinds = std::vector<Kind>;

/// Quotas whose limits are wrong.
void add_limits(Kinds& kinds) {
    kinds.push_back({"equal limits", [](std::size_t) { return std::string(R"({"rate": "1r/s"})"); },
                     R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "a", "quotas": [
                        {"name": "b", "limits": [)",
                     "]}]}"});
    kinds.push_back({"limits without a rate",
                     [](std::size_t) { return std::string("{}          "); },
                     R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "a", "quotas": [
                        {"name": "b", "limits": [)",
                     "]}]}"});
    kinds.push_back({"limits that are numbers", [](std::size_t) { return std::string("1    "); },
                     R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "a", "quotas": [
                        {"name": "b", "limits": [)",
                     "]}]}"});
    kinds.push_back({"rates that are none",
                     [](std::size_t i) { return "{" + name(i) + ", " + limits("fast") + "}"; }});
}

/// Quotas whose names or parents are wrong.
void add_tree(Kinds& kinds) {
    kinds.push_back({"parents that are misspelt", [](std::size_t i) {
                         return "{" + name(i) + R"(, "parent": "tenatn-)" + number(i * 7) + "\"}";
                     }});
    kinds.push_back({"parents that nobody has", [](std::size_t i) {
                         return "{" + name(i) + R"(, "parent": "x)" + number(i) + "\"}";
                     }});
    kinds.push_back({"quotas of one name",
                     [](std::size_t) { return "{" + name(1) + ", " + limits("10r/s") + "}"; }});
    kinds.push_back({"pairs that are each other's parent", [](std::size_t i) {
                         return "{" + name(i) + R"(, "parent": "tenant-)" + number(i ^ 1U) + "\"}";
                     }});
    kinds.push_back({"one long chain", [](std::size_t i) {
                         return "{" + name(i) + R"(, "parent": "tenant-)" + number(i + 1) + "\"}";
                     }});
    kinds.push_back({"captures that the quota has not", [](std::size_t i) {
                         return R"({"name": "t-)" + number(i) +
                                R"(/{a}", "parent": "{b}/{c}/{d}/{e}/{f}/{g}/{h}"})";
                     }});
    kinds.push_back({"long names that differ in their ends", [](std::size_t i) {
                         const std::string middle(400, 'm');
                         return R"({"name": ")" + number(i) + middle + number(i) +
                                R"(", "parent": ")" + number(i + 1) + middle + "x\"}";
                     }});
    kinds.push_back({"templates that differ in their beginnings", [](std::size_t i) {
                         return R"({"name": "t)" + number(i) + R"(-{x}", "parent": "u)" +
                                number(i) + "\"}";
                     }});
}

/// Documents whose shape is wrong.
void add_shapes(Kinds& kinds) {
    kinds.push_back(
        {"quotas that are empty", [](std::size_t) { return std::string("{}          "); }});
    kinds.push_back({"quotas that are numbers", [](std::size_t) { return std::string("1    "); }});
    kinds.push_back({"unknown fields in each quota", [](std::size_t i) {
                         return "{" + name(i) + R"(, "limitz": 1, "parnt": 2, "x": 3})";
                     }});
    kinds.push_back({"unknown fields in one quota",
                     [](std::size_t i) { return "\"limit" + number(i) + "\": 1"; },
                     R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "a", "quotas": [
                        {"name": "b", )",
                     "}]}"});
    kinds.push_back({"one field again and again",
                     [](std::size_t) { return std::string(R"("mode": "off")"); },
                     R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "a", "quotas": [
                        {"name": "b", )",
                     "}]}"});
    kinds.push_back({"words that are none",
                     [](std::size_t i) { return "{" + name(i) + R"(, "mode": "enforze"})"; }});
    kinds.push_back({"sets in many documents",
                     [](std::size_t i) {
                         return "{apiVersion: weir/v1, kind: QuotaSet, name: s" + number(i) +
                                ", quotas: [], x: 1}\n";
                     },
                     "", "", "---\n"});
    kinds.push_back({"generations that differ in many documents",
                     [](std::size_t i) {
                         return "{apiVersion: weir/v1, kind: QuotaSet, name: s, generation: " +
                                number(i + 1) + ", quotas: []}\n";
                     },
                     "", "", "---\n"});
    kinds.push_back(
        {"lists in lists", [](std::size_t) { return "[[[[[[1]]]]]]" + std::string(20, ' '); }});
}

/// Documents that have too many values for their size.
void add_dense(Kinds& kinds) {
    for (const char* value : {"1", "{}", "[]", "[[[[[[1]]]]]]"}) {
        kinds.push_back({std::string("nothing but ") + value,
                         [value](std::size_t) { return std::string(value); }});
    }
}

/// Compares each kind with a valid document that is read at about the same time.
void check_costs(const Kinds& kinds, bool read_on) {
    for (const std::string file : {"quotas.json", "quotas.yaml"}) {
        for (const Kind& kind : kinds) {
            if (kind.between == "---\n" && file == "quotas.json") {
                continue;  // JSON has one document in a file
            }
            const std::string good = document(kValid, file);
            const std::string bad = document(kind, file);
            Cost valid = cost_of(good, file);
            Cost cost = cost_of(bad, file);
            // A busy machine makes a time longer, by its caches, and none shorter: the least
            // counts.
            for (int again = 0; again < 4 && cost.seconds >= kMostTimes * valid.seconds; ++again) {
                valid.seconds = std::min(valid.seconds, cost_of(good, file).seconds);
                cost.seconds = std::min(cost.seconds, cost_of(bad, file).seconds);
            }
            MESSAGE(file << ", " << kind.what << ": " << cost.seconds / valid.seconds
                         << " of the time, " << static_cast<double>(cost.bytes) / 1e6 << " MB, "
                         << cost.errors << " errors");
            CAPTURE(kind.what);
            CHECK(valid.errors == 0);
            CHECK(valid.bytes < kMostBytes);
            CHECK((cost.errors > 1) == read_on);
            CHECK(cost.errors > 0);
            CHECK(cost.listed <= Diagnostics::kMaxKept);
            CHECK(cost.seconds < kMostTimes * valid.seconds);
            CHECK(cost.bytes < kMostBytes);
        }
    }
}

TEST_CASE("reading a bad document takes at most three times as long as a valid one") {
    Kinds kinds;
    add_limits(kinds);
    add_tree(kinds);
    add_shapes(kinds);
    check_costs(kinds, true);
}

TEST_CASE("a document with too many values for its size is refused as quickly") {
    Kinds kinds;
    add_dense(kinds);
    check_costs(kinds, false);
}

}  // namespace
}  // namespace weir::config
