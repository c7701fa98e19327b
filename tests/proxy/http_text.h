#pragma once
// Reads HTTP messages from a SocketIo in a simple way, without the code of src/http. For tests.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/socket_io.h"

namespace weir::proxy::testing {

struct Message {
    /// Request line or status line.
    std::string start;
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;
    /// The trailer section of a chunked body, without the last empty line.
    std::string trailers;
    /// Head and body, byte for byte.
    std::string raw;
    /// False when the body broke off.
    bool complete = false;

    [[nodiscard]] int status() const;
    [[nodiscard]] std::string method() const;
    [[nodiscard]] std::string target() const;
    /// The first field of that name in any case; empty if there is none.
    [[nodiscard]] std::string field(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] std::size_t count(std::string_view name) const;
};

/// Reads a head; nothing if the connection ended before.
[[nodiscard]] std::optional<Message> read_head(SocketIo& socket);
/// Reads the body that the head announces. `to_end`: a body without framing ends with the
/// connection.
void read_body(SocketIo& socket, Message& message, bool to_end);
[[nodiscard]] std::optional<Message> read_request(SocketIo& socket);
/// Reads a response. `head_only`: it is the answer to HEAD. Each informational response counts as a
/// response.
[[nodiscard]] std::optional<Message> read_response(SocketIo& socket, bool head_only = false);

}  // namespace weir::proxy::testing
