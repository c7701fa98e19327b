// What people and programs read: log lines, tables, encoded names.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/admin_client.h"
#include "app/log.h"
#include "app/remote_session.h"

namespace weir::app {
namespace {

TEST_CASE("text lines quote what could mislead") {
    const auto line = [](const LogFields& fields) {
        return render(config::LogFormat::text, "said", fields);
    };
    CHECK(line({}) == "said");
    CHECK(line({{"a", "b"}, {"c", "1:2"}}) == "said a=b c=1:2");
    CHECK(line({{"a", ""}}) == "said a=\"\"");
    CHECK(line({{"a", "two words"}}) == "said a=\"two words\"");
    CHECK(line({{"a", "x\ny=1"}}) == "said a=\"x\\ny=1\"");
    CHECK(render(config::LogFormat::text, "two\nlines", {}) == "\"two\\nlines\"");
}

TEST_CASE("JSON lines are JSON whatever is in them") {
    const LogFields fields = {{"a", "\"\n\x01"}, {"b", "\xff"}};
    const std::string line = "{" + render(config::LogFormat::json, "m", fields) + "}";
    const auto json = nlohmann::json::parse(line);
    CHECK(json["message"] == "m");
    CHECK(json["a"] == "\"\n\x01");
}

TEST_CASE("levels") {
    config::LogLevel level = config::LogLevel::info;
    for (const char* word : {"debug", "info", "warning", "error", "off"}) {
        CHECK(parse_log_level(word, level));
        CHECK(to_string(level) == word);
    }
    CHECK_FALSE(parse_log_level("trace", level));
    Log log({config::LogLevel::off, config::LogFormat::text});
    CHECK(log.level() == config::LogLevel::off);
    log.set_level(config::LogLevel::warning);
    CHECK(log.level() == config::LogLevel::warning);
}

TEST_CASE("own lines are limited in number") {
    Log log({config::LogLevel::error, config::LogFormat::json});
    for (std::uint64_t i = 0; i < 3 * Log::kLinesPerSecond; ++i) {
        log.error("a line that a test repeats", {});
    }
    // At most one second's turn falls into the loop.
    CHECK(log.suppressed() >= Log::kLinesPerSecond);
    CHECK(log.suppressed() <= 2 * Log::kLinesPerSecond);
}

TEST_CASE("tables") {
    CHECK(format_table({{"A", "LONGER"}, {"\xc3\xa4\xc3\xb6", "x"}, {"abc"}}) ==
          "A    LONGER\n\xc3\xa4\xc3\xb6   x\nabc\n");
    CHECK(format_table({{"a\x1b[1m\n"}}) == "a?[1m?\n");
    CHECK(short_number(0.12345) == "0.123");
    CHECK(short_number(12345.6) == "12346");
    CHECK(short_number(7) == "7");
}

TEST_CASE("names in paths") {
    CHECK(percent_encode("s3/{b}/x y%") == "s3%2F%7Bb%7D%2Fx%20y%25");
    CHECK(percent_encode("\xc3\xa4-._~") == "%C3%A4-._~");
}

}  // namespace
}  // namespace weir::app
