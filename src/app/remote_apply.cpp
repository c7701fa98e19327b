// The command `weir quota apply`.

#include <cstdio>
#include <set>

#include "app/quota_change.h"
#include "app/quota_text.h"
#include "app/remote_session.h"
#include "config/quota_document.h"
#include "config/values.h"
#include "definitions/store.h"
#include "node/files.h"

namespace weir::app {
namespace {

using limiter::QuotaDefinition;

constexpr int kDifferences = 2;

/// The quotas with parents before their children. Quotas in a cycle keep their order.
std::vector<QuotaDefinition> parents_first(const std::vector<config::QuotaSet>& sets) {
    std::vector<QuotaDefinition> rest;
    std::set<std::string> names;
    for (const config::QuotaSet& set : sets) {
        for (const QuotaDefinition& quota : set.quotas) {
            rest.push_back(quota);
            names.insert(quota.name);
        }
    }
    std::vector<QuotaDefinition> ordered;
    for (std::size_t turn = 0; turn <= limiter::kMaxChainDepth && !rest.empty(); ++turn) {
        std::vector<QuotaDefinition> later;
        std::vector<std::string> done;
        for (QuotaDefinition& quota : rest) {
            if (quota.parent && names.contains(*quota.parent)) {
                later.push_back(std::move(quota));
            } else {
                done.push_back(quota.name);
                ordered.push_back(std::move(quota));
            }
        }
        for (const std::string& name : done) {
            names.erase(name);
        }
        rest = std::move(later);
    }
    ordered.insert(ordered.end(), rest.begin(), rest.end());
    return ordered;
}

/// The differences between the documents and the definitions in force.
struct Plan {
    std::size_t added = 0;
    std::size_t changed = 0;
    std::size_t same = 0;
    Json list = Json::array();     ///< for -o json
    Json changes = Json::array();  ///< for the sidecar
    std::string text;

    [[nodiscard]] bool differs() const { return added + changed > 0; }
};

/// The difference of an override whose end is to be changed. A renewed expiry counts as a change.
std::vector<std::string> expiry_differences(const Json& row, const std::string& asked) {
    if (asked.empty() || asked == "keep" || !text_of(row, "source").starts_with("api ")) {
        return {};
    }
    const std::string has = expires_text(row);
    if (asked == "never") {
        return has.empty() ? std::vector<std::string>() : std::vector{"- expires in: " + has};
    }
    const auto wanted = config::parse_duration(asked);
    const std::string wants = wanted ? time_left(to_seconds(*wanted)) : asked;
    if (has.empty()) {
        return {"+ expires in: " + wants};
    }
    const bool equal = wanted && to_seconds(*wanted) == number_of(row, "expires_in_seconds");
    return equal ? std::vector<std::string>()
                 : std::vector{"~ expires in: " + has + " -> " + wants};
}

void plan_one(const QuotaApplyCommand& command, const QuotaDefinition& wanted, const Json& report,
              Plan& plan) {
    const bool exact = !report.is_null() && text_of(report, "name") == wanted.name;
    const auto before = exact ? definition_of(report) : std::nullopt;
    auto lines = differences(before, wanted);
    if (before) {
        const auto expiry = expiry_differences(report, command.note.expires_in);
        lines.insert(lines.end(), expiry.begin(), expiry.end());
    }
    if (before && lines.empty()) {
        ++plan.same;
        return;
    }
    ++(before ? plan.changed : plan.added);
    plan.changes.push_back({{"definition", Json::parse(config::quota_json(wanted, -1))},
                            {"etag", exact ? text_of(report, "etag") : std::string()}});
    plan.list.push_back({{"name", wanted.name},
                         {"change", before ? "changed" : "added"},
                         {"source_before", exact ? Json(text_of(report, "source")) : Json()},
                         {"differences", lines}});
    plan.text += (before ? "~ " : "+ ") + wanted.name;
    plan.text += exact ? "  (" + text_of(report, "source") + ")\n" : "\n";
    for (const std::string& line : lines) {
        plan.text += "    " + line + "\n";
    }
}

/// Plans all changes. Nothing when there was an error, which has been printed.
std::optional<Plan> plan_all(RemoteSession& session, const QuotaApplyCommand& command,
                             const std::vector<QuotaDefinition>& quotas) {
    Plan plan;
    for (const QuotaDefinition& quota : quotas) {
        const auto report = session.find(target_of(quota.name));
        if (!report) {
            return std::nullopt;
        }
        plan_one(command, quota, *report, plan);
    }
    return plan;
}

void show(const RemoteOptions& options, const QuotaApplyCommand& command, const Plan& plan) {
    if (options.output == OutputFormat::json) {
        const Json all{{"dry_run", command.dry_run}, {"done", !command.dry_run},
                       {"added", plan.added},        {"changed", plan.changed},
                       {"unchanged", plan.same},     {"quotas", plan.list}};
        std::puts(all.dump(2).c_str());
        return;
    }
    std::printf("%s%zu added, %zu changed, %zu unchanged%s\n", plan.text.c_str(), plan.added,
                plan.changed, plan.same, command.dry_run ? " (nothing done: --dry-run)" : "");
}

/// Prints why nothing was changed.
int refuse(const RemoteOptions& options, const QuotaApplyCommand& command,
           const std::string& problem, const Json& errors) {
    if (options.output == OutputFormat::json) {
        const Json none{{"dry_run", command.dry_run},
                        {"done", false},
                        {"added", 0},
                        {"changed", 0},
                        {"unchanged", 0},
                        {"quotas", Json::array()},
                        {"problem", problem},
                        {"errors", errors}};
        std::puts(none.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    }
    return complain(problem + "\n  (nothing was changed)");
}

/// Prints that it is not known whether the change was made.
int no_answer(const RemoteOptions& options, const QuotaApplyCommand& command) {
    const std::string problem = "no answer: it is not known whether this was done";
    if (command.dry_run) {
        return refuse(options, command, "no answer", Json::array());
    }
    if (options.output == OutputFormat::json) {
        const Json unknown{{"dry_run", false}, {"done", nullptr}, {"problem", problem}};
        std::puts(unknown.dump(2).c_str());
    }
    return complain(problem + "\n  (`weir quota apply --dry-run` tells what is missing)");
}

/// Sends one request: the sidecar makes all changes or none. The result is nothing when it has to
/// be tried again.
std::optional<int> try_apply(RemoteSession& session, const RemoteOptions& options,
                             const QuotaApplyCommand& command,
                             const std::vector<QuotaDefinition>& quotas) {
    constexpr std::size_t kMostBytes = 1024UL * 1024;  // of a body, docs/admin-api.md
    const auto plan = plan_all(session, command, quotas);
    if (!plan) {
        return refuse(options, command, "the quotas in force cannot be read", Json::array());
    }
    if (plan->differs()) {
        ChangeNote note = command.note;
        if (note.expires_in.empty()) {
            note.expires_in = "keep";
        }
        if (plan->changes.size() > definitions::kMaximumTogether) {
            return refuse(options, command,
                          std::to_string(plan->changes.size()) +
                              " quotas differ, and one change sets at most " +
                              std::to_string(definitions::kMaximumTogether) +
                              ": apply them in several documents, or put them into a file of a set",
                          Json::array());
        }
        const std::string body = Json{{"quotas", plan->changes}}.dump();
        if (body.size() > kMostBytes) {
            return refuse(options, command,
                          "what differs takes " + std::to_string(body.size()) +
                              " bytes, and one change at most 1 MiB: put it into a file of a set",
                          Json::array());
        }
        const auto answer = session.post(
            with_note("/v1/quotas", note) + (command.dry_run ? "&dry_run=true" : ""), body);
        if (!answer) {
            return no_answer(options, command);
        }
        if (answer->status == 412) {
            return std::nullopt;
        }
        if (!answer->problem.empty()) {
            return refuse(options, command, answer->problem,
                          answer->body.is_object() ? answer->body.value("errors", Json::array())
                                                   : Json::array());
        }
    }
    show(options, command, *plan);
    return command.detailed_exit_code && plan->differs() ? kDifferences : 0;
}

}  // namespace

int quota_apply(const RemoteOptions& options, const QuotaApplyCommand& command) {
    config::Diagnostics diagnostics;
    const auto files = node::expand_quota_paths(command.files, diagnostics);
    // Only the fleet may have a quota's parent, so the sidecar checks parents.
    const auto sets = config::parse_quota_sets(node::read_sources(files, diagnostics), diagnostics,
                                               config::Together::no);
    if (diagnostics.has_errors()) {
        return refuse(options, command, "the documents are not valid\n" + diagnostics.text(),
                      Json::array());
    }
    RemoteSession session(options);
    const auto quotas = parents_first(sets);
    for (int i = 0; i < RemoteSession::kTriesOfEdit; ++i) {
        if (const auto code = try_apply(session, options, command, quotas)) {
            return *code;
        }
    }
    return refuse(options, command, "quotas changed again and again while this change was made",
                  Json::array());
}

}  // namespace weir::app
