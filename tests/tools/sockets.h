#pragma once
// Non-blocking stream sockets for the test tools. An address is "127.0.0.1:8080", "[::1]:8080" or
// "unix:/path". Failures at set-up throw std::runtime_error: a test tool that cannot listen ends.

#include <string>

namespace weir::tools {

/// A listening descriptor; port 0 takes a free port. An old unix socket file is removed first.
[[nodiscard]] int listen_on(const std::string& address);
/// What the listener is bound to, in the form that connect_to takes.
[[nodiscard]] std::string bound_address(int listener, const std::string& address);
/// The next waiting connection, or -1.
[[nodiscard]] int accept_from(int listener);
/// A descriptor whose connection is under way or made; -1 when refused at once.
[[nodiscard]] int connect_to(const std::string& address);

}  // namespace weir::tools
