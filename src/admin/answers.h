#pragma once
// Makes the answers that the handlers share: JSON, plain text and problem details (RFC 9457). Pure.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "admin/http_message.h"

namespace weir::admin {

/// An answer of JSON. Bytes that are not UTF-8 are replaced; nothing is thrown.
[[nodiscard]] std::string to_text(const nlohmann::ordered_json& value);
[[nodiscard]] Response json_answer(unsigned status, const nlohmann::ordered_json& value);
[[nodiscard]] Response text_answer(unsigned status, std::string body);
/// An answer of problem details: {title, status, detail} and the members of `more`.
[[nodiscard]] Response problem(unsigned status, std::string_view detail,
                               nlohmann::ordered_json more = nlohmann::ordered_json::object());
/// An answer of 405 with the field Allow.
[[nodiscard]] Response method_not_allowed(std::string_view allowed);

}  // namespace weir::admin
