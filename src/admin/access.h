#pragma once
// Decides who may use the admin listener. If a token is configured, every request needs it. A web
// page that reaches the listener through a name that an attacker points at this machine (DNS
// rebinding) is refused. All functions but read_token() are pure.

#include <optional>
#include <string>
#include <vector>

#include "admin/http_message.h"
#include "base/result.h"
#include "config/settings.h"

namespace weir::admin {

struct AccessRules {
    /// The token that requests must carry. If it is empty, they need none.
    std::string token = {};
    /// Host names that may be used besides literal addresses and localhost.
    std::vector<std::string> allowed_hosts = {};
};

/// The answer to a request that is refused; nothing when the request may go on.
[[nodiscard]] std::optional<Response> refuse_access(const AccessRules& rules,
                                                    const AdminRequest& request);

/// Whether only processes of this machine can reach the address.
[[nodiscard]] bool is_local(const config::ListenAddress& address);

/// The token is the first line of the file, which has 16 to 1,024 visible ASCII characters.
[[nodiscard]] Result<std::string> read_token(const std::string& file);

}  // namespace weir::admin
