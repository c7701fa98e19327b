// Formats one line of the access log. This is done for each logged request, without allocation and
// without locale.

#include <algorithm>
#include <charconv>
#include <chrono>

#include "app/access_log_writer.h"

#include "base/characters.h"

namespace weir::app {
namespace {

// The largest number of bytes that each text may take in a line, with quotes and escapes.
constexpr std::size_t kMethod = 40;
constexpr std::size_t kPath = 970;
constexpr std::size_t kHost = 200;
constexpr std::size_t kQuota = 300;
constexpr std::size_t kRequestId = 150;
constexpr std::size_t kRest = 388;  // keys, numbers, time, outcome, the client's address
static_assert(kMethod + kPath + kHost + kQuota + kRequestId + kRest <= AccessLogWriter::kLine);

class LineWriter {
  public:
    explicit LineWriter(std::span<char> room) : begin_(room.data()), at_(begin_) {}

    void plain(std::string_view text) { at_ = std::copy(text.begin(), text.end(), at_); }
    void number(std::uint64_t value, std::size_t digits = 0) {
        std::array<char, 20> text;
        const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
        const auto size = static_cast<std::size_t>(end - text.data());
        for (std::size_t i = size; i < digits; ++i) {
            *at_++ = '0';
        }
        plain({text.data(), size});
    }
    /// Writes a JSON string of at most `most` bytes, quotes included; bytes that are not UTF-8
    /// become \u00XX.
    void quoted(std::string_view text, std::size_t most) {
        constexpr std::size_t kEscape = 6;
        const char* const end = at_ + most - 1 - kEscape;
        *at_++ = '"';
        while (!text.empty() && at_ <= end) {
            const std::size_t length = character_length(text);
            const char c = text.front();
            const auto byte = static_cast<unsigned char>(c);
            if (length == 0 || byte < 0x20 || byte == 0x7f) {
                escape(byte);
                text.remove_prefix(1);
                continue;
            }
            if (c == '"' || c == '\\') {
                *at_++ = '\\';
            }
            plain(text.substr(0, length));
            text.remove_prefix(length);
        }
        *at_++ = '"';
    }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

  private:
    void escape(unsigned char byte) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        plain("\\u00");
        *at_++ = kDigits[byte >> 4U];
        *at_++ = kDigits[byte & 15U];
    }

    char* begin_;
    char* at_;
};

/// Writes a time like "2026-11-21T17:00:00.123Z".
void write_time(LineWriter& line, Duration unix_time) {
    using namespace std::chrono;
    const auto milliseconds_since = floor<milliseconds>(unix_time);
    const auto days_since = floor<days>(milliseconds_since);
    const year_month_day date{sys_days(days_since)};
    const hh_mm_ss time(milliseconds_since - days_since);
    const auto part = [&](auto value, std::size_t digits, char behind) {
        line.number(static_cast<std::uint64_t>(value), digits);
        line.plain({&behind, 1});
    };
    line.plain("\"");
    part(static_cast<int>(date.year()), 4, '-');
    part(static_cast<unsigned>(date.month()), 2, '-');
    part(static_cast<unsigned>(date.day()), 2, 'T');
    part(time.hours().count(), 2, ':');
    part(time.minutes().count(), 2, ':');
    part(time.seconds().count(), 2, '.');
    part(time.subseconds().count(), 3, 'Z');
    line.plain("\"");
}

void write_milliseconds(LineWriter& line, Duration duration) {
    using namespace std::chrono;
    const auto micros = std::max<std::int64_t>(0, duration_cast<microseconds>(duration).count());
    line.number(static_cast<std::uint64_t>(micros / 1000));
    line.plain(".");
    line.number(static_cast<std::uint64_t>(micros % 1000), 3);
}

}  // namespace

std::size_t format_access_line(const proxy::AccessRecord& record, Duration unix_time,
                               std::span<char, AccessLogWriter::kLine> room) {
    constexpr std::size_t kWord = 32;
    LineWriter line(room);
    line.plain(R"({"time":)");
    write_time(line, unix_time);
    line.plain(R"(,"method":)");
    line.quoted(record.method, kMethod);
    line.plain(R"(,"host":)");
    line.quoted(record.host, kHost);
    line.plain(R"(,"path":)");
    line.quoted(record.target, kPath);
    line.plain(R"(,"status":)");
    line.number(record.status);
    line.plain(R"(,"duration_ms":)");
    write_milliseconds(line, record.duration);
    if (record.waited > Duration::zero()) {
        line.plain(R"(,"waited_ms":)");
        write_milliseconds(line, record.waited);
    }
    line.plain(R"(,"bytes_in":)");
    line.number(record.bytes_in);
    line.plain(R"(,"bytes_out":)");
    line.number(record.bytes_out);
    line.plain(R"(,"quota":)");
    line.quoted(record.quota, kQuota);
    line.plain(R"(,"outcome":)");
    line.quoted(proxy::outcome(record.ending), kWord);
    line.plain(R"(,"reason":)");
    line.quoted(proxy::reason(record.ending), kWord);
    line.plain(R"(,"request_id":)");
    line.quoted(record.request_id, kRequestId);
    line.plain("}\n");
    return line.size();
}

}  // namespace weir::app
