#include "app/flags.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "app/joined.h"
#include "base/closest.h"
#include "config/flag_routes.h"
#include "config/settings_fields.h"
#include "config/values.h"

namespace weir::app {
namespace {

constexpr const char* kAdminVariable = "WEIR_ADMIN_ADDRESS";
constexpr std::string_view kPrefix = "WEIR_";

std::vector<std::string> known_variables() {
    std::vector<std::string> names = {"WEIR_CONFIG",
                                      kAdminVariable,
                                      "WEIR_OUTPUT",
                                      "WEIR_WHO",
                                      "WEIR_WHY",
                                      "WEIR_EXPIRES_IN",
                                      std::string(config::kRouteVariable)};
    for (const config::SettingField& field : config::setting_fields()) {
        names.push_back(config::variable_name(field.key));
    }
    return names;
}

/// The value of a variable; null if it is not set or empty, which is the same: a deployment that
/// passes on a variable of its own leaves it empty when there is nothing to say.
const char* given_variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr || *value == '\0' ? nullptr : value;
}

std::string group_of(std::string_view key) {
    const std::size_t dot = key.find('.');
    return dot == std::string_view::npos ? "Main settings"
                                         : "Section " + std::string(key.substr(0, dot));
}

/// What a flag means, its values or bounds, and its default.
std::string flag_help(const config::SettingField& field) {
    std::string text(field.meaning);
    text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
    const std::string otherwise(field.default_text);
    return field.bounds.empty()
               ? text + " [" + otherwise + "]"
               : text + " [" + otherwise + "; possible: " + std::string(field.bounds) + "]";
}

/// For flags whose value must be a text. A script that passes on a variable of its own may leave it
/// empty, and would else be answered as if the flag were not there.
std::string must_not_be_empty(const std::string& text) {
    return text.empty() ? "must not be empty" : std::string();
}

std::string flag_text(const config::SettingField& field, const std::vector<std::string>& values) {
    return field.is_list ? joined(values, ",") : values.back();
}

bool is_every_address(const Endpoint& endpoint) {
    const auto v6 = parse_endpoint("[::]:" + std::to_string(endpoint.port));
    return endpoint == Endpoint::v4(0, endpoint.port) || (v6 && endpoint == *v6);
}

/// Says that WEIR_ADMIN does not decide where this command asks, if somebody may think that it
/// does: it names another address, and not all addresses of the machine with the same port.
void explain_admin_variable(const config::ListenAddress& asked) {
    const std::string variable = config::variable_name("admin");
    const char* value = given_variable(variable);
    if (value == nullptr) {
        return;
    }
    const auto meant = config::parse_listen_address(value);
    const bool same = meant && (*meant == asked || (!meant->is_unix() && !asked.is_unix() &&
                                                    is_every_address(meant->endpoint) &&
                                                    meant->endpoint.port == asked.endpoint.port));
    if (!same) {
        std::fprintf(stderr, "weir: asking %s: %s says where a sidecar listens, %s where to ask\n",
                     to_string(asked).c_str(), variable.c_str(), kAdminVariable);
    }
}

}  // namespace

void ConfigFlags::add_to(CLI::App& command) {
    command.add_option("--config", config_, "The sidecar's own file (YAML or JSON)")
        ->envname("WEIR_CONFIG")
        ->type_name("FILE")
        ->check(&must_not_be_empty);
    command
        .add_option(std::string(config::kRouteFlag), routes_,
                    "Charge requests for a path to a quota, like '/{tenant}/**=shop/{tenant}'. "
                    "May be given several times: the first route that matches a request decides. "
                    "Takes the place of the file's routes.")
        ->type_name("PATH=QUOTA")
        ->allow_extra_args(false)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    for (const config::SettingField& field : config::setting_fields()) {
        auto& values = given_[std::string(field.key)];
        auto* option = command.add_option(config::flag_name(field.key), values, flag_help(field));
        option->group(group_of(field.key))->type_name("")->allow_extra_args(false);
        if (field.type == "true or false") {
            // The flag alone means true.
            option->expected(0, 1)->default_str("true")->option_text("[true|false]");
        } else {
            option->expected(1);
            option->multi_option_policy(field.is_list ? CLI::MultiOptionPolicy::TakeAll
                                                      : CLI::MultiOptionPolicy::TakeLast);
        }
        option->each([](const std::string&) {});
    }
}

node::ConfigSource ConfigFlags::source() const {
    node::ConfigSource source;
    if (!config_.empty()) {
        source.file = config_;
    }
    for (const config::SettingField& field : config::setting_fields()) {
        const std::string variable = config::variable_name(field.key);
        if (const char* value = given_variable(variable)) {
            source.overrides.push_back({std::string(field.key), variable, value});
        }
    }
    if (const char* value = given_variable(std::string(config::kRouteVariable))) {
        source.overrides.push_back(
            {std::string(config::kRoutesKey), std::string(config::kRouteVariable), value});
    }
    for (const config::SettingField& field : config::setting_fields()) {
        const auto& values = given_.at(std::string(field.key));
        if (!values.empty()) {
            source.overrides.push_back(
                {std::string(field.key), config::flag_name(field.key), flag_text(field, values)});
        }
    }
    if (!routes_.empty()) {
        source.overrides.push_back({std::string(config::kRoutesKey),
                                    std::string(config::kRouteFlag),
                                    joined(routes_, "\n") + "\n"});  // also after an empty one
    }
    for (const auto& [name, meant] : misspelt_variables()) {
        source.notes.push_back(
            {config::Severity::warning, name, {}, {}, "no setting has this variable", meant});
    }
    return source;
}

std::vector<std::pair<std::string, std::string>> misspelt_variables() {
    const std::vector<std::string> known = known_variables();
    std::vector<std::string_view> ends;
    ends.reserve(known.size());
    for (const std::string_view name : known) {
        ends.push_back(name.substr(kPrefix.size()));
    }
    std::vector<std::pair<std::string, std::string>> found;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view variable(*one);
        const std::string_view name = variable.substr(0, variable.find('='));
        if (!name.starts_with(kPrefix) ||
            std::find(known.begin(), known.end(), name) != known.end()) {
            continue;
        }
        const std::string_view meant = closest(name.substr(kPrefix.size()), ends);
        if (!meant.empty()) {
            found.emplace_back(name, std::string(kPrefix) + std::string(meant));
        }
    }
    return found;
}

void RemoteFlags::add_to(CLI::App& command) {
    admin_options_.push_back(
        command
            .add_option("--admin", admin_,
                        "The sidecar's admin listener: address and port, or unix: and a path "
                        "[127.0.0.1:9901]")
            ->envname(kAdminVariable)
            ->type_name("ADDRESS"));
    command.add_option("--admin-token-file", token_file_, "File with the listener's bearer token")
        ->envname("WEIR_ADMIN_TOKEN_FILE")
        ->type_name("FILE")
        ->check(&must_not_be_empty);
    command.add_option("--output,-o", output_, "table or json [table]")
        ->envname("WEIR_OUTPUT")
        ->type_name("FORMAT");
}

Result<RemoteOptions> RemoteFlags::options() const {
    RemoteOptions options;
    const auto address = config::parse_listen_address(admin_);
    if (!address) {
        return error(ErrorCode::invalid_argument, "--admin: " + address.error().message);
    }
    if (output_ != "table" && output_ != "json") {
        return error(ErrorCode::invalid_argument,
                     "--output: '" + output_ + "' must be table or json");
    }
    const bool given = std::any_of(admin_options_.begin(), admin_options_.end(),
                                   [](const CLI::Option* one) { return one->count() > 0; });
    if (!given) {
        explain_admin_variable(*address);
    }
    options.admin = *address;
    options.token_file = token_file_;
    options.output = output_ == "json" ? OutputFormat::json : OutputFormat::table;
    for (const auto& [name, meant] : misspelt_variables()) {
        std::fprintf(stderr, "weir: no command reads the variable %s, did you mean '%s'?\n",
                     name.c_str(), meant.c_str());
    }
    return options;
}

void NoteFlags::add_to(CLI::App& command, bool may_expire) {
    note_.who = current_user();
    command.add_option("--who", note_.who, "Who changes it [the user]")
        ->envname("WEIR_WHO")
        ->check(&must_not_be_empty);
    command.add_option("--why", note_.why, "Why, for whoever looks later")->envname("WEIR_WHY");
    if (!may_expire) {
        return;
    }
    command
        .add_option("--expires-in,--expires", note_.expires_in,
                    "Take the change back by itself after this long, like 30m or 7d; never: it "
                    "stays [as it is]")
        ->envname("WEIR_EXPIRES_IN")
        ->check(&must_not_be_empty);
}

ChangeNote NoteFlags::note() const { return note_; }

std::string NoteFlags::what_is_wrong() const {
    constexpr Duration kLongest = std::chrono::hours(24) * 366;
    const std::string& text = note_.expires_in;
    if (text.empty() || text == "never" || text == "keep") {
        return {};
    }
    const auto time = config::parse_duration(text);
    if (time && *time > Duration::zero() && *time <= kLongest) {
        return {};
    }
    return "--expires: '" + text + "' must be a time from now on, like 30m, 2h or 7d, at most " +
           "366d, or never";
}

std::string current_user() {
    // Not $USER, which anybody can set and which sudo and containers leave as it was.
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> texts{};
    const auto failed = ::getpwuid_r(::getuid(), &entry, texts.data(), texts.size(), &found);
    return failed == 0 && found != nullptr ? found->pw_name : "uid " + std::to_string(::getuid());
}

}  // namespace weir::app
