#include "app/completion.h"

#include <vector>

#include "app/joined.h"
#include "app/usage.h"

namespace weir::app {
namespace {

/// A line of the script for each command: after which words which others may come.
void add_words(CLI::App& command, std::string& paths, std::string& words) {
    const std::string path = path_of(command);
    std::vector<std::string> next = commands_of(command);
    for (const std::string& name : next) {
        paths += (paths.empty() ? "" : "|") + ("\"" + path + " " + name + "\"");
    }
    for (const std::string& flag : flags_of(command)) {
        next.push_back(flag);
    }
    words += "        \"" + path + "\") words=\"" + joined(next, " ") + "\" ;;\n";
    for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) {
        add_words(*below, paths, words);
    }
}

}  // namespace

std::string bash_completion(CLI::App& app) {
    std::string paths;
    std::string words;
    add_words(app, paths, words);
    return "# Completion of weir for bash, made by 'weir completion bash'.\n"
           "_weir() {\n"
           "    local current=\"${COMP_WORDS[COMP_CWORD]}\" path=weir words= word\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
           "        case \"$path $word\" in\n            " +
           paths +
           ") path=\"$path $word\" ;;\n"
           "        esac\n"
           "    done\n"
           "    case \"$path\" in\n" +
           words +
           "    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    if [[ ${#COMPREPLY[@]} -eq 0 && \"$current\" != -* ]]; then\n"
           "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
           "    fi\n"
           "}\n"
           "complete -F _weir weir\n";
}

}  // namespace weir::app
