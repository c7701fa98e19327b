#include "admin/quota_api.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>

#include "admin/answers.h"
#include "admin/definition_json.h"
#include "admin/figures.h"
#include "admin/report_json.h"
#include "base/characters.h"
#include "config/values.h"

namespace weir::admin {
namespace {

constexpr std::size_t kPageDefault = 100;
constexpr std::size_t kPageLimit = 1000;
constexpr Duration kLongestLifetime = std::chrono::hours(366 * 24);

std::string parameter(const RequestTarget& target, const std::string& name) {
    const auto found = target.query.find(name);
    return found == target.query.end() ? std::string() : found->second;
}

/// Refuses unknown parameters. If they were ignored, a change with the misspelt `?expires=1h` would
/// never end.
std::optional<Response> refuse_unknown(const RequestTarget& target,
                                       std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : target.query) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return problem(400, "unknown parameter: " + name);
        }
    }
    return std::nullopt;
}

std::optional<std::size_t> page_size(const RequestTarget& target) {
    const std::string text = parameter(target, "limit");
    if (text.empty()) {
        return kPageDefault;
    }
    std::size_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value == 0) {
        return std::nullopt;
    }
    return std::min(value, kPageLimit);
}

/// Reads "90s", "30m", "2h" or "7d".
std::optional<Duration> parse_lifetime(std::string_view text) {
    const auto lifetime = config::parse_duration(text);
    if (!lifetime || *lifetime <= Duration::zero() || *lifetime > kLongestLifetime) {
        return std::nullopt;
    }
    return *lifetime;
}

/// The media type without parameters: "application/json" of "application/json; charset=utf-8".
std::string media_type(std::string_view field) {
    return in_lower_case(trim(field.substr(0, field.find(';'))));
}

/// Author, reason and conditions of an edit, or the answer that refuses it.
struct EditOrAnswer {
    definitions::Edit edit;
    std::optional<Response> refusal;
};

/// Reads If-Match with one strong tag, or If-None-Match: * (RFC 9110, 13.1).
std::optional<Response> read_condition(const AdminRequest& request,
                                       std::optional<std::string>& tag) {
    const std::string& match = request.if_match;
    const std::string& none = request.if_none_match;
    if (match.empty() && none.empty()) {
        return std::nullopt;
    }
    if (match.empty() && none == "*") {
        tag = "";
        return std::nullopt;
    }
    const bool quoted = match.size() >= 2 && match.front() == '"' && match.back() == '"' &&
                        match.find('"', 1) == match.size() - 1;
    if (!none.empty() || !quoted) {
        return problem(400,
                       "a condition is If-Match with one strong entity tag, or "
                       "If-None-Match: *");
    }
    tag = match.substr(1, match.size() - 2);
    return std::nullopt;
}

/// Reads expires_in: a duration, "never" or "keep"; `fallback` if it is missing.
std::optional<Response> read_lifetime(const RequestTarget& target, std::string_view fallback,
                                      definitions::Edit& edit) {
    std::string lifetime = parameter(target, "expires_in");
    if (lifetime.empty()) {
        lifetime = fallback;
    }
    edit.keep_lifetime = lifetime == "keep";
    if (edit.keep_lifetime || lifetime == "never") {
        return std::nullopt;
    }
    edit.lifetime = parse_lifetime(lifetime);
    if (edit.lifetime) {
        return std::nullopt;
    }
    return problem(400,
                   "expires_in is a duration such as 90s, 30m, 2h or 7d, at most 366d, or never, "
                   "or keep");
}

/// Reads "true" or "false"; false if the parameter is missing, nothing if it is anything else.
std::optional<bool> read_flag(const RequestTarget& target, const std::string& name) {
    const std::string text = parameter(target, name);
    if (text == "true") {
        return true;
    }
    if (text.empty() || text == "false") {
        return false;
    }
    return std::nullopt;
}

constexpr std::string_view kMergePatch = "application/merge-patch+json";

EditOrAnswer edit_of(const AdminRequest& request, const RequestTarget& target) {
    EditOrAnswer result{.edit = {.who = parameter(target, "who"),
                                 .why = parameter(target, "why"),
                                 .lifetime = std::nullopt},
                        .refusal = std::nullopt};
    const bool removes = request.method == "DELETE";
    result.refusal = removes ? refuse_unknown(target, {"who", "why", "dry_run"})
                             : refuse_unknown(target, {"who", "why", "expires_in", "dry_run"});
    if (!result.refusal) {
        result.refusal = read_condition(request, result.edit.expected);
    }
    if (result.refusal) {
        return result;
    }
    if (result.edit.who.size() > definitions::kMaximumWho ||
        result.edit.why.size() > definitions::kMaximumWhy) {
        result.refusal = problem(400, "who has at most 64 bytes, why at most 256");
        return result;
    }
    const auto dry_run = read_flag(target, "dry_run");
    result.edit.dry_run = dry_run.value_or(false);
    if (!dry_run) {
        result.refusal = problem(400, "dry_run is true or false");
    } else if (!removes) {
        // A patch changes only what it names.
        const bool patch = media_type(request.content_type) == kMergePatch;
        result.refusal = read_lifetime(target, patch ? "keep" : "never", result.edit);
    }
    return result;
}

unsigned status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::not_found:
            return 404;
        case ErrorCode::conflict:
            return 409;
        case ErrorCode::exhausted:
            return 503;
        default:
            return 422;
    }
}

Response with_tag(Response response, const std::optional<QuotaRow>& row) {
    if (row && !row->tag.empty()) {
        response.fields.emplace_back("ETag", '"' + row->tag + '"');
    }
    return response;
}

Response refusal(const ChangeOutcome& outcome, const definitions::Edit& edit,
                 const std::optional<QuotaRow>& row) {
    if (edit.expected && outcome.code == ErrorCode::conflict) {
        return with_tag(problem(412, outcome.message), row);
    }
    if (outcome.errors.empty()) {
        return problem(status_of(outcome.code), outcome.message);
    }
    return problem(422, outcome.message.empty() ? "the definition is not valid" : outcome.message,
                   {{"errors", to_json(outcome.errors)}});
}

Response accepted(std::string_view name, const ChangeOutcome& outcome,
                  const std::optional<QuotaRow>& row) {
    Json answer = row ? to_json(*row) : Json{{"name", name}};
    answer["epoch"] = outcome.version->epoch;
    answer["writer"] = hash_text(outcome.version->writer);
    return with_tag(json_answer(200, answer), row);
}

/// The answer to a dry run: the definition that the change would give.
Response tried(std::string_view name, const std::optional<limiter::QuotaDefinition>& outcome,
               const definitions::Edit& edit, const std::optional<QuotaRow>& before) {
    Json answer{{"name", name}, {"dry_run", true}};
    answer["definition"] = outcome ? definition_to_json(*outcome) : Json(nullptr);
    const auto kept = before && edit.keep_lifetime ? before->expires_in : std::nullopt;
    if (const auto left = edit.lifetime ? edit.lifetime : kept) {
        answer["expires_in_seconds"] = to_seconds(*left);
    }
    return with_tag(json_answer(200, answer), before);
}

}  // namespace

Response QuotaApi::put_together(const AdminRequest& request, const RequestTarget& target) const {
    const auto edit = edit_of(request, target);
    if (edit.refusal) {
        return *edit.refusal;
    }
    if (edit.edit.expected) {
        return problem(400, "the conditions are the etags in the body");
    }
    if (media_type(request.content_type) != "application/json") {
        return problem(415, "send application/json");
    }
    const auto read = parse_definitions(request.body);
    if (!read.errors.empty()) {
        return problem(422, "the definitions are not valid", {{"errors", to_json(read.errors)}});
    }
    const auto report = directory_->put_together(read.wanted, edit.edit);
    if (report.versions.empty()) {
        const bool outdated = report.code == ErrorCode::conflict;
        if (report.errors.empty()) {
            return problem(outdated ? 412 : status_of(report.code), report.message);
        }
        return problem(422, report.message, {{"errors", to_json(report.errors)}});
    }
    Json quotas = Json::array();
    for (std::size_t i = 0; i < report.versions.size(); ++i) {
        quotas.push_back({{"name", read.wanted[i].definition.name},
                          {"epoch", report.versions[i].epoch},
                          {"writer", hash_text(report.versions[i].writer)}});
        if (edit.edit.dry_run) {
            quotas.back() = {{"name", read.wanted[i].definition.name}};
        }
    }
    return json_answer(200, {{"dry_run", edit.edit.dry_run}, {"quotas", std::move(quotas)}});
}

Response QuotaApi::list(const AdminRequest& request, const RequestTarget& target) const {
    if (request.method == "POST") {
        return put_together(request, target);
    }
    if (request.method != "GET" && request.method != "HEAD") {
        return method_not_allowed("GET, HEAD, POST");
    }
    if (auto answer = refuse_unknown(target, {"prefix", "after", "limit"})) {
        return *answer;
    }
    const auto size = page_size(target);
    if (!size) {
        return problem(400, "limit is a whole number from 1 to 1000");
    }
    const auto rows =
        directory_->page(parameter(target, "prefix"), parameter(target, "after"), *size);
    Json quotas = Json::array();
    for (const auto& row : rows) {
        quotas.push_back(to_json(row));
    }
    Json answer{{"quotas", std::move(quotas)}};
    if (rows.size() == *size) {
        answer["next"] = rows.back().name;
    }
    return json_answer(200, answer);
}

Response QuotaApi::one(const AdminRequest& request, const RequestTarget& target,
                       std::string_view name) const {
    if (name.empty()) {
        return problem(400, "a quota's name is missing behind /v1/quotas/");
    }
    if (name.size() > limiter::kMaxNameBytes) {
        return problem(
            400, "a quota's name has at most " + std::to_string(limiter::kMaxNameBytes) + " bytes");
    }
    if (request.method == "GET" || request.method == "HEAD") {
        if (auto answer = refuse_unknown(target, {"history"})) {
            return *answer;
        }
        const std::string history = parameter(target, "history");
        if (!history.empty() && history != "true" && history != "false") {
            return problem(400, "history is true or false");
        }
        return get(name, history == "true");
    }
    if (request.method == "PUT") {
        return put(request, target, name);
    }
    if (request.method == "DELETE") {
        return remove(request, target, name);
    }
    return method_not_allowed("GET, HEAD, PUT, DELETE");
}

Response QuotaApi::get(std::string_view name, bool with_history) const {
    const QuotaReport report = directory_->report(name);
    const auto history = with_history ? directory_->history(name) : std::vector<QuotaHistoryRow>();
    if (!report.row && !report.instance && history.empty()) {
        return problem(404, "no quota of that name, and no template that it falls under");
    }
    Json answer = to_json(report);
    if (with_history) {
        answer["history"] = to_json(history);
    }
    // Only the quota of exactly this name has a tag; that of a template says nothing about it.
    const bool exact = report.row && report.row->name == name;
    return exact ? with_tag(json_answer(200, answer), report.row) : json_answer(200, answer);
}

Response QuotaApi::put(const AdminRequest& request, const RequestTarget& target,
                       std::string_view name) const {
    auto edit = edit_of(request, target);
    if (edit.refusal) {
        return *edit.refusal;
    }
    const std::string type = media_type(request.content_type);
    ParsedDefinition parsed;
    if (type == kMergePatch) {
        const auto row = directory_->find(name);
        if (!row || !row->definition) {
            return problem(404, "no quota of that name to be patched; send it whole");
        }
        if (row->definition->options->limits_of_later_version > 0) {
            return problem(409,
                           "the quota has limits that only a later version of weir knows, which a "
                           "patch made here would take away; send it whole, or patch it there");
        }
        parsed = patch_definition(*row->definition, request.body);
    } else if (type == "application/json") {
        parsed = parse_definition(request.body, name);
    } else {
        return problem(415, "send application/json or " + std::string(kMergePatch));
    }
    if (!parsed.errors.empty()) {
        return problem(422, "the definition is not valid", {{"errors", to_json(parsed.errors)}});
    }
    const auto outcome = parsed.absent ? directory_->hide(name, edit.edit)
                                       : directory_->put(*parsed.definition, edit.edit);
    if (!outcome.version) {
        return refusal(outcome, edit.edit, directory_->find(name));
    }
    if (edit.edit.dry_run) {
        return tried(name, parsed.definition, edit.edit, directory_->find(name));
    }
    return accepted(name, outcome, directory_->find(name));
}

Response QuotaApi::remove(const AdminRequest& request, const RequestTarget& target,
                          std::string_view name) const {
    const auto edit = edit_of(request, target);
    if (edit.refusal) {
        return *edit.refusal;
    }
    const auto outcome = directory_->remove(name, edit.edit);
    if (!outcome.version) {
        return refusal(outcome, edit.edit, directory_->find(name));
    }
    if (edit.edit.dry_run) {
        const auto row = directory_->find(name);
        return tried(name, row ? row->file_definition : std::nullopt, edit.edit, row);
    }
    return accepted(name, outcome, directory_->find(name));
}

}  // namespace weir::admin
