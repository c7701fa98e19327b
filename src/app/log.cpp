#include "app/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <nlohmann/json.hpp>

#include "net/clock.h"

namespace weir::app {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"debug", "info", "warning", "error", "off"};

spdlog::level::level_enum to_spdlog(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::debug:
            return spdlog::level::debug;
        case config::LogLevel::info:
            return spdlog::level::info;
        case config::LogLevel::warning:
            return spdlog::level::warn;
        case config::LogLevel::error:
            return spdlog::level::err;
        case config::LogLevel::off:
            return spdlog::level::off;
    }
    return spdlog::level::info;
}

config::LogLevel from_spdlog(spdlog::level::level_enum level) {
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
        const auto candidate = static_cast<config::LogLevel>(i);
        if (to_spdlog(candidate) == level) {
            return candidate;
        }
    }
    return config::LogLevel::info;
}

std::unique_ptr<spdlog::formatter> make_formatter(config::LogFormat format) {
    const char* pattern = format == config::LogFormat::json
                              ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                              : "%Y-%m-%dT%H:%M:%S.%eZ %l: %v";
    return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc);
}

std::string quote(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The value, quoted if it could mislead a reader or a terminal.
std::string text_value(std::string_view text) {
    const bool plain = !text.empty() && text.find_first_of(" \"=\\") == std::string_view::npos &&
                       quote(text).size() == text.size() + 2;
    return plain ? std::string(text) : quote(text);
}

}  // namespace

std::string render(config::LogFormat format, std::string_view message, const LogFields& fields) {
    if (format == config::LogFormat::json) {
        std::string line = "\"message\":" + quote(message);
        for (const auto& [key, value] : fields) {
            line += "," + quote(key) + ":" + quote(value);
        }
        return line;
    }
    const std::string quoted = quote(message);
    std::string line = quoted.size() == message.size() + 2 ? std::string(message) : quoted;
    for (const auto& [key, value] : fields) {
        line += " " + std::string(key) + "=" + text_value(value);
    }
    return line;
}

std::string_view to_string(config::LogLevel level) {
    return kLevels[static_cast<std::size_t>(level)];
}

bool parse_log_level(std::string_view word, config::LogLevel& level) {
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
        if (kLevels[i] == word) {
            level = static_cast<config::LogLevel>(i);
            return true;
        }
    }
    return false;
}

Log::Log(const config::LogSettings& settings)
    : format_(settings.format),
      logger_(std::make_unique<spdlog::logger>("weir",
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
    logger_->set_formatter(make_formatter(format_));
    logger_->set_level(to_spdlog(settings.level));
    logger_->flush_on(spdlog::level::debug);
}

Log::~Log() = default;

void Log::info(std::string_view message, const LogFields& fields) {
    write(config::LogLevel::info, message, fields);
}
void Log::warning(std::string_view message, const LogFields& fields) {
    write(config::LogLevel::warning, message, fields);
}
void Log::error(std::string_view message, const LogFields& fields) {
    write(config::LogLevel::error, message, fields);
}

config::LogLevel Log::level() const { return from_spdlog(logger_->level()); }

void Log::set_level(config::LogLevel level) { logger_->set_level(to_spdlog(level)); }

bool Log::may_write(std::uint64_t& left_out) {
    const std::lock_guard lock(mutex_);
    const Instant now = net::now();
    if (now - second_ >= std::chrono::seconds(1)) {
        second_ = now;
        lines_in_second_ = 0;
    }
    if (lines_in_second_ >= kLinesPerSecond) {
        ++left_out_;
        return false;
    }
    ++lines_in_second_;
    left_out = std::exchange(left_out_, 0);
    return true;
}

void Log::write(config::LogLevel level, std::string_view message, const LogFields& fields) {
    std::uint64_t left_out = 0;
    if (!logger_->should_log(to_spdlog(level)) || !may_write(left_out)) {
        return;
    }
    if (left_out == 0) {
        logger_->log(to_spdlog(level), "{}", render(format_, message, fields));
        return;
    }
    LogFields more = fields;
    more.emplace_back("lines_left_out", std::to_string(left_out));
    logger_->log(to_spdlog(level), "{}", render(format_, message, more));
}

}  // namespace weir::app
