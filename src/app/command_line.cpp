#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "app/flags.h"
#include "app/key_command.h"
#include "app/remote.h"
#include "app/run.h"
#include "app/validate.h"
#include "config/diagnostics.h"
#include "node/version.h"

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
    "  weir key gossip.key                      a new key for cluster.key_file\n"
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
    "  weir quota set s3/b1 --expires never       a change that would expire stays\n"
    "  weir quota set --rate 5r/s -- -odd-name    -- ends the flags\n"
    "Taken back by 'weir quota rm s3/b1'.";

constexpr const char* kKeyExamples =
    "All sidecars of a fleet share one key: gossip is sealed with it, and whoever has it is\n"
    "trusted. A file holds one key or two; the first one seals, both are accepted. What is\n"
    "printed are ids (as `weir status`, logs and metrics show them), never a key.\n"
    "  weir key gossip.key             a new key in a new file, readable by its owner only\n"
    "  weir key --show gossip.key      the ids of its keys\n"
    "A rotation without a gap takes three steps. Bring the file to every sidecar after each (they\n"
    "notice by themselves) and wait until `weir status` shows it everywhere:\n"
    "  weir key --add gossip.key       1. a second key, accepted and not yet used\n"
    "  weir key --swap gossip.key      2. the new one seals, the old one is still accepted\n"
    "  weir key --drop gossip.key      3. the old one goes";

constexpr const char* kApplyExamples =
    "Only what differs changes; each quota becomes an override, 'weir quota rm' takes it back.\n"
    "  weir quota apply --dry-run --detailed-exitcode sale.yaml   what would change\n"
    "  weir quota apply sale.yaml --why 'sale' --expires 2d       for two days";

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
        add_key();
        add_quota();
        add_status();
        add_drain();
        add_version();
    }

    int main(int count, const char* const* arguments) {
        arguments_.assign(arguments, arguments + count);
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
                const node::ConfigSource source = validated_.source();
                if (!source.file && source.overrides.empty() && documents_.empty()) {
                    return complain_usage(
                        "say what to validate: --config FILE, or quota documents");
                }
                return validate(source, documents_);
            });
        command.add_option("documents", documents_, "Quota documents, or directories of them");
        validated_.add_to(command);
    }

    void add_key() {
        CLI::App& command = add(app_, "key", "Make a gossip key, or lead one through a rotation",
                                [this] { return key(); });
        command.add_option("file", key_.file, "The key file")->required();
        command.add_flag("--force", key_.force, "Replace the file if it is there");
        using Action = KeyCommand::Action;
        const auto step = [&](const char* name, Action chosen, const char* about) {
            command.add_flag_callback(
                name, [this, chosen] { key_steps_.push_back(chosen); }, about);
        };
        step("--show", Action::show, "Only print the ids of its keys");
        step("--add", Action::add, "Add a second key, accepted and not yet used");
        step("--swap", Action::swap, "Let the second key seal");
        step("--drop", Action::drop, "Take the second key away");
        command.footer(kKeyExamples);
    }

    int key() {
        if (key_steps_.size() + (key_.force ? 1 : 0) > 1) {
            return complain_usage("one of --force, --show, --add, --swap and --drop at a time");
        }
        if (!key_steps_.empty()) {
            key_.action = key_steps_.front();
        }
        return make_key(key_);
    }

    void add_quota() {
        CLI::App& quota = add(app_, "quota", "Show and change the quotas in force", {});
        CLI::App& list =
            add_remote(quota, "list", "All of them, and where they come from",
                       [this](const RemoteOptions& options) { return quota_list(options, name_); });
        list.add_option("prefix", name_, "Only names that begin like this");
        CLI::App& get = add_remote(
            quota, "get", "One of them: definition, level, rates, owners",
            [this](const RemoteOptions& options) { return quota_get(options, name_, history_); });
        get.add_option("name", name_, "A quota's or an instance's name")->required();
        get.add_flag("--history", history_, "Who changed it when, why, and what");
        CLI::App& remove =
            add_remote(quota, "rm", "Take a change back: the file's definition holds again",
                       [this](const RemoteOptions& options) {
                           if (removal_expires_.empty()) {
                               removal_.note = note_.note();
                               return quota_remove(options, removal_);
                           }
                           return complain_usage(
                               "--expires: a removal does not end by itself; 'weir quota set NAME "
                               "--expires …' lets the change end later");
                       });
        remove.add_option("name", removal_.name, "The quota's name")->required();
        remove.add_flag("--dry-run", removal_.dry_run, "Show before and after, change nothing");
        note_.add_to(remove, false);
        // Known, to say why it is refused.
        remove.add_option("--expires-in,--expires", removal_expires_)->group("");
        add_quota_set(quota);
        add_quota_apply(quota);
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
        flag("--safe", set_.edit.safe, "What an isolated sidecar admits: a rate, or default");
        flag("--parent", set_.edit.parent, "The quota above it, or none");
        flag("--mode", set_.edit.mode, "enforce, shadow or off");
        flag("--enforce", set_.edit.enforce, "The share of keys that it refuses, like 25%");
        flag("--enforce-by", set_.edit.enforce_by, "What a key is: quota or header:<name>");
        flag("--when-isolated", set_.edit.when_isolated, "safe, optimistic or pessimistic");
        flag("--headers", set_.edit.headers, "shown or hidden: whether refusals name it");
        flag("--max-instances", set_.edit.max_instances, "Of a template");
        set.add_flag("--absent", set_.absent, "Hide the file's quota of this name");
        set.add_flag("--dry-run", set_.dry_run, "Show before and after, change nothing");
        note_.add_to(set);
        set.footer(kSetExamples);
    }

    void add_quota_apply(CLI::App& quota) {
        CLI::App& apply = add_remote(
            quota, "apply", "Make the quotas of documents hold as overrides, in the whole fleet",
            [this](const RemoteOptions& options) {
                apply_.note = note_.note();
                return quota_apply(options, apply_);
            });
        apply.add_option("-f,files", apply_.files, "Quota documents, or directories of them")
            ->required();
        apply.add_flag("--dry-run", apply_.dry_run, "Show the differences, change nothing");
        apply.add_flag("--detailed-exitcode", apply_.detailed_exit_code,
                       "Exit with 0 if nothing differed, 2 if something did, 1 on failure");
        note_.add_to(apply);
        apply.footer(kApplyExamples);
    }

    int set_quota(const RemoteOptions& options) {
        if (set_.absent && !set_.edit.empty()) {
            return complain_usage("--absent stands alone: it hides the quota");
        }
        set_.note = note_.note();
        if (!set_.absent && set_.edit.empty() && set_.note.expires_in.empty()) {
            return complain_usage("say what to change, like --rate 200r/s");
        }
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
            std::printf("weir %s (%s, %s)\n", std::string(node::kVersion).c_str(),
                        std::string(node::kRevision).c_str(), std::string(node::kCompiler).c_str());
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

    /// Whether the word was no flag for that reason alone.
    [[nodiscard]] bool after_end_of_flags(const std::string& word) const {
        const auto end = std::find(arguments_.begin(), arguments_.end(), "--");
        return std::find(end, arguments_.end(), word) != arguments_.end();
    }

    int unknown() {
        CLI::App& command = *deepest(app_);
        const std::vector<std::string> rest = app_.remaining(true);
        const std::string word = rest.empty() ? "" : rest.front();
        if (std::find(kLater.begin(), kLater.end(), word) != kLater.end()) {
            return complain_usage("'" + path_of(command) + " " + word + "' is not in this version");
        }
        if (word.size() > 1 && word.front() == '-' && after_end_of_flags(word)) {
            return complain_usage("'" + word +
                                  "' comes after '--', which ends the flags: put the "
                                  "flags before it, as in '" +
                                  path_of(command) + " FLAGS -- NAME'");
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
    std::vector<std::string> arguments_;
    std::function<int()> action_;
    ConfigFlags config_;
    ConfigFlags validated_;
    RemoteFlags remote_;
    NoteFlags note_;
    QuotaSetCommand set_;
    QuotaRemoveCommand removal_;
    KeyCommand key_;
    std::vector<KeyCommand::Action> key_steps_;
    QuotaApplyCommand apply_;
    bool history_ = false;
    std::string removal_expires_;
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
