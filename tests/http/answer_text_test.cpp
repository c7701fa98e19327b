#include "http/answer_text.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/random.h"

namespace weir::http {
namespace {

TEST_CASE("what is appended follows what the string held, whatever was expected") {
    for (const std::size_t expected :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
        CAPTURE(expected);
        std::string out = "before ";
        {
            AnswerText text(out, expected);
            text += "literal, ";
            text += std::string_view("view, ");
            text += 'c';
            text += ", ";
            text += std::numeric_limits<std::uint64_t>::max();
            text += "";
            text += std::string_view();
            CHECK(text.size() == 45);
        }
        CHECK(out == "before literal, view, c, 18446744073709551615");
    }
}

TEST_CASE("a number may be written before the end, and the end may be cut off") {
    for (const std::size_t expected : {std::size_t{0}, std::size_t{64}}) {
        CAPTURE(expected);
        std::string out;
        {
            AnswerText text(out, expected);
            text += "length: ";
            const std::size_t place = text.size();
            text += "\n";
            const std::size_t body = text.size();
            text += "body";
            text.insert(place, 4321);
            text.insert(0, 7);
            text.cut(body + 5);
        }
        CHECK(out == "7length: 4321\n");
    }
}

TEST_CASE("pieces of all lengths come out as they were appended to a string") {
    Random random(5);
    std::string expected;
    std::string out;
    {
        AnswerText text(out, 100);
        for (int i = 0; i < 2000; ++i) {
            const std::string piece(random.below(300), static_cast<char>('a' + random.below(26)));
            text += std::string_view(piece);
            expected += piece;
            const std::uint64_t number = random.next() >> random.below(64);
            text += number;
            expected += std::to_string(number);
        }
        CHECK(text.size() == expected.size());
    }
    CHECK(out == expected);
}

}  // namespace
}  // namespace weir::http
