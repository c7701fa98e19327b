#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/command_texts.h"
#include "app/completion.h"
#include "app/flags.h"
#include "app/key_command.h"
#include "app/remote.h"
#include "app/run.h"
#include "app/usage.h"
#include "app/validate.h"
#include "config/schema.h"
#include "definitions/fields.h"
#include "node/version.h"

namespace weir::app {
namespace {

/// The command line as a tree of CLI11 commands, each with its function.
class CommandLine {
  public:
    CommandLine() : app_(kAbout, "weir") {
        app_.footer(kExamples);
        app_.set_help_flag("-h,--help", "This help");
        add_run();
        add_validate();
        add_schema();
        add_key();
        add_quota();
        add_status();
        add_drain();
        add_completion();
        add_version();
        add_help();
    }

    int main(int count, const char* const* arguments) {
        arguments_.assign(arguments, arguments + count);
        if (const std::string flag = flag_with_empty_value(app_, arguments_); !flag.empty()) {
            return complain_usage(flag + " takes no value");
        }
        if (count > 1 && arguments_[1] == "help" && !named_flag()) {
            return show_help(app_, {arguments_.begin() + 2, arguments_.end()});
        }
        try {
            app_.parse(for_cli11(arguments_));
        } catch (const CLI::ExtrasError&) {
            return complain_usage(explain_unknown_word(app_, arguments_));
        } catch (const CLI::CallForVersion&) {
            return show_version();
        } catch (const CLI::ParseError& failure) {
            if (failure.get_exit_code() == 0) {
                std::fputs(help_of(named_command(app_)).c_str(), stdout);
                return 0;
            }
            return complain_usage(explain_failure(app_, failure));
        }
        if (!action_) {
            std::fputs(help_of(named_command(app_)).c_str(), stderr);
            return kExitUsage;
        }
        return action_();
    }

  private:
    CLI::App& add(CLI::App& parent, const char* name, const char* about,
                  const std::function<int()>& action) {
        CLI::App& command = *parent.add_subcommand(name, about);
        command.set_help_flag("-h,--help", "This help");
        if (action) {
            command.final_callback([this, action] { action_ = action; });
        }
        return command;
    }

    CLI::App& add_remote(CLI::App& parent, const char* name, const char* about,
                         const std::function<int(const RemoteOptions&)>& action) {
        CLI::App& command = add(parent, name, about, [this, action] {
            const auto options = remote_.options();
            return options ? action(*options) : complain_usage(options.error().message);
        });
        remote_.add_to(command);
        return command;
    }

    void add_run() {
        CLI::App& command = add(app_, "run", "Serve: proxy, limit, gossip", [this] {
            return check_ ? check(config_.source(), strict_) : run(config_.source(), strict_);
        });
        command.add_flag("--check", check_,
                         "Only tell whether it could start here: files, keys, free ports");
        command.add_flag("--strict", strict_,
                         "Do not start with warnings about the files or bad quota files");
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
                const auto format = report_format();
                if (!format) {
                    return complain_usage("--output: '" + report_ +
                                          "' must be text, json or github");
                }
                return validate(source, documents_, {.strict = strict_, .format = *format});
            });
        command
            .add_option("--output,-o", report_,
                        "text, json, or github: annotations for GitHub's CI [text]")
            ->type_name("FORMAT");
        command.add_option("documents", documents_, "Quota documents, or directories of them");
        command.add_flag("--strict", strict_, "Warnings are errors, too");
        validated_.add_to(command);
    }

    [[nodiscard]] std::optional<ReportFormat> report_format() const {
        return report_ == "text"     ? std::optional(ReportFormat::text)
               : report_ == "json"   ? std::optional(ReportFormat::json)
               : report_ == "github" ? std::optional(ReportFormat::github)
                                     : std::nullopt;
    }

    void add_schema() {
        CLI::App& command =
            add(app_, "schema", "Print the JSON Schema of settings or of quota documents", [this] {
                if (schema_ != "settings" && schema_ != "quotas") {
                    return complain_usage("'" + schema_ + "' must be settings or quotas");
                }
                const bool settings = schema_ == "settings";
                std::puts((settings ? config::settings_schema() : config::quotas_schema()).c_str());
                return 0;
            });
        command.add_option("kind", schema_, "settings or quotas")->required();
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
                           if (removal_expires_->count() == 0) {
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
        // The flag is known only so that the error can say why it is refused.
        removal_expires_ = remove.add_option("--expires-in,--expires")->group("");
        add_quota_set(quota);
        add_quota_apply(quota);
        quota.footer(kSetExamples);
    }

    void add_quota_set(CLI::App& quota) {
        CLI::App& set =
            add_remote(quota, "set", "Change or make one, in the whole fleet",
                       [this](const RemoteOptions& options) { return set_quota(options); });
        set.add_option("name", set_.name, "The quota's name")->required();
        const auto flags = [&](const auto& fields) {
            for (const auto& field : fields) {
                if (!field.flag_help.empty()) {
                    set.add_option("--" + flag_of(field.key), set_.edit[field.key],
                                   std::string(field.flag_help));
                }
            }
        };
        flags(definitions::limit_fields());
        flags(definitions::quota_fields());
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
                const std::string wrong = note_.what_is_wrong();
                return wrong.empty() ? quota_apply(options, apply_) : complain_usage(wrong);
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
        if (const std::string wrong = note_.what_is_wrong(); !wrong.empty()) {
            return complain_usage(wrong);
        }
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

    void add_completion() {
        CLI::App& command = add(
            app_, "completion", "Print a script for a shell: commands and flags complete", [this] {
                const std::string script = completion(app_, shell_);
                if (script.empty()) {
                    return complain_usage("'" + shell_ + "' must be bash, zsh or fish");
                }
                std::fputs(script.c_str(), stdout);
                return 0;
            });
        command.add_option("shell", shell_, "bash, zsh or fish")->required();
    }

    void add_version() {
        add(app_, "version", "What this program is: version, commit, compiler, build",
            &show_version);
        app_.set_version_flag("-V,--version", "", "The same as the command version");
    }

    static int show_version() {
        std::printf("weir %s\ncommit    %s\ncompiler  %s\nbuild     %s\n",
                    std::string(node::kVersion).c_str(), std::string(node::revision()).c_str(),
                    std::string(node::kCompiler).c_str(), std::string(node::build()).c_str());
        return 0;
    }

    void add_help() {
        CLI::App& help = add(app_, "help", "The help of a command, like 'weir help quota set'",
                             [this] { return show_help(app_, {}); });
        // main() reads its arguments, because CLI11 would take them for commands of their own.
        help.add_option("command", help_path_, "The command; without one, all commands");
    }

    /// Whether one of the arguments is a flag.
    [[nodiscard]] bool named_flag() const {
        return std::any_of(arguments_.begin(), arguments_.end(),
                           [](const std::string& word) { return word.starts_with('-'); });
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
    const CLI::Option* removal_expires_ = nullptr;
    std::string name_;
    std::vector<std::string> documents_;
    std::vector<std::string> help_path_;
    std::string report_ = "text";
    std::string schema_;
    std::string shell_;
    bool check_ = false;
    bool strict_ = false;
};

}  // namespace

int main_with(int count, const char* const* arguments) {
    CommandLine line;
    return line.main(count, arguments);
}

}  // namespace weir::app
