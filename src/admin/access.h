#pragma once
// Who may use the admin listener: a token if one is configured, and no web page that reaches it
// through a name that an attacker points at this machine (DNS rebinding). Pure.

#include <optional>
#include <string>
#include <vector>

#include "admin/http_message.h"
#include "base/result.h"
#include "config/settings.h"

namespace weir::admin {

struct AccessRules {
    /// Empty: none is asked for.
    std::string token = {};
    /// Host names that may be used besides literal addresses and localhost.
    std::vector<std::string> allowed_hosts = {};
};

/// The answer of a refusal; nothing when the request may go on.
[[nodiscard]] std::optional<Response> refuse_access(const AccessRules& rules,
                                                    const Request& request);

/// Only processes of this machine can reach it.
[[nodiscard]] bool is_local(const config::ListenAddress& address);

/// The first line of the file: 16 to 1,024 visible ASCII characters.
[[nodiscard]] Result<std::string> read_token(const std::string& file);

}  // namespace weir::admin
