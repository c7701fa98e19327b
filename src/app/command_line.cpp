#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "app/flags.h"
#include "app/remote.h"
#include "app/run.h"
#include "app/validate.h"
#include "app/version.h"
#include "config/diagnostics.h"

namespace weir::app {
namespace {

constexpr int kUsage = 2;

constexpr const char* kAbout =
    "weir holds a fleet to its rate limits: a reverse proxy beside each copy of a service, all of\n"
    "which share their counts by gossip.";

constexpr const char* kExamples =
    "Examples:\n"
    "  weir run --config weir.yaml              serve, as the file says\n"
    "  weir run --upstream http://127.0.0.1:3000 --quotas quotas.yaml\n"
    "                                           the same without a file of its own\n"
    "  weir validate --config weir.yaml         every mistake, with its place\n"
    "  weir quota list                          what is in force, and where it comes from\n"
    "  weir quota set s3/b1 --rate 200r/s --why 'load test' --expires-in 2h\n"
    "                                           change one limit in the whole fleet\n"
    "  weir status                              health, files, peers\n"
    "Every flag has a variable: --cluster-key-file is WEIR_CLUSTER_KEY_FILE. A flag wins over its\n"
    "variable, the variable over the file. 'weir COMMAND --help' tells more.";

constexpr const char* kRunExamples =
    "Signals: SIGTERM finishes what is in flight and ends (a second one at once), SIGHUP reads "
    "the\n"
    "files again. Changed quota files are noticed by themselves.";

constexpr const char* kSetExamples =
    "Only what is named changes; before and after are shown. Examples:\n"
    "  weir quota set s3/b1 --rate 200r/s\n"
    "  weir quota set s3/b1 --low 1s --high 500r\n"
    "  weir quota set s3/b1 --rate 50MiB/s --of response-bytes\n"
    "  weir quota set s3/b1 --mode shadow --why 'watching first'\n"
    "  weir quota set s3/b1 --high default        back to the default burst\n"
    "  weir quota set s3/b1 --absent              hide the file's quota\n"
    "Taken back by 'weir quota rm s3/b1'.";

/// Commands of later versions: asked for, they say so instead of being unknown.
constexpr std::array<std::string_view, 4> kLater = {"simulate", "top", "inject", "completion"};

int complain_usage(const std::string& text) {
    std::fprintf(stderr, "weir: %s\n", text.c_str());
    return kUsage;
}

/// The command line as a tree of CLI11 commands, with what each of them does.
class CommandLine {
  public:
    CommandLine() : app_(kAbout, "weir") {
        app_.footer(kExamples);
        app_.set_help_flag("-h,--help", "This help");
        add_run();
        add_validate();
        add_quota();
        add_status();
        add_drain();
        add_version();
    }

    int main(int count, const char* const* arguments) {
        try {
            app_.parse(count, arguments);
        } catch (const CLI::ExtrasError&) {
            return unknown();
        } catch (const CLI::ParseError& failure) {
            if (failure.get_exit_code() == 0) {
                std::fputs(deepest(app_)->help().c_str(), stdout);
                return 0;
            }
            return wrong(failure);
        }
        if (!action_) {
            std::fputs(deepest(app_)->help().c_str(), stderr);
            return kUsage;
        }
        return action_();
    }

  private:
    CLI::App& add(CLI::App& parent, const char* name, const char* about,
                  std::function<int()> action) {
        CLI::App& command = *parent.add_subcommand(name, about);
        command.set_help_flag("-h,--help", "This help");
        if (action) {
            command.final_callback([this, action] { action_ = action; });
        }
        return command;
    }

    CLI::App& add_remote(CLI::App& parent, const char* name, const char* about,
                         std::function<int(const RemoteOptions&)> action) {
        CLI::App& command = add(parent, name, about, [this, action] {
            const auto options = remote_.options();
            return options ? action(*options) : complain_usage(options.error().message);
        });
        remote_.add_to(command);
        return command;
    }

    void add_run() {
        CLI::App& command = add(app_, "run", "Serve: proxy, limit, gossip", [this] {
            return check_ ? check(config_.source()) : run(config_.source());
        });
        command.add_flag("--check", check_,
                         "Only tell whether it could start here: files, keys, free ports");
        config_.add_to(command);
        command.footer(kRunExamples);
    }

    void add_validate() {
        CLI::App& command =
            add(app_, "validate", "Check settings and quota documents; opens no socket", [this] {
                const ConfigSource source = validated_.source();
                if (!source.file && source.overrides.empty() && documents_.empty()) {
                    return complain_usage(
                        "say what to validate: --config FILE, or quota documents");
                }
                return validate(source, documents_);
            });
        command.add_option("documents", documents_, "Quota documents, or directories of them");
        validated_.add_to(command);
    }

    void add_quota() {
        CLI::App& quota = add(app_, "quota", "Show and change the quotas in force", {});
        CLI::App& list =
            add_remote(quota, "list", "All of them, and where they come from",
                       [this](const RemoteOptions& options) { return quota_list(options, name_); });
        list.add_option("prefix", name_, "Only names that begin like this");
        CLI::App& get =
            add_remote(quota, "get", "One of them: definition, level, rates, owners",
                       [this](const RemoteOptions& options) { return quota_get(options, name_); });
        get.add_option("name", name_, "A quota's or an instance's name")->required();
        CLI::App& remove =
            add_remote(quota, "rm", "Take a change back: the file's definition holds again",
                       [this](const RemoteOptions& options) {
                           return quota_remove(options, name_, note_.note());
                       });
        remove.add_option("name", name_, "The quota's name")->required();
        note_.add_to(remove);
        add_quota_set(quota);
        quota.footer(kSetExamples);
    }

    void add_quota_set(CLI::App& quota) {
        CLI::App& set =
            add_remote(quota, "set", "Change or make one, in the whole fleet",
                       [this](const RemoteOptions& options) { return set_quota(options); });
        set.add_option("name", set_.name, "The quota's name")->required();
        const auto flag = [&](const char* name, std::optional<std::string>& value,
                              const char* about) { set.add_option(name, value, about); };
        flag("--rate", set_.edit.rate, "An amount per time, like 200r/s or 5MiB/s; 0 refuses all");
        flag("--of", set_.edit.of, "requests, request-bytes, response-bytes or cost");
        flag("--low", set_.edit.low, "Nothing is shed up to here: 50r, 10MiB, 1s, or default");
        flag("--high", set_.edit.high, "Everything is shed from here on, or default");
        flag("--debt", set_.edit.debt, "How far above it levels may go, or default");
        flag("--law", set_.edit.law, "linear or adaptive");
        flag("--scope", set_.edit.scope, "fleet or sidecar");
        flag("--parent", set_.edit.parent, "The quota above it, or none");
        flag("--mode", set_.edit.mode, "enforce, shadow or off");
        flag("--headers", set_.edit.headers, "shown or hidden: whether refusals name it");
        flag("--max-instances", set_.edit.max_instances, "Of a template");
        set.add_flag("--absent", set_.absent, "Hide the file's quota of this name");
        set.add_flag("--dry-run", set_.dry_run, "Show before and after, change nothing");
        note_.add_to(set);
        set.footer(kSetExamples);
    }

    int set_quota(const RemoteOptions& options) {
        if (set_.absent && !set_.edit.empty()) {
            return complain_usage("--absent stands alone: it hides the quota");
        }
        if (!set_.absent && set_.edit.empty()) {
            return complain_usage("say what to change, like --rate 200r/s");
        }
        set_.note = note_.note();
        return quota_set(options, set_);
    }

    void add_status() {
        add_remote(app_, "status", "Health, files in force, peers",
                   [](const RemoteOptions& options) { return status(options); });
    }

    void add_drain() {
        add_remote(app_, "drain", "Become unready and keep serving until SIGTERM",
                   [](const RemoteOptions& options) { return drain(options); });
    }

    void add_version() {
        add(app_, "version", "What this program is", [] {
            std::printf("weir %s (%s, %s)\n", std::string(kVersion).c_str(),
                        std::string(kRevision).c_str(), std::string(kCompiler).c_str());
            return 0;
        });
    }

    /// The innermost command that was named.
    static CLI::App* deepest(CLI::App& app) {
        CLI::App* at = &app;
        while (!at->get_subcommands().empty()) {
            at = at->get_subcommands().front();
        }
        return at;
    }

    static std::vector<std::string> words_of(CLI::App& command, bool flags) {
        std::vector<std::string> words;
        if (!flags) {
            for (const CLI::App* sub : command.get_subcommands([](CLI::App*) { return true; })) {
                words.push_back(sub->get_name());
            }
            return words;
        }
        for (const CLI::Option* option : command.get_options()) {
            for (const std::string& name : option->get_lnames()) {
                words.push_back("--" + name);
            }
        }
        return words;
    }

    static std::string path_of(CLI::App& command) {
        CLI::App* parent = command.get_parent();
        return parent == nullptr ? "weir" : path_of(*parent) + " " + command.get_name();
    }

    int unknown() {
        CLI::App& command = *deepest(app_);
        const std::vector<std::string> rest = app_.remaining(true);
        const std::string word = rest.empty() ? "" : rest.front();
        if (std::find(kLater.begin(), kLater.end(), word) != kLater.end() ||
            (word == "apply" && command.get_name() == "quota")) {
            return complain_usage("'" + path_of(command) + " " + word + "' is not in this version");
        }
        const bool is_flag = word.size() > 1 && word.front() == '-';
        const std::string name = word.substr(0, word.find('='));
        const std::vector<std::string> words = words_of(command, is_flag);
        const std::vector<std::string_view> candidates(words.begin(), words.end());
        const std::string_view guess = config::closest(name, candidates);
        const std::string kind = is_flag ? "flag" : candidates.empty() ? "argument" : "command";
        std::string text = "unknown " + kind + " '" + name + "' of '" + path_of(command) + "'";
        text += guess.empty() ? "" : ", did you mean '" + std::string(guess) + "'?";
        return complain_usage(text + "\n(see '" + path_of(command) + " --help')");
    }

    int wrong(const CLI::ParseError& failure) {
        std::string what = failure.what();
        if (const auto at = what.find(": 1 required"); at != std::string::npos) {
            what.replace(at, std::string::npos, " needs a value");
        }
        return complain_usage(what + "\n(see '" + path_of(*deepest(app_)) + " --help')");
    }

    CLI::App app_;
    std::function<int()> action_;
    ConfigFlags config_;
    ConfigFlags validated_;
    RemoteFlags remote_;
    NoteFlags note_;
    QuotaSetCommand set_;
    std::string name_;
    std::vector<std::string> documents_;
    bool check_ = false;
};

}  // namespace

int main_with(int count, const char* const* arguments) {
    CommandLine line;
    return line.main(count, arguments);
}

}  // namespace weir::app
