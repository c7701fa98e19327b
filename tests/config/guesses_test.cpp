// What is guessed for values that are written as other programs write them.

#include "config/guesses.h"

#include <doctest/doctest.h>

#include <string>

#include "config/values.h"

namespace weir::config {
namespace {

TEST_CASE("rates as other programs write them") {
    for (const char* text : {"100/s", "100rps", "100qps", "100", "100 r/s", "100r/sec", "100R/S",
                             "100 req/s", "100 requests per second", "100/second", "100r"}) {
        CAPTURE(text);
        CHECK(guess_rate(text) == "100r/s");
    }
    CHECK(guess_rate("30rpm") == "30r/m");
    CHECK(guess_rate("30/minute") == "30r/m");
    CHECK(guess_rate("1500/10s") == "1500r/10s");
    CHECK(guess_rate("5mb/s") == "5MB/s");
    CHECK(guess_rate("5MiB") == "5MiB/s");
    CHECK(guess_rate("20c") == "20c/s");
}

TEST_CASE("durations and sizes as other programs write them") {
    CHECK(guess_duration("5min") == "5m");
    CHECK(guess_duration("10 seconds") == "10s");
    CHECK(guess_duration("10") == "10s");
    CHECK(guess_duration("100msec") == "100ms");
    CHECK(guess_size("64k") == "64KiB");
    CHECK(guess_size("64kb") == "64kB");
    CHECK(guess_size("1 MiB") == "1MiB");
    CHECK(guess_size("1024") == "1024B");
}

TEST_CASE("addresses as other programs write them") {
    CHECK(guess_listen_address("8080") == ":8080");
    CHECK(guess_listen_address("localhost:8080") == "127.0.0.1:8080");
    CHECK(guess_listen_address("*:8080") == "0.0.0.0:8080");
    CHECK(guess_listen_address("http://127.0.0.1:8080/") == "127.0.0.1:8080");
    CHECK(guess_listen_address("/run/weir.sock") == "unix:/run/weir.sock");
    for (const std::string& text :
         {std::string(""), std::string("here"), std::string("99999"), std::string("a:b"),
          std::string("localhost:x"), std::string("://"), std::string("a://b://c"),
          "/" + std::string(300, 'x')}) {
        CAPTURE(text);
        CHECK(guess_listen_address(text).empty());
        CHECK_FALSE(parse_listen_address(text).has_value());
    }
}

TEST_CASE("nothing is guessed where nothing can be meant, and the parsers come to an end") {
    for (const char* text :
         {"", "s", "yesterday", "-1h", "1.2.3", "1.2.3s", "r/s", "5 x/s", "/", "per",
          "99999999999999999999999999999999y", "1..5r/s", "0x10", "1r/0s"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_rate(text).has_value());
        CHECK_FALSE(parse_duration(text).has_value());
        CHECK_FALSE(parse_size(text).has_value());
    }
    CHECK(guess_duration("yesterday").empty());
    CHECK(guess_rate("5 x/s").empty());
}

TEST_CASE("the parsers tell what they guess") {
    CHECK(parse_rate("100rps").error().message.ends_with(", did you mean '100r/s'?"));
    CHECK(parse_rate("100/s").error().message.ends_with(", did you mean '100r/s'?"));
    CHECK(parse_rate("5r/min").error().message.ends_with(", did you mean '5r/m'?"));
    CHECK(parse_duration("5min").error().message.ends_with(", did you mean '5m'?"));
    CHECK(parse_listen_address("8080").error().message.ends_with(", did you mean ':8080'?"));
    CHECK(parse_size("64k").error().message.ends_with(", did you mean '64KiB'?"));
}

}  // namespace
}  // namespace weir::config
