#include "app/usage.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/closest.h"

namespace weir::app {

std::vector<std::string> commands_of(CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* one : command.get_subcommands([](CLI::App*) { return true; })) {
        names.push_back(one->get_name());
    }
    return names;
}

std::vector<std::string> flags_of(CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

std::string path_of(CLI::App& command) {
    CLI::App* parent = command.get_parent();
    return parent == nullptr ? "weir" : path_of(*parent) + " " + command.get_name();
}

namespace {

/// Commands of later versions. The error for them says so, and not that they are unknown.
constexpr std::array<std::string_view, 3> kLater = {"simulate", "top", "inject"};

bool looks_like_flag(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// Says that there is no such word in the command, and which was probably meant.
std::string no_such_word(CLI::App& command, const std::string& kind, const std::string& name,
                         const std::vector<std::string>& words) {
    const std::vector<std::string_view> candidates(words.begin(), words.end());
    const std::string_view guess = closest(name, candidates);
    const std::string path = path_of(command);
    std::string text = "unknown " + kind + " '" + name + "' of '" + path + "'";
    text += guess.empty() ? "" : ", did you mean '" + std::string(guess) + "'?";
    return text + "\n(see '" + path + " --help')";
}

std::string no_such_command(CLI::App& command, const std::string& name) {
    const std::vector<std::string> words = commands_of(command);
    return no_such_word(command, words.empty() ? "argument" : "command", name, words);
}

/// Whether the word is no flag because it comes after `--`.
bool after_end_of_flags(const std::string& word, const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::find(end, arguments.end(), word) != arguments.end();
}

/// Whether the word is a flag with an equals sign and no value.
bool has_empty_value(const std::string& word) {
    return word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1;
}

/// Whether the command, or one below it, has a flag of this name that takes a value, or one that
/// takes none.
bool has_flag(CLI::App& command, const std::string& name, bool with_value) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option != nullptr && (option->get_items_expected_max() > 0) == with_value) {
        return true;
    }
    const auto below = command.get_subcommands([](CLI::App*) { return true; });
    return std::any_of(below.begin(), below.end(),
                       [&](CLI::App* one) { return has_flag(*one, name, with_value); });
}

}  // namespace

std::vector<std::string> for_cli11(const std::vector<std::string>& arguments) {
    std::vector<std::string> words;
    bool flags = true;  // until "--"
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        flags = flags && word != "--";
        if (flags && has_empty_value(word)) {
            words.push_back(word.substr(0, word.size() - 1));
            words.emplace_back();
        } else {
            words.push_back(word);
        }
    }
    std::reverse(words.begin(), words.end());
    return words;
}

std::string flag_with_empty_value(CLI::App& app, const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    const auto name_of = [](const std::string& word) { return word.substr(0, word.size() - 1); };
    const auto found = std::find_if(arguments.begin(), end, [&](const std::string& word) {
        return has_empty_value(word) && has_flag(app, name_of(word), false) &&
               !has_flag(app, name_of(word), true);
    });
    return found == end ? std::string() : name_of(*found);
}

int complain_usage(const std::string& text) {
    std::fprintf(stderr, "weir: %s\n", text.c_str());
    return kExitUsage;
}

std::string help_of(CLI::App& command) {
    return command.get_formatter()->make_help(&command, path_of(command),
                                              CLI::AppFormatMode::Normal);
}

int show_help(CLI::App& app, const std::vector<std::string>& path) {
    CLI::App* command = &app;
    for (const std::string& name : path) {
        const std::vector<std::string> names = commands_of(*command);
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            return complain_usage(no_such_command(*command, name));
        }
        command = command->get_subcommand(name);
    }
    std::fputs(help_of(*command).c_str(), stdout);
    return 0;
}

CLI::App& named_command(CLI::App& app) {
    CLI::App* at = &app;
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
    }
    return *at;
}

std::string explain_unknown_word(CLI::App& app, const std::vector<std::string>& arguments) {
    CLI::App& command = named_command(app);
    const std::string path = path_of(command);
    const std::vector<std::string> rest = app.remaining(true);
    const std::string word = rest.empty() ? "" : rest.front();
    if (std::find(kLater.begin(), kLater.end(), word) != kLater.end()) {
        return "'" + path + " " + word + "' is not in this version";
    }
    const bool is_flag = looks_like_flag(word);
    if (is_flag && after_end_of_flags(word, arguments)) {
        return "'" + word + "' comes after '--', which ends the flags: put the flags before it, " +
               "as in '" + path + " FLAGS -- NAME'";
    }
    const std::string name = word.substr(0, word.find('='));
    return is_flag ? no_such_word(command, "flag", name, flags_of(command))
                   : no_such_command(command, name);
}

std::string explain_failure(CLI::App& app, const CLI::ParseError& failure) {
    std::string what = failure.what();
    if (const auto at = what.find(": 1 required"); at != std::string::npos) {
        what.replace(at, std::string::npos, " needs a value");
    }
    return what + "\n(see '" + path_of(named_command(app)) + " --help')";
}

}  // namespace weir::app
