#include "embed/guard.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace weir::embed {

TEST_CASE("no exception crosses: each becomes a code and a message") {
    weir_error error = WEIR_ERROR_INIT;
    CHECK(guarded(&error, []() -> std::int32_t { throw std::bad_alloc(); }) == WEIR_EXHAUSTED);
    CHECK(std::string(error.message) == "out of memory");
    CHECK(guarded(&error, []() -> std::int32_t { throw std::runtime_error("broken"); }) ==
          WEIR_INTERNAL);
    CHECK(std::string(error.message) == "broken");
    CHECK(error.code == WEIR_INTERNAL);
    CHECK(guarded(&error, []() -> std::int32_t { throw 7; }) == WEIR_INTERNAL);
    CHECK(std::string(error.message) == "an unknown exception");
    CHECK(guarded(nullptr, []() -> std::int32_t { throw 7; }) == WEIR_INTERNAL);
}

TEST_CASE("a long message is cut, shows it, and stays within the caller's struct") {
    weir_error error = WEIR_ERROR_INIT;
    const std::string message(5000, 'x');
    tell(&error, WEIR_IO, message);
    const std::string told = error.message;
    CHECK(told.size() == sizeof(error.message) - 1);
    CHECK(told.ends_with("x..."));

    error.size = offsetof(weir_error, message) + 8;  // a program with a shorter struct
    error.message[8] = '#';
    tell(&error, WEIR_IO, message);
    CHECK(std::string(error.message) == "xxxx...");
    CHECK(error.message[8] == '#');
}

TEST_CASE("a struct whose size was not set is left alone") {
    weir_error error{};
    error.code = 42;
    CHECK(tell(&error, WEIR_IO, "lost") == WEIR_IO);
    CHECK(error.code == 42);
    CHECK(error.message[0] == '\0');
}

}  // namespace weir::embed
