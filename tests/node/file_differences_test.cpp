#include "node/file_differences.h"

#include <doctest/doctest.h>

#include "definitions/exchange.h"

namespace weir::node {

TEST_CASE("who has what is said with the places of those whose file is not in force") {
    const Endpoint first = Endpoint::v4(0x0a000001, 7946);
    const Endpoint second = Endpoint::v4(0x0a000002, 7946);
    definitions::FileDifference difference;
    difference.in_force = {definitions::decision_of(2), 0x1234567890abcdef};
    difference.count = {"limits",
                        {},
                        7,
                        {{0x1234567890abcdef, 3, {first}},
                         {0xaaaaaaaabbbbbbbb, 2, {first, second}},
                         {0xcccccccc00000000, 1, {second}}}};
    CHECK(words_of(difference) ==
          "the files of limits differ: 3 of 7 sidecars have 12345678 (in force), 2 have aaaaaaaa "
          "(10.0.0.1:7946, 10.0.0.2:7946), 1 have cccccccc (10.0.0.2:7946), 1 have others");
    difference.count.contents[1].count = 3;
    CHECK(words_of(difference).find("3 have aaaaaaaa (among them 10.0.0.1:7946, 10.0.0.2:7946)") !=
          std::string::npos);
}

}  // namespace weir::node
