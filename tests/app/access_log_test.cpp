// The access log's lines and its bounded queue.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "app/access_log_writer.h"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

std::string line_of(const proxy::AccessRecord& record, Duration time = 0s) {
    std::array<char, AccessLogWriter::kLine> room{};
    return {room.data(), format_access_line(record, time, room)};
}

proxy::AccessRecord sample() {
    proxy::AccessRecord record;
    record.method = "GET";
    record.target = "/b/k?x=1";
    record.host = "a.test";
    record.quota = "s3/b";
    record.request_id = "id-1";
    record.status = 429;
    record.ending = proxy::Ending::refused_limit;
    record.duration = 12'345us;
    record.bytes_in = 100;
    record.bytes_out = 200;
    return record;
}

/// A file of this process that goes away at the end.
struct TemporaryFile {
    std::string path =
        (std::filesystem::temp_directory_path() / ("weir-access-" + std::to_string(::getpid())))
            .string();
    ~TemporaryFile() { std::filesystem::remove(path); }
    [[nodiscard]] std::vector<std::string> lines() const {
        std::ifstream stream(path);
        std::vector<std::string> all;
        for (std::string line; std::getline(stream, line);) {
            all.push_back(line);
        }
        return all;
    }
};

TEST_CASE("a line of the access log") {
    CHECK(line_of(sample(), Duration(1'795'280'400'123ms)) ==
          R"({"time":"2026-11-21T17:00:00.123Z","method":"GET","host":"a.test","path":"/b/k?x=1",)"
          R"("status":429,"duration_ms":12.345,"bytes_in":100,"bytes_out":200,"quota":"s3/b",)"
          R"("outcome":"refused","reason":"limit","request_id":"id-1"})"
          "\n");
}

TEST_CASE("whatever the texts hold, a line is JSON and fits") {
    const std::string controls("\"\\\n\0\x7f", 5);
    const std::string utf8 = "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
    const std::string broken = "\xc3\xff\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80";
    for (const std::string& text : {controls, utf8, broken, std::string(5000, '"'),
                                    std::string(5000, '\x01'), std::string(5000, '\xff')}) {
        auto record = sample();
        record.method = record.target = record.host = record.quota = record.request_id = text;
        record.bytes_in = record.bytes_out = ~std::uint64_t{0};
        record.status = ~0U;
        record.duration = Duration::max();
        const std::string line = line_of(record, Duration::max());
        CHECK(line.size() <= AccessLogWriter::kLine);
        const auto json = nlohmann::json::parse(line, nullptr, false);
        REQUIRE_FALSE(json.is_discarded());
        if (text == utf8 || text == controls) {
            CHECK(json["path"] == text);
        }
        if (text.size() == 5000) {
            CHECK(json["path"].get<std::string>().size() > 100);
        }
    }
}

TEST_CASE("what is recorded is in the file after closing") {
    const TemporaryFile file;
    AccessLogWriter log(file.path);
    REQUIRE(log.open().has_value());
    for (int i = 0; i < 1000; ++i) {
        log.record(sample());
    }
    REQUIRE(log.open().has_value());  // as at SIGHUP
    log.close();
    CHECK(file.lines().size() == 1000);
    CHECK(log.counters().written == 1000);
    CHECK(log.counters().dropped == 0);
}

TEST_CASE("a full queue drops and counts, and nobody waits") {
    const TemporaryFile file;
    AccessLogWriter log(file.path);
    // Not open: nobody empties the queue.
    for (std::size_t i = 0; i < AccessLogWriter::kSlots + 7; ++i) {
        log.record(sample());
    }
    CHECK(log.counters().dropped == 7);
    REQUIRE(log.open().has_value());
    log.close();
    CHECK(file.lines().size() == AccessLogWriter::kSlots);
}

TEST_CASE("a pipe that nobody reads does not keep the program from ending") {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const TemporaryFile file;
    std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(pipe[1]), file.path);
    AccessLogWriter log(file.path);
    REQUIRE(log.open().has_value());
    for (std::size_t i = 0; i < AccessLogWriter::kSlots; ++i) {
        log.record(sample());
    }
    log.close();
    CHECK(log.counters().failed > 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST_CASE("a file that cannot be opened is an error") {
    AccessLogWriter log("/nonexistent/folder/file");
    const auto opened = log.open();
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().message.find("access_log_file") != std::string::npos);
}

}  // namespace
}  // namespace weir::app
