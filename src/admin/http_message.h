#pragma once
// A request and an answer of the status and admin listeners as plain values, so that what answers
// can be tested without sockets.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::admin {

struct Request {
    std::string method;
    /// As sent: path and query, percent-encoded.
    std::string target;
    std::string host;
    std::string origin;
    std::string authorization;
    std::string accept_encoding;
    std::string content_type;
    std::string if_match{};
    std::string if_none_match{};
    std::string body;
    /// How many Host fields came; a valid request has exactly one.
    std::size_t hosts = 1;
    /// Came through a unix socket: the file's permissions guard it.
    bool local_socket = false;
};

struct Response {
    unsigned status = 200;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> fields;
};

}  // namespace weir::admin
