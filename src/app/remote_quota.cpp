// The commands `weir quota list`, `get`, `set` and `rm`.

#include <cstdio>

#include "app/quota_change.h"
#include "app/quota_text.h"
#include "app/remote_session.h"
#include "base/closest.h"
#include "config/quota_document.h"
#include "net/clock.h"

namespace weir::app {
namespace {

using limiter::QuotaDefinition;

std::string source_text(const Json& row) {
    std::string text = text_of(row, "source");
    if (const std::string who = text_of(row, "who"); !who.empty()) {
        text += " (" + who + ")";
    }
    const bool in_force = !row.contains("in_force") || row["in_force"] == true;
    const std::string problem = text_of(row, "problem");
    if (!in_force) {
        return text + ", not in force: " + problem;
    }
    return problem.empty() ? text : text + ", but " + problem;
}

std::vector<std::string> table_row(const Json& row) {
    const auto definition = definition_of(row);
    const std::string expires = expires_text(row);
    const std::string ends = expires.empty() ? "-" : expires;
    if (!definition) {
        return {text_of(row, "name"), "(hidden)", "", "", "", ends, source_text(row)};
    }
    const std::string options = options_text(*definition);
    return {definition->name,
            limits_text(*definition),
            mode_text(*definition),
            definition->parent.value_or("-"),
            options.empty() ? "-" : options,
            ends,
            source_text(row)};
}

/// Reads all pages of the list.
std::optional<Json> list_all(RemoteSession& session, const std::string& prefix) {
    Json all = Json::array();
    std::string after;
    for (;;) {
        auto page = session.get("/v1/quotas?limit=1000&prefix=" + percent_encode(prefix) +
                                "&after=" + percent_encode(after));
        if (!page) {
            return std::nullopt;
        }
        for (const Json& row : page->value("quotas", Json::array())) {
            all.push_back(row);
        }
        after = text_of(*page, "next");
        if (after.empty()) {
            return all;
        }
    }
}

/// Says that there is no such quota, and which one was probably meant. Only the first thousand
/// names are looked at.
int complain_of_name(RemoteSession& session, const std::string& name) {
    std::vector<std::string> names;
    const auto page = session.find("/v1/quotas?limit=1000");
    if (page && page->is_object()) {
        for (const Json& row : page->value("quotas", Json::array())) {
            names.push_back(text_of(row, "name"));
        }
    }
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view guess = closest(name, candidates);
    return complain("no quota of that name, and no template that it falls under" +
                    (guess.empty() ? "" : ", did you mean '" + std::string(guess) + "'?"));
}

/// The row of a limit in the table of live limits.
std::vector<std::string> live_row(const Json& limit) {
    std::string owners;
    for (const Json& owner : limit.value("owners", Json::array())) {
        owners += (owners.empty() ? "" : " ") + owner.get<std::string>();
    }
    const bool window = limit.contains("window");
    const bool counts = limit.contains("in_flight") || window;
    const std::string most = short_number(number_of(limit, window ? "window" : "concurrency"));
    const std::string per = text_of(limit, "unit") + "/" + text_of(limit, "period");
    return {window   ? per + " window"
            : counts ? "in flight"
                     : per,
            short_number(number_of(limit, "level")),
            counts ? most : short_number(number_of(limit, "low")),
            counts ? most : short_number(number_of(limit, "high")),
            short_number(number_of(limit, "offered_rate")),
            short_number(number_of(limit, "discard_probability")),
            text_of(limit, "fleet_wide"),
            owners.empty() ? "-" : owners};
}

/// What a limit of windows has admitted on the sidecar, and when the window ends; empty for others.
std::string window_text(const Json& limit) {
    if (!limit.contains("window")) {
        return {};
    }
    std::string text = "window of " + text_of(limit, "period") + ": admitted here " +
                       short_number(number_of(limit, "admitted_here")) + " " +
                       text_of(limit, "unit") + ", of at most " +
                       short_number(number_of(limit, "allowance"));
    if (limit.contains("window_end") && limit["window_end"].is_number()) {
        text += ", ends in " + short_number(std::ceil(number_of(limit, "ends_in_seconds"))) + " s";
    }
    return text + "\n";
}

std::string live_text(const Json& report) {
    if (!report.contains("live") || !report["live"].is_object()) {
        return {};
    }
    std::vector<std::vector<std::string>> rows = {
        {"LIMIT", "LEVEL", "LOW", "HIGH", "OFFERED/s", "DISCARD", "FLEET", "OWNERS"}};
    for (const Json& limit : report["live"].value("limits", Json::array())) {
        rows.push_back(live_row(limit));
    }
    std::string text = "\n" + format_table(rows);
    for (const Json& limit : report["live"].value("limits", Json::array())) {
        if (const double line = number_of(limit, "water_line"); line > 0) {
            text += "sheds fairly: of each child " + short_number(line) + " " +
                    text_of(limit, "unit") + "/s pass, times its share\n";
        }
    }
    for (const Json& limit : report["live"].value("limits", Json::array())) {
        if (limit.contains("in_flight")) {
            text += "in flight here " + short_number(number_of(limit, "in_flight")) +
                    " requests, of at most " + short_number(number_of(limit, "allowance")) + "\n";
        }
        text += window_text(limit);
    }
    if (const double waiting = number_of(report["live"], "waiting_requests"); waiting > 0) {
        text += "waiting here " + short_number(waiting) + " requests, for their turn\n";
    }
    return text;
}

std::string figures_text(const Json& report) {
    if (!report.contains("figures") || !report["figures"].is_object()) {
        return {};
    }
    const Json& figures = report["figures"];
    return "here      offered " + short_number(number_of(figures, "offered")) + ", admitted " +
           short_number(number_of(figures, "admitted")) + ", refused " +
           short_number(number_of(figures, "refused")) + ", instances " +
           short_number(number_of(figures, "instances")) + "\n";
}

/// The definition from which an edit starts. For a name that falls under a template it is a quota
/// of its own with the template's limits; for a hidden quota it is the definition of its file.
QuotaDefinition base_of(const std::string& name, const Json& report) {
    auto found = report.is_null() ? std::nullopt : definition_of(report);
    if (!found && text_of(report, "name") == name && report.contains("file_definition")) {
        found = definition_of(Json{{"definition", report["file_definition"]}});
    }
    QuotaDefinition base = found.value_or(QuotaDefinition{});
    if (found && found->name != name && found->parent && limiter::is_template(*found->parent)) {
        base.parent.reset();
    }
    base.name = name;
    base.max_instances = found && found->name == name ? base.max_instances : 0;
    return base;
}

/// True when the name's template has a parent whose captures only a person can fill in here.
bool needs_parent(const std::string& name, const Json& report, const QuotaEdit& edit) {
    const auto found = report.is_null() ? std::nullopt : definition_of(report);
    return found && found->name != name && found->parent && limiter::is_template(*found->parent) &&
           edit.find("parent") == nullptr;
}

/// What exists under exactly this name: its definition, "(hidden)" or "(none)", and its expiry.
std::string row_text(const std::string& name, const Json& row) {
    if (row.is_null() || text_of(row, "name") != name) {
        return "(none)";
    }
    const auto definition = definition_of(row);
    const std::string text = definition ? definition_text(*definition) : "(hidden)";
    const std::string expires = expires_text(row);
    return expires.empty() ? text : text + ", expires in " + expires;
}

/// The tag that the quota must still have when it is changed; empty when there is no such quota.
std::string tag_of(const std::string& name, const Json& report) {
    return !report.is_null() && text_of(report, "name") == name ? text_of(report, "etag")
                                                                : std::string();
}

/// The target of the change. A dry run asks the sidecar as well, because it knows parents, chains
/// and bounds.
std::string change_target(const QuotaSetCommand& command) {
    ChangeNote note = command.note;
    if (note.expires_in.empty()) {
        note.expires_in = "keep";
    }
    return with_note(target_of(command.name), note) + (command.dry_run ? "&dry_run=true" : "");
}

std::string removal_target(const QuotaRemoveCommand& command) {
    std::string target = with_note(target_of(command.name), command.note);
    if (!command.dry_run) {
        return target;
    }
    target += target.find('?') == std::string::npos ? '?' : '&';
    return target + "dry_run=true";
}

/// Sends the change. Nothing when another change of the quota came in between.
std::optional<int> put(RemoteSession& session, const RemoteOptions& options,
                       const QuotaSetCommand& command, const Json& before,
                       const std::string& body) {
    bool changed = false;
    const auto answer =
        session.put_if(change_target(command), body, tag_of(command.name, before), changed);
    if (changed) {
        return std::nullopt;
    }
    if (!answer) {
        return 1;
    }
    if (options.output == OutputFormat::json) {
        std::puts(answer->dump(2).c_str());
        return 0;
    }
    std::printf("%s\n  before  %s\n  after   %s\n", command.name.c_str(),
                row_text(command.name, before).c_str(), row_text(command.name, *answer).c_str());
    if (command.dry_run) {
        std::puts("  (nothing changed: --dry-run)");
    }
    return 0;
}

/// Changes only the fields that were named, starting from the definition in force. Nothing when it
/// must be tried again.
std::optional<int> try_set(RemoteSession& session, const RemoteOptions& options,
                           const QuotaSetCommand& command) {
    const auto report = session.find(target_of(command.name));
    if (!report) {
        return 1;
    }
    if (command.absent) {
        return put(session, options, command, *report, R"({"absent": true})");
    }
    if (command.edit.empty()) {  // only the expiry changes
        if (!text_of(*report, "source").starts_with("api ") ||
            tag_of(command.name, *report).empty()) {
            return complain("'" + command.name + "' has no change by the API that could expire");
        }
        if (!definition_of(*report)) {
            return put(session, options, command, *report, R"({"absent": true})");
        }
    }
    if (needs_parent(command.name, *report, command.edit)) {
        return complain("'" + command.name + "' is an instance of '" + text_of(*report, "name") +
                        "', to become a quota of its own: say its --parent (or none)");
    }
    if (number_of(*report, "limits_of_later_version") > 0) {
        return complain("'" + command.name +
                        "' has limits that only a later version of weir knows, and that an edit "
                        "made here would take away: ask a sidecar of that version");
    }
    const auto edited = apply_edit(base_of(command.name, *report), command.edit);
    if (!edited) {
        return complain(edited.error().message);
    }
    return put(session, options, command, *report, config::quota_json(*edited, -1));
}

}  // namespace

int quota_list(const RemoteOptions& options, const std::string& prefix) {
    RemoteSession session(options);
    const auto rows = list_all(session, prefix);
    if (!rows) {
        return 1;
    }
    if (options.output == OutputFormat::json) {
        std::puts(rows->dump(2).c_str());
        return 0;
    }
    std::vector<std::vector<std::string>> table = {
        {"NAME", "LIMITS", "MODE", "PARENT", "OPTIONS", "EXPIRES", "SOURCE"}};
    for (const Json& row : *rows) {
        table.push_back(table_row(row));
    }
    std::fputs(format_table(table).c_str(), stdout);
    const auto config = session.get("/v1/config");
    if (!config) {
        return 1;
    }
    for (const std::string& line : set_problems(*config)) {
        std::printf("! %s\n", line.c_str());
    }
    return 0;
}

int quota_get(const RemoteOptions& options, const std::string& name, bool history) {
    RemoteSession session(options);
    const auto report = session.find(target_of(name) + (history ? "?history=true" : ""));
    if (!report) {
        return 1;
    }
    if (report->is_null()) {
        return complain_of_name(session, name);
    }
    if (options.output == OutputFormat::json) {
        std::puts(report->dump(2).c_str());
        return 0;
    }
    const auto definition = definition_of(*report);
    std::string text = "name      " + name + "\n";
    if (definition && definition->name != name) {
        text += "template  " + definition->name + "\n";
    }
    text += "limits    " + (definition ? limits_text(*definition) : "(hidden)") + "\n";
    if (definition) {
        text += "mode      " + mode_text(*definition) + "\n";
        text += "parent    " + definition->parent.value_or("-") + "\n";
        const std::string more = options_text(*definition);
        if (!more.empty()) {
            text += "options   " + more + "\n";
        }
    }
    text += "source    " + source_text(*report) + "\n";
    if (const std::string why = text_of(*report, "why"); !why.empty()) {
        text += "why       " + why + "\n";
    }
    if (const std::string expires = expires_text(*report); !expires.empty()) {
        text += "expires   in " + expires + "\n";
    }
    if (text_of(*report, "name").empty()) {
        text = "name      " + name + "\n(no such quota now)\n";
    }
    std::fputs((text + figures_text(*report) + live_text(*report)).c_str(), stdout);
    if (history) {
        const auto now = std::chrono::duration_cast<std::chrono::seconds>(net::unix_time());
        std::fputs(history_text(*report, now.count()).c_str(), stdout);
    }
    return 0;
}

int quota_set(const RemoteOptions& options, const QuotaSetCommand& command) {
    RemoteSession session(options);
    for (int i = 0; i < RemoteSession::kTriesOfEdit; ++i) {
        if (const auto code = try_set(session, options, command)) {
            return *code;
        }
    }
    return complain("'" + command.name + "' changed again and again while this change was made");
}

int quota_remove(const RemoteOptions& options, const QuotaRemoveCommand& command) {
    RemoteSession session(options);
    const std::string& name = command.name;
    const auto before = command.dry_run ? session.find(target_of(name)) : Json();
    if (!before) {
        return 1;
    }
    const auto answer = session.remove(removal_target(command));
    if (!answer) {
        return 1;
    }
    if (options.output == OutputFormat::json) {
        std::puts(answer->dump(2).c_str());
        return 0;
    }
    const auto now = definition_of(*answer);
    const std::string after = now ? definition_text(*now) : "(none)";
    if (command.dry_run) {
        std::printf("%s\n  before  %s\n  after   %s\n  (nothing changed: --dry-run)\n",
                    name.c_str(), row_text(name, *before).c_str(), after.c_str());
    } else {
        std::printf("%s\n  now     %s\n", name.c_str(), after.c_str());
    }
    return 0;
}

}  // namespace weir::app
