// `weir quota list | get | set | rm`.

#include <cstdio>

#include "app/remote_session.h"
#include "config/quota_document.h"
#include "config/values.h"

namespace weir::app {
namespace {

using limiter::QuotaDefinition;

constexpr std::string_view kQuotas = "/v1/quotas";

std::string target_of(const std::string& name) {
    return std::string(kQuotas) + "/" + percent_encode(name);
}

std::string with_note(std::string target, const ChangeNote& note) {
    char separator = '?';
    const auto add = [&](const char* key, const std::string& value) {
        if (value.empty()) return;
        target += separator + (key + ("=" + percent_encode(value)));
        separator = '&';
    };
    add("who", note.who);
    add("why", note.why);
    add("expires_in", note.expires_in);
    return target;
}

/// Our own writing, read back.
std::optional<QuotaDefinition> definition_of(const Json& row) {
    if (!row.is_object() || !row.contains("definition") || row["definition"].is_null()) {
        return std::nullopt;
    }
    config::Diagnostics diagnostics;
    return config::parse_quota({"answer.json", row["definition"].dump()}, diagnostics);
}

std::string limit_text(const limiter::RateLimit& limit) {
    std::string text = config::format_rate(limit);
    if (config::measure_of(limit.unit) == config::Measure::bytes) {
        text +=
            limit.unit == limiter::Unit::request_bytes ? " of request-bytes" : " of response-bytes";
    }
    const auto add = [&](const char* key, const std::optional<limiter::BurstSpec>& burst) {
        if (burst) text += std::string(" ") + key + "=" + config::format_burst(*burst, limit.unit);
    };
    add("low", limit.low);
    add("high", limit.high);
    add("debt", limit.debt);
    if (limit.law != limiter::Law::adaptive) text += " law=linear";
    if (limit.scope != limiter::Scope::fleet) text += " scope=sidecar";
    return text;
}

std::string limits_text(const QuotaDefinition& definition) {
    std::string text;
    for (const limiter::RateLimit& limit : definition.limits) {
        text += (text.empty() ? "" : "; ") + limit_text(limit);
    }
    return text.empty() ? "none" : text;
}

/// One line: what `set` shows before and after.
std::string definition_text(const std::optional<QuotaDefinition>& definition) {
    if (!definition) return "(none)";
    std::string text = limits_text(*definition);
    if (definition->parent) text += ", parent " + *definition->parent;
    if (definition->mode != limiter::Mode::enforce) {
        text += ", mode " + std::string(to_string(definition->mode));
    }
    if (definition->max_instances != 0) {
        text += ", max_instances " + std::to_string(definition->max_instances);
    }
    return text + (definition->hide_headers ? ", headers hidden" : "");
}

std::string source_text(const Json& row) {
    std::string text = text_of(row, "source");
    if (const std::string who = text_of(row, "who"); !who.empty()) text += " (" + who + ")";
    const bool in_force = !row.contains("in_force") || row["in_force"] == true;
    return in_force ? text : text + ", not in force: " + text_of(row, "problem");
}

std::vector<std::string> table_row(const Json& row) {
    const auto definition = definition_of(row);
    if (!definition) return {text_of(row, "name"), "(hidden)", "", "", source_text(row)};
    return {definition->name, limits_text(*definition), std::string(to_string(definition->mode)),
            definition->parent.value_or("-"), source_text(row)};
}

/// All pages.
std::optional<Json> list_all(RemoteSession& session, const std::string& prefix) {
    Json all = Json::array();
    std::string after;
    for (;;) {
        auto page =
            session.get(std::string(kQuotas) + "?limit=1000&prefix=" + percent_encode(prefix) +
                        "&after=" + percent_encode(after));
        if (!page) return std::nullopt;
        for (const Json& row : page->value("quotas", Json::array())) all.push_back(row);
        after = text_of(*page, "next");
        if (after.empty()) return all;
    }
}

std::string live_text(const Json& report) {
    if (!report.contains("live") || !report["live"].is_object()) return {};
    std::vector<std::vector<std::string>> rows = {
        {"LIMIT", "LEVEL", "LOW", "HIGH", "OFFERED/s", "DISCARD", "FLEET", "OWNERS"}};
    for (const Json& limit : report["live"].value("limits", Json::array())) {
        std::string owners;
        for (const Json& owner : limit.value("owners", Json::array())) {
            owners += (owners.empty() ? "" : " ") + owner.get<std::string>();
        }
        rows.push_back(
            {text_of(limit, "unit") + "/" + text_of(limit, "period"),
             short_number(number_of(limit, "level")), short_number(number_of(limit, "low")),
             short_number(number_of(limit, "high")), short_number(number_of(limit, "offered_rate")),
             short_number(number_of(limit, "discard_probability")), text_of(limit, "fleet_wide"),
             owners.empty() ? "-" : owners});
    }
    return "\n" + format_table(rows);
}

std::string figures_text(const Json& report) {
    if (!report.contains("figures") || !report["figures"].is_object()) return {};
    const Json& figures = report["figures"];
    return "here      offered " + short_number(number_of(figures, "offered")) + ", admitted " +
           short_number(number_of(figures, "admitted")) + ", refused " +
           short_number(number_of(figures, "refused")) + ", instances " +
           short_number(number_of(figures, "instances")) + "\n";
}

/// The definition that an edit starts from. A name that only a template covers becomes a quota of
/// its own, with the template's limits.
Result<QuotaDefinition> base_of(const std::string& name, const Json& report) {
    const auto found = report.is_null() ? std::nullopt : definition_of(report);
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
           !edit.parent;
}

int show_change(const QuotaSetCommand& command, const std::optional<QuotaDefinition>& before,
                const std::string& after) {
    std::printf("%s\n  before  %s\n  after   %s\n", command.name.c_str(),
                definition_text(before).c_str(), after.c_str());
    if (command.dry_run) std::puts("  (nothing changed: --dry-run)");
    return 0;
}

/// The definition of exactly this name, if there is one.
std::optional<QuotaDefinition> current(const std::string& name, const Json& report) {
    auto found = report.is_null() ? std::nullopt : definition_of(report);
    return found && found->name == name ? found : std::nullopt;
}

int put(RemoteSession& session, const RemoteOptions& options, const QuotaSetCommand& command,
        const std::optional<QuotaDefinition>& before, const std::string& after,
        const std::string& body) {
    if (!command.dry_run) {
        const auto answer = session.put(with_note(target_of(command.name), command.note), body);
        if (!answer) return 1;
        if (options.output == OutputFormat::json) {
            std::puts(answer->dump(2).c_str());
            return 0;
        }
    }
    return show_change(command, before, after);
}

}  // namespace

int quota_list(const RemoteOptions& options, const std::string& prefix) {
    RemoteSession session(options);
    const auto rows = list_all(session, prefix);
    if (!rows) return 1;
    if (options.output == OutputFormat::json) {
        std::puts(rows->dump(2).c_str());
        return 0;
    }
    std::vector<std::vector<std::string>> table = {{"NAME", "LIMITS", "MODE", "PARENT", "SOURCE"}};
    for (const Json& row : *rows) table.push_back(table_row(row));
    std::fputs(format_table(table).c_str(), stdout);
    return 0;
}

int quota_get(const RemoteOptions& options, const std::string& name) {
    RemoteSession session(options);
    const auto report = session.get(target_of(name));
    if (!report) return 1;
    if (options.output == OutputFormat::json) {
        std::puts(report->dump(2).c_str());
        return 0;
    }
    const auto definition = definition_of(*report);
    std::string text = "name      " + name + "\n";
    if (definition && definition->name != name) text += "template  " + definition->name + "\n";
    text += "limits    " + (definition ? limits_text(*definition) : "(hidden)") + "\n";
    if (definition) {
        text += "mode      " + std::string(to_string(definition->mode)) + "\n";
        text += "parent    " + definition->parent.value_or("-") + "\n";
    }
    text += "source    " + source_text(*report) + "\n";
    if (const std::string why = text_of(*report, "why"); !why.empty())
        text += "why       " + why + "\n";
    std::fputs((text + figures_text(*report) + live_text(*report)).c_str(), stdout);
    return 0;
}

int quota_set(const RemoteOptions& options, const QuotaSetCommand& command) {
    RemoteSession session(options);
    const auto report = session.find(target_of(command.name));
    if (!report) return 1;
    const auto before = current(command.name, *report);
    if (command.absent) {
        return put(session, options, command, before, "(hidden)", R"({"absent": true})");
    }
    if (needs_parent(command.name, *report, command.edit)) {
        return complain("'" + command.name + "' is an instance of '" + text_of(*report, "name") +
                        "', to become a quota of its own: say its --parent (or none)");
    }
    const auto base = base_of(command.name, *report);
    if (!base) return complain(base.error().message);
    const auto edited = apply_edit(*base, command.edit);
    if (!edited) return complain(edited.error().message);
    return put(session, options, command, before, definition_text(*edited),
               config::quota_json(*edited, -1));
}

int quota_remove(const RemoteOptions& options, const std::string& name, const ChangeNote& note) {
    RemoteSession session(options);
    const auto answer = session.remove(with_note(target_of(name), note));
    if (!answer) return 1;
    if (options.output == OutputFormat::json) {
        std::puts(answer->dump(2).c_str());
        return 0;
    }
    std::printf("%s\n  now     %s\n", name.c_str(),
                definition_text(definition_of(*answer)).c_str());
    return 0;
}

}  // namespace weir::app
