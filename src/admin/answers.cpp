#include "admin/answers.h"

#include <utility>

namespace weir::admin {
namespace {

std::string_view title_of(unsigned status) {
    switch (status) {
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 409:
            return "Conflict";
        case 415:
            return "Unsupported Media Type";
        case 421:
            return "Misdirected Request";
        case 422:
            return "Unprocessable Content";
        default:
            return "Error";
    }
}

}  // namespace

std::string to_text(const nlohmann::ordered_json& value) {
    return value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Response json_answer(unsigned status, const nlohmann::ordered_json& value) {
    return {
        .status = status, .content_type = "application/json", .body = to_text(value), .fields = {}};
}

Response text_answer(unsigned status, std::string body) {
    return {.status = status,
            .content_type = "text/plain; charset=utf-8",
            .body = std::move(body),
            .fields = {}};
}

Response problem(unsigned status, std::string_view detail, nlohmann::ordered_json more) {
    nlohmann::ordered_json value{{"type", "about:blank"},
                                 {"title", title_of(status)},
                                 {"status", status},
                                 {"detail", detail}};
    for (auto& [key, member] : more.items()) {
        value[key] = std::move(member);
    }
    return {.status = status,
            .content_type = "application/problem+json",
            .body = to_text(value),
            .fields = {}};
}

Response method_not_allowed(std::string_view allowed) {
    Response answer = problem(405, "this resource allows " + std::string(allowed));
    answer.fields.emplace_back("Allow", allowed);
    return answer;
}

}  // namespace weir::admin
