#pragma once
// The program's own log lines on standard error: JSON lines or text, through spdlog. The level may
// be changed while running. At most kLinesPerSecond lines are written in a second; how many were
// left out is said in the next one.
//
// Thread-safe. Never used on the request path.

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

/// Key and value; keys are ours, values may be anything.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;

class Log {
  public:
    static constexpr std::uint64_t kLinesPerSecond = 100;

    explicit Log(const config::LogSettings& settings);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void debug(std::string_view message, const LogFields& fields);
    void info(std::string_view message, const LogFields& fields);
    void warning(std::string_view message, const LogFields& fields);
    void error(std::string_view message, const LogFields& fields);

    [[nodiscard]] config::LogLevel level() const;
    void set_level(config::LogLevel level);
    /// Lines left out so far.
    [[nodiscard]] std::uint64_t suppressed() const;

  private:
    void write(config::LogLevel level, std::string_view message, const LogFields& fields);
    bool may_write(std::uint64_t& left_out);

    config::LogFormat format_;
    std::unique_ptr<spdlog::logger> logger_;
    mutable std::mutex mutex_;  ///< guards what follows
    Instant second_{};
    std::uint64_t lines_in_second_ = 0;
    std::uint64_t left_out_ = 0;
    std::uint64_t suppressed_ = 0;
};

/// One line's text behind time and level: `message key=value …` or the members of a JSON object.
[[nodiscard]] std::string render(config::LogFormat format, std::string_view message,
                                 const LogFields& fields);

/// "debug", "info", "warning", "error", "off".
[[nodiscard]] std::string_view to_string(config::LogLevel level);
/// The reverse; false for any other word.
[[nodiscard]] bool parse_log_level(std::string_view word, config::LogLevel& level);

}  // namespace weir::app
