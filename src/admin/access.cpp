#include "admin/access.h"

#include <sodium.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "admin/answers.h"
#include "base/characters.h"
#include "base/loopback.h"

namespace weir::admin {
namespace {

constexpr std::size_t kMinTokenBytes = 16;
constexpr std::size_t kMaxTokenBytes = 1024;

/// The host without its port: "[::1]" of "[::1]:99".
std::string_view without_port(std::string_view host) {
    const auto bracket = host.rfind(']');
    const auto colon = host.rfind(':');
    if (colon == std::string_view::npos) {
        return host;
    }
    if (bracket != std::string_view::npos && colon < bracket) {
        return host;
    }
    return host.substr(0, colon);
}

bool is_literal_address(std::string_view host) {
    return parse_endpoint(std::string(host) + ":0").has_value();
}

/// Whether the Host field can be trusted. A name that others can make resolve to this machine
/// cannot (DNS rebinding); an address can.
bool is_trusted_host(const AccessRules& rules, std::string_view field) {
    const std::string host = in_lower_case(without_port(field));
    return host == "localhost" || host.ends_with(".localhost") || is_literal_address(host) ||
           std::any_of(rules.allowed_hosts.begin(), rules.allowed_hosts.end(),
                       [&](const std::string& allowed) { return in_lower_case(allowed) == host; });
}

/// Whether the field has the right token. The comparison takes constant time, so that its duration
/// does not show how much of a guess is right.
bool has_token(const AccessRules& rules, std::string_view authorization) {
    constexpr std::string_view kScheme = "bearer ";
    if (in_lower_case(authorization.substr(0, kScheme.size())) != kScheme) {
        return false;
    }
    const auto given = authorization.substr(kScheme.size());
    return given.size() == rules.token.size() &&
           sodium_memcmp(given.data(), rules.token.data(), given.size()) == 0;
}

}  // namespace

std::optional<Response> refuse_access(const AccessRules& rules, const AdminRequest& request) {
    if (request.hosts != 1) {
        return problem(400, "exactly one Host field is needed");
    }
    if (!request.local_socket && !is_trusted_host(rules, request.host)) {
        return problem(421,
                       "the Host must be an address, localhost or one of the allowed hosts; this "
                       "keeps web pages out that rebind a name to this machine");
    }
    if (!request.origin.empty() &&
        in_lower_case(request.origin) != "http://" + in_lower_case(request.host)) {
        return problem(403, "requests from other origins are refused");
    }
    if (!rules.token.empty() && !has_token(rules, request.authorization)) {
        Response answer = problem(401, "a bearer token is needed");
        answer.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"weir\"");
        return answer;
    }
    return std::nullopt;
}

bool is_local(const config::ListenAddress& address) {
    return address.is_unix() || is_loopback(address.endpoint);
}

Result<std::string> read_token(const std::string& file) {
    std::ifstream input(file, std::ios::binary);
    std::string token;
    token.resize(kMaxTokenBytes + 2);
    input.read(token.data(), static_cast<std::streamsize>(token.size()));
    if (input.bad() || (!input && !input.eof())) {
        return error(ErrorCode::io, "cannot read the token file " + file);
    }
    token.resize(static_cast<std::size_t>(input.gcount()));
    token = token.substr(0, token.find_first_of("\r\n"));
    if (token.size() < kMinTokenBytes || token.size() > kMaxTokenBytes) {
        return error(ErrorCode::invalid_argument,
                     file + ": the first line must be a token of 16 to 1024 characters");
    }
    if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; })) {
        return error(ErrorCode::invalid_argument,
                     file + ": the token must consist of visible ASCII characters");
    }
    return token;
}

}  // namespace weir::admin
