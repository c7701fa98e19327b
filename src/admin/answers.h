#pragma once
// The answers that the handlers share: JSON, plain text and problem details (RFC 9457).

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "admin/http_message.h"

namespace weir::admin {

/// Bytes that are not UTF-8 are replaced, never an exception.
[[nodiscard]] std::string to_text(const nlohmann::ordered_json& value);
[[nodiscard]] Response json_answer(unsigned status, const nlohmann::ordered_json& value);
[[nodiscard]] Response text_answer(unsigned status, std::string body);
/// {title, status, detail} and, if there are any, the members of `more`.
[[nodiscard]] Response problem(unsigned status, std::string_view detail,
                               nlohmann::ordered_json more = nlohmann::ordered_json::object());
/// 405 with an Allow field.
[[nodiscard]] Response method_not_allowed(std::string_view allowed);

}  // namespace weir::admin
