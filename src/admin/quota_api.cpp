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
#include "config/values.h"

namespace weir::admin {
namespace {

constexpr std::size_t kPageDefault = 100;
constexpr std::size_t kPageLimit = 1000;
constexpr Duration kLongestLifetime = std::chrono::hours(366 * 24);

std::string parameter(const Target& target, const std::string& name) {
    const auto found = target.query.find(name);
    return found == target.query.end() ? std::string() : found->second;
}

/// Misspelt parameters must not be ignored: `?expires=1h` would last for ever.
std::optional<Response> refuse_unknown(const Target& target,
                                       std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : target.query) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return problem(400, "unknown parameter: " + name);
        }
    }
    return std::nullopt;
}

std::optional<std::size_t> page_size(const Target& target) {
    const std::string text = parameter(target, "limit");
    if (text.empty()) return kPageDefault;
    std::size_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value == 0) {
        return std::nullopt;
    }
    return std::min(value, kPageLimit);
}

/// "90s", "30m", "2h", "7d".
std::optional<Duration> parse_lifetime(std::string_view text) {
    const auto lifetime = config::parse_duration(text);
    if (!lifetime || *lifetime <= Duration::zero() || *lifetime > kLongestLifetime) {
        return std::nullopt;
    }
    return *lifetime;
}

/// Either the edit's circumstances or the refusal.
struct EditOrAnswer {
    engine::Edit edit;
    std::optional<Response> refusal;
};

EditOrAnswer edit_of(const Target& target) {
    EditOrAnswer result{.edit = {.who = parameter(target, "who"),
                                 .why = parameter(target, "why"),
                                 .lifetime = std::nullopt},
                        .refusal = refuse_unknown(target, {"who", "why", "expires_in"})};
    if (result.refusal) return result;
    if (result.edit.who.size() > engine::kMaximumWho ||
        result.edit.why.size() > engine::kMaximumWhy) {
        result.refusal = problem(400, "who has at most 64 bytes, why at most 256");
        return result;
    }
    const std::string lifetime = parameter(target, "expires_in");
    if (lifetime.empty()) return result;
    result.edit.lifetime = parse_lifetime(lifetime);
    if (!result.edit.lifetime) {
        result.refusal =
            problem(400, "expires_in is a duration such as 90s, 30m, 2h or 7d, at most 366d");
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

Response refusal(const ChangeOutcome& outcome) {
    if (outcome.errors.empty()) return problem(status_of(outcome.code), outcome.message);
    return problem(422, outcome.message.empty() ? "the definition is not valid" : outcome.message,
                   {{"errors", to_json(outcome.errors)}});
}

Response accepted(std::string_view name, const ChangeOutcome& outcome,
                  const std::optional<QuotaRow>& row) {
    Json answer = row ? to_json(*row) : Json{{"name", name}};
    answer["epoch"] = outcome.version->epoch;
    answer["writer"] = hash_text(outcome.version->writer);
    return json_answer(200, answer);
}

/// "application/json; charset=utf-8" -> "application/json"
std::string media_type(std::string_view field) {
    std::string type(field.substr(0, field.find(';')));
    while (!type.empty() && type.back() == ' ') type.pop_back();
    std::transform(type.begin(), type.end(), type.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return type;
}

constexpr std::string_view kMergePatch = "application/merge-patch+json";

}  // namespace

Response QuotaApi::list(const Request& request, const Target& target) const {
    if (request.method != "GET" && request.method != "HEAD") return method_not_allowed("GET, HEAD");
    if (auto answer = refuse_unknown(target, {"prefix", "after", "limit"})) return *answer;
    const auto size = page_size(target);
    if (!size) return problem(400, "limit is a whole number from 1 to 1000");
    const auto rows =
        directory_->page(parameter(target, "prefix"), parameter(target, "after"), *size);
    Json quotas = Json::array();
    for (const auto& row : rows) quotas.push_back(to_json(row));
    Json answer{{"quotas", std::move(quotas)}};
    if (rows.size() == *size) answer["next"] = rows.back().name;
    return json_answer(200, answer);
}

Response QuotaApi::one(const Request& request, const Target& target, std::string_view name) const {
    if (name.empty()) return problem(400, "a quota's name is missing behind /v1/quotas/");
    if (name.size() > limiter::kMaxNameBytes) {
        return problem(
            400, "a quota's name has at most " + std::to_string(limiter::kMaxNameBytes) + " bytes");
    }
    if (request.method == "GET" || request.method == "HEAD") {
        if (auto answer = refuse_unknown(target, {})) return *answer;
        return get(name);
    }
    if (request.method == "PUT") return put(request, target, name);
    if (request.method == "DELETE") return remove(target, name);
    return method_not_allowed("GET, HEAD, PUT, DELETE");
}

Response QuotaApi::get(std::string_view name) const {
    const QuotaReport report = directory_->report(name);
    if (!report.row && !report.instance) {
        return problem(404, "no quota of that name, and no template that it falls under");
    }
    return json_answer(200, to_json(report));
}

Response QuotaApi::put(const Request& request, const Target& target, std::string_view name) const {
    auto edit = edit_of(target);
    if (edit.refusal) return *edit.refusal;
    const std::string type = media_type(request.content_type);
    ParsedDefinition parsed;
    if (type == kMergePatch) {
        const auto row = directory_->find(name);
        if (!row || !row->definition) {
            return problem(404, "no quota of that name to be patched; send it whole");
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
    if (!outcome.version) return refusal(outcome);
    return accepted(name, outcome, directory_->find(name));
}

Response QuotaApi::remove(const Target& target, std::string_view name) const {
    const auto edit = edit_of(target);
    if (edit.refusal) return *edit.refusal;
    const auto outcome = directory_->remove(name, edit.edit);
    if (!outcome.version) return refusal(outcome);
    return accepted(name, outcome, directory_->find(name));
}

}  // namespace weir::admin
