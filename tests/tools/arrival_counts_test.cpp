#include "tools/arrival_counts.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace weir::tools {
namespace {

TEST_CASE("the key is the first segment of the path") {
    CHECK(first_segment("GET /noisy/7?x=1 HTTP/1.1") == "noisy");
    CHECK(first_segment("GET /noisy?x=/1 HTTP/1.1") == "noisy");
    CHECK(first_segment("GET / HTTP/1.1") == "");
    CHECK(first_segment("") == "");
}

TEST_CASE("arrivals fall into bins of 10 ms of their listener and key") {
    ArrivalCounts counts;
    counts.add("a", "x", 1'000'000'000);
    counts.add("a", "x", 1'009'999'999);
    counts.add("a", "x", 1'010'000'000);
    counts.add("b", "x", 1'030'000'000);
    const auto document = nlohmann::json::parse(counts.to_json(0));
    REQUIRE(document["series"].size() == 2);
    CHECK(document["series"][0]["first_bin"] == 100);
    CHECK(document["series"][0]["counts"] == nlohmann::json({2, 1}));
    CHECK(document["series"][1]["first_bin"] == 103);
    CHECK(counts.total() == 4);
}

TEST_CASE("keys and bins are bounded, totals are not") {
    ArrivalCounts counts;
    for (std::size_t i = 0; i < ArrivalCounts::kMaxSeries + 10; ++i) {
        counts.add("a", std::to_string(i), 0);
    }
    counts.add("a", "0", ArrivalCounts::kBinNs * 10'000'000);
    const auto document = nlohmann::json::parse(counts.to_json(0));
    CHECK(document["series"].size() == ArrivalCounts::kMaxSeries + 1);
    CHECK(counts.total() == ArrivalCounts::kMaxSeries + 11);
    CHECK(document["series"][0]["counts"].size() == 1);
}

TEST_CASE("a key that is not UTF-8 still makes a JSON document") {
    ArrivalCounts counts;
    counts.add("a", "\xff\"", 0);
    CHECK(nlohmann::json::accept(counts.to_json(0)));
}

}  // namespace
}  // namespace weir::tools
