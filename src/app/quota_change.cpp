#include "app/quota_change.h"

#include <array>
#include <ctime>
#include <map>

#include "config/quota_document.h"

namespace weir::app {
namespace {

using limiter::QuotaDefinition;

/// Values by path, such as "limits[0].rate" and "100r/s", in the order of the document.
using FlatFields = std::vector<std::pair<std::string, std::string>>;

void flatten(const Json& value, const std::string& path, FlatFields& fields) {
    if (value.is_object()) {
        for (const auto& [key, member] : value.items()) {
            if (!path.empty() || key != "name") {
                flatten(member, path.empty() ? key : path + "." + key, fields);
            }
        }
    } else if (value.is_array() && !value.empty()) {
        for (std::size_t i = 0; i < value.size(); ++i) {
            flatten(value[i], path + "[" + std::to_string(i) + "]", fields);
        }
    } else if (!value.is_array()) {
        fields.emplace_back(path, value.is_string() ? value.get<std::string>() : value.dump());
    }
}

FlatFields fields_of(const std::optional<QuotaDefinition>& definition) {
    FlatFields fields;
    if (definition) {
        flatten(Json::parse(config::quota_json(*definition, -1), nullptr, false), "", fields);
    }
    return fields;
}

std::string date_text(std::int64_t unix_seconds) {
    const std::time_t time = unix_seconds;
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts);
    return text.data();
}

std::string heading_of(const Json& change, std::int64_t unix_now) {
    const auto written = unix_now - static_cast<std::int64_t>(number_of(change, "age_seconds"));
    const std::string who = text_of(change, "who");
    const std::string why = text_of(change, "why");
    std::string text = date_text(written) + "  epoch " + text_of(change, "epoch") + " by " +
                       text_of(change, "writer") + "  " + text_of(change, "kind");
    text += who.empty() ? "" : "  " + who;
    text += why.empty() ? "" : "  '" + why + "'";
    if (change.contains("expires_after_seconds") && change["expires_after_seconds"].is_number()) {
        text += "  for " + short_number(number_of(change, "expires_after_seconds")) + "s";
    }
    return text + "  [" + text_of(change, "state") + "]\n";
}

}  // namespace

std::string target_of(const std::string& name) { return "/v1/quotas/" + percent_encode(name); }

std::string with_note(std::string target, const ChangeNote& note) {
    char separator = '?';
    const auto add = [&](const char* key, const std::string& value) {
        if (value.empty()) {
            return;
        }
        target += separator + (key + ("=" + percent_encode(value)));
        separator = '&';
    };
    add("who", note.who);
    add("why", note.why);
    add("expires_in", note.expires_in);
    return target;
}

/// The definition in a row that weir itself has written.
std::optional<QuotaDefinition> definition_of(const Json& row) {
    if (!row.is_object() || !row.contains("definition") || row["definition"].is_null()) {
        return std::nullopt;
    }
    config::Diagnostics diagnostics;
    return config::parse_quota({"answer.json", row["definition"].dump()}, diagnostics);
}

std::vector<std::string> differences(const std::optional<QuotaDefinition>& before,
                                     const std::optional<QuotaDefinition>& after) {
    const FlatFields old_fields = fields_of(before);
    const FlatFields new_fields = fields_of(after);
    const std::map<std::string, std::string> old_by_path(old_fields.begin(), old_fields.end());
    const std::map<std::string, std::string> new_by_path(new_fields.begin(), new_fields.end());
    std::vector<std::string> lines;
    for (const auto& [path, value] : old_fields) {
        const auto found = new_by_path.find(path);
        if (found == new_by_path.end()) {
            lines.push_back("- " + path + ": " + value);
        } else if (found->second != value) {
            lines.push_back("~ " + path + ": " + value + " -> " + found->second);
        }
    }
    for (const auto& [path, value] : new_fields) {
        if (!old_by_path.contains(path)) {
            lines.push_back("+ " + path + ": " + value);
        }
    }
    return lines;
}

std::string history_text(const Json& report, std::int64_t unix_now) {
    const Json changes = report.value("history", Json::array());
    if (changes.empty()) {
        return "history   (no change by the API that this sidecar knows of)\n";
    }
    std::string text = "history   newest first\n";
    for (std::size_t i = 0; i < changes.size(); ++i) {
        text += "  " + heading_of(changes[i], unix_now);
        const bool last = i + 1 == changes.size();
        const auto before = last ? std::nullopt : definition_of(changes[i + 1]);
        if (text_of(changes[i], "kind") != "set") {
            continue;
        }
        for (const std::string& line : differences(before, definition_of(changes[i]))) {
            text += "    " + line + "\n";
        }
    }
    return text;
}

std::vector<std::string> set_problems(const Json& config) {
    std::vector<std::string> lines;
    for (const Json& set : config.value("quota_sets", Json::array())) {
        const std::string problem = text_of(set, "problem");
        if (!problem.empty()) {
            lines.push_back(problem);
        } else if (set.value("conflict", false)) {
            lines.push_back("set " + text_of(set, "name") + ": generation " +
                            text_of(set, "generation") +
                            " has other content elsewhere in the fleet: give the change a new "
                            "generation");
        }
    }
    return lines;
}

}  // namespace weir::app
