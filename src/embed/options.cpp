#include "embed/options.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/characters.h"
#include "base/closest.h"
#include "config/settings_fields.h"

namespace weir::embed {
namespace {

constexpr std::size_t kFirstSize = sizeof(weir_options);  // of the first version

Error bad_line(std::size_t number, const std::string& what) {
    return error(ErrorCode::invalid_argument,
                 "options.settings: line " + std::to_string(number) + ": " + what);
}

std::string unknown_key(std::string_view key) {
    std::vector<std::string_view> known;
    for (const config::SettingField& field : config::setting_fields()) {
        known.push_back(field.key);
    }
    const std::string_view meant = closest(key, known);
    std::string message = "unknown key '" + std::string(key.substr(0, 64)) + "'";
    if (!meant.empty()) {
        message += ", did you mean '" + std::string(meant) + "'?";
    }
    return message;
}

bool is_known(std::string_view key) {
    const auto& fields = config::setting_fields();
    return std::any_of(fields.begin(), fields.end(),
                       [&](const config::SettingField& field) { return field.key == key; });
}

Result<config::Override> read_line(std::string_view line, std::size_t number) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
        return bad_line(number, "is not 'key = value'");
    }
    const std::string_view key = trim_line(line.substr(0, equals));
    if (!is_known(key)) {
        return bad_line(number, unknown_key(key));
    }
    return config::Override{.key = std::string(key),
                            .source = "options.settings: line " + std::to_string(number),
                            .text = std::string(trim_line(line.substr(equals + 1)))};
}

}  // namespace

Result<std::vector<config::Override>> read_settings_lines(std::string_view text) {
    std::vector<config::Override> overrides;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trim_line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#') {
            continue;
        }
        auto override_ = read_line(line, number);
        if (!override_) {
            return override_.error();
        }
        overrides.push_back(std::move(*override_));
    }
    return overrides;
}

Result<node::ConfigSource> to_source(const weir_options& options) {
    if (options.size < kFirstSize) {
        return error(ErrorCode::invalid_argument,
                     "options.size is too small: begin with WEIR_OPTIONS_INIT");
    }
    node::ConfigSource source;
    source.reader = config::Reader::embedding;
    if (options.settings_file != nullptr) {
        source.file = options.settings_file;
    }
    if (options.settings != nullptr) {
        auto overrides = read_settings_lines(options.settings);
        if (!overrides) {
            return overrides.error();
        }
        source.overrides = std::move(*overrides);
    }
    if (options.quota_document != nullptr) {
        source.documents.push_back({"options.quota_document", options.quota_document});
    }
    return source;
}

}  // namespace weir::embed
