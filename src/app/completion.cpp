#include "app/completion.h"

#include <vector>

#include "app/joined.h"
#include "app/usage.h"

namespace weir::app {
namespace {

/// A command or a flag, as a shell offers it.
struct CompletedWord {
    std::string name;  ///< "set", "--rate"
    std::string about;
    bool needs_value = false;
};

/// What may come after a command.
struct Command {
    std::string path;  ///< "weir quota"
    std::vector<CompletedWord> below;
    std::vector<CompletedWord> flags;
};

void list_commands(CLI::App& app, std::vector<Command>& found) {
    Command command{path_of(app), {}, {}};
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            command.flags.push_back(
                {"--" + name, option->get_description(), option->get_items_expected_min() > 0});
        }
    }
    const std::vector<CLI::App*> below = app.get_subcommands([](CLI::App*) { return true; });
    for (const CLI::App* one : below) {
        command.below.push_back({one->get_name(), one->get_description()});
    }
    found.push_back(command);
    for (CLI::App* one : below) {
        list_commands(*one, found);
    }
}

/// The paths of all commands but the first, which is weir itself, and but `help`: what comes after
/// it are commands again.
std::vector<std::string> quoted_paths(const std::vector<Command>& commands) {
    std::vector<std::string> paths;
    for (std::size_t index = 1; index < commands.size(); ++index) {
        if (commands[index].path != "weir help") {
            paths.push_back("'" + commands[index].path + "'");
        }
    }
    return paths;
}

/// Between single quotes, where a quote becomes what the shell takes for one.
std::string quoted(const std::string& text, std::string_view quote) {
    std::string result = "'";
    for (const char letter : text) {
        if (letter == '\'') {
            result += quote;
        } else {
            result += letter;
        }
    }
    return result + "'";
}

/// Within a loop over the words before the one at the cursor: follows them to the command that they
/// name, ends the loop, and runs that command's case. bash and zsh read this alike.
std::string select_command(const std::vector<Command>& commands, const std::string& cases) {
    return "        case \"$at $word\" in\n            " + joined(quoted_paths(commands), "|") +
           ") at=\"$at $word\" ;;\n"
           "        esac\n"
           "    done\n"
           "    case \"$at\" in\n" +
           cases + "    esac\n";
}

std::string for_bash(const std::vector<Command>& commands) {
    std::string cases;
    for (const Command& command : commands) {
        std::vector<std::string> names;
        for (const auto* words : {&command.below, &command.flags}) {
            for (const CompletedWord& word : *words) {
                names.push_back(word.name);
            }
        }
        cases += "        '" + command.path + "') words='" + joined(names, " ") + "' ;;\n";
    }
    return "# Completion of weir for bash, made by 'weir completion bash'.\n"
           "_weir() {\n"
           "    local current=\"${COMP_WORDS[COMP_CWORD]}\" at=weir words= word\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n" +
           select_command(commands, cases) +
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    if [[ ${#COMPREPLY[@]} -eq 0 && \"$current\" != -* ]]; then\n"
           "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
           "    fi\n"
           "}\n"
           "complete -F _weir weir\n";
}

/// A list for zsh's _describe: a colon ends the name of each.
std::string described(const std::vector<CompletedWord>& words) {
    std::string list;
    for (const CompletedWord& word : words) {
        list += "\n                " + quoted(word.name + ":" + word.about, "'\\''");
    }
    return list;
}

std::string for_zsh(const std::vector<Command>& commands) {
    std::string cases;
    for (const Command& command : commands) {
        cases += "        '" + command.path + "')\n            below=(" + described(command.below) +
                 ")\n            flags=(" + described(command.flags) + ")\n            ;;\n";
    }
    // The body of an autoloaded file is the first call of the function.
    return "#compdef weir\n"
           "# Completion of weir for zsh, made by 'weir completion zsh'.\n"
           "_weir() {\n"
           "    local at=weir word\n"
           "    local -a below flags\n"
           "    for word in \"${(@)words[2,CURRENT-1]}\"; do\n" +
           select_command(commands, cases) +
           "    if [[ \"$PREFIX\" == -* ]]; then\n"
           "        _describe -o flag flags\n"
           "    elif (( $#below )); then\n"
           "        _describe command below\n"
           "    else\n"
           "        _files\n"
           "    fi\n"
           "}\n"
           "if [[ \"${funcstack[1]}\" == _weir ]]; then\n"
           "    _weir \"$@\"\n"
           "else\n"
           "    compdef _weir weir\n"
           "fi\n";
}

std::string for_fish(const std::vector<Command>& commands) {
    std::string lines;
    for (const Command& command : commands) {
        const std::string line = "complete -c weir -n \"__weir_is_at '" + command.path + "'\"";
        for (const CompletedWord& word : command.below) {
            lines += line + " -f -a " + word.name + " -d " + quoted(word.about, "\\'") + "\n";
        }
        for (const CompletedWord& flag : command.flags) {
            lines += line + (flag.needs_value ? " -r" : "") + " -l " + flag.name.substr(2) +
                     " -d " + quoted(flag.about, "\\'") + "\n";
        }
    }
    return "# Completion of weir for fish, made by 'weir completion fish'.\n"
           "function __weir_is_at\n"
           "    set -l at weir\n"
           "    set -l given (commandline -opc)\n"
           "    set -e given[1]\n"
           "    for word in $given\n"
           "        switch \"$at $word\"\n"
           "            case " +
           joined(quoted_paths(commands), " ") +
           "\n"
           "                set at \"$at $word\"\n"
           "        end\n"
           "    end\n"
           "    test \"$at\" = \"$argv[1]\"\n"
           "end\n" +
           lines;
}

}  // namespace

std::string completion(CLI::App& app, std::string_view shell) {
    std::vector<Command> commands;
    list_commands(app, commands);
    return shell == "bash"   ? for_bash(commands)
           : shell == "zsh"  ? for_zsh(commands)
           : shell == "fish" ? for_fish(commands)
                             : std::string();
}

}  // namespace weir::app
