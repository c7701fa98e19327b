#include "tools/output.h"

#include <doctest/doctest.h>

#include <algorithm>

using weir::tools::Output;

namespace {

std::string drain(Output& output, std::size_t step) {
    std::string sent;
    while (!output.empty()) {
        const auto next = output.front().substr(0, step);
        REQUIRE(!next.empty());
        sent += next;
        output.sent(next.size());
    }
    return sent;
}

}  // namespace

TEST_CASE("short and long texts leave in the order in which they came") {
    const std::string text(Output::kShared, 'l');
    for (const std::size_t step : {std::size_t{1000}, Output::kShared, 3 * Output::kShared}) {
        Output output;
        output.add("a");
        output.add("b");
        output.add(text);
        output.copy("c");
        output.add(text);
        CHECK(output.size() == 3 + 2 * text.size());
        CHECK(drain(output, step) == "ab" + text + "c" + text);
        CHECK(output.front().empty());
    }
}

TEST_CASE("a long text that dies is copied") {
    Output output;
    output.copy(std::string(Output::kShared, 'd'));
    CHECK(drain(output, Output::kShared) == std::string(Output::kShared, 'd'));
}

TEST_CASE("a long text is not copied") {
    const std::string text(Output::kShared, 'l');
    Output output;
    output.add(text);
    CHECK(output.front().data() == text.data());
    output.sent(10);
    CHECK(output.front().data() == text.data() + 10);
}
