#pragma once
// A request to the status or the admin listener and its answer as plain values, so that handlers
// can be tested without sockets.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::admin {

struct AdminRequest {
    std::string method;
    /// Path and query as they were sent, percent-encoded.
    std::string target;
    std::string host;
    std::string origin;
    std::string authorization;
    std::string accept_encoding;
    std::string content_type;
    std::string if_match{};
    std::string if_none_match{};
    std::string body;
    /// How many Host fields the request had; a valid request has exactly one.
    std::size_t hosts = 1;
    /// The request came through a unix socket, which the permissions of its file guard.
    bool local_socket = false;
};

struct Response {
    unsigned status = 200;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> fields;
};

}  // namespace weir::admin
