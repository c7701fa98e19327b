// What people and programs read: log lines, tables, encoded names.

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "app/admin_client.h"
#include "app/log.h"
#include "app/remote_session.h"

namespace weir::app {
namespace {

/// What `work` writes on standard error.
std::string said_by(const std::function<void()>& work) {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    const int terminal = ::dup(STDERR_FILENO);
    ::dup2(::fileno(file), STDERR_FILENO);
    work();
    ::dup2(terminal, STDERR_FILENO);
    ::close(terminal);
    std::rewind(file);
    std::string said;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
        said += static_cast<char>(c);
    }
    std::fclose(file);
    return said;
}

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
    const std::string said = said_by([] {
        Log log({config::LogLevel::error, config::LogFormat::json});
        for (std::uint64_t i = 0; i < 3 * Log::kLinesPerSecond; ++i) {
            log.error("a line that a test repeats", {});
        }
    });
    const auto lines = static_cast<std::uint64_t>(std::count(said.begin(), said.end(), '\n'));
    // At most one second's turn falls into the loop.
    CHECK(lines >= Log::kLinesPerSecond);
    CHECK(lines <= 2 * Log::kLinesPerSecond);
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
