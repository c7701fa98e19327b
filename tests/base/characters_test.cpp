#include "base/characters.h"

#include <doctest/doctest.h>

#include <string>

using weir::character_length;
using weir::is_token;
using weir::trim;
using weir::trim_line;

TEST_CASE("tokens have the characters of RFC 9110, 5.6.2, and no others") {
    CHECK(is_token("x-Api_Key1"));
    CHECK(is_token("!#$%&'*+-.^_`|~"));
    CHECK_FALSE(is_token(""));
    for (const char c : std::string("\0 \t\"(),/:;<=>?@[\\]{}\x7f\x80", 21)) {
        CAPTURE(static_cast<int>(c));
        CHECK_FALSE(is_token(std::string("a") + c));
    }
}

TEST_CASE("blanks go from both ends, and of a line also the CR at its end") {
    CHECK(trim(" \ta b\t ") == "a b");
    CHECK(trim("\r") == "\r");
    CHECK(trim_line(" a \t\r ") == "a");
    CHECK(trim_line("\r") == "");
    CHECK(trim_line("a\rb") == "a\rb");
}

TEST_CASE("well-formed characters of UTF-8 have a length, and nothing else has") {
    CHECK(character_length("a") == 1);
    CHECK(character_length("\xc3\xa9x") == 2);
    CHECK(character_length("\xe2\x82\xac") == 3);
    CHECK(character_length("\xf0\x9f\x98\x80") == 4);
    CHECK(character_length("\xf4\x8f\xbf\xbf") == 4);
    for (const char* wrong :
         {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
        CAPTURE(wrong);
        CHECK(character_length(wrong) == 0);
    }
}
