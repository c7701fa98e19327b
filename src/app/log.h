#pragma once
// The program's own log: lines of JSON or of text on standard error, written through spdlog. The
// level may be changed while the program runs. At most kLinesPerSecond lines are written in a
// second; the first line of a later second says how many were left out.
//
// Thread-safety: every function may be called on any thread. The request path never logs.
// Ownership: it owns its logger, and must outlive the threads that write to it.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "config/settings.h"

namespace spdlog {
class logger;
}

namespace weir::app {

/// Pairs of key and value. Keys are texts of this program; values may hold any bytes.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;

class Log {
  public:
    static constexpr std::uint64_t kLinesPerSecond = 100;

    explicit Log(const config::LogSettings& settings);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void info(std::string_view message, const LogFields& fields);
    void warning(std::string_view message, const LogFields& fields);
    void error(std::string_view message, const LogFields& fields);

    [[nodiscard]] config::LogLevel level() const;
    void set_level(config::LogLevel level);

  private:
    void write(config::LogLevel level, std::string_view message, const LogFields& fields);
    bool may_write(std::uint64_t& left_out);

    config::LogFormat format_;
    std::unique_ptr<spdlog::logger> logger_;
    std::mutex mutex_;  ///< guards the members that follow
    Instant second_{};
    std::uint64_t lines_in_second_ = 0;
    std::uint64_t left_out_ = 0;
};

/// The text of a line after its time and level: `message key=value …`, or the members of a JSON
/// object.
[[nodiscard]] std::string render(config::LogFormat format, std::string_view message,
                                 const LogFields& fields);

/// The word of a level: "debug", "info", "warning", "error" or "off".
[[nodiscard]] std::string_view to_string(config::LogLevel level);
/// Finds the level of such a word. Returns false for any other word.
[[nodiscard]] bool parse_log_level(std::string_view word, config::LogLevel& level);

}  // namespace weir::app
