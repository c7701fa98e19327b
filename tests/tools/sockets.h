#pragma once
// Non-blocking stream sockets for the test tools. An address is "127.0.0.1:8080", "[::1]:8080" or
// "unix:/path". Failures while a socket is set up throw std::runtime_error, because a test tool
// that cannot listen has to end.

#include <string>

namespace weir::tools {

/// A listening descriptor. Port 0 stands for any free port. An old file of a unix socket is removed
/// first.
[[nodiscard]] int listen_on(const std::string& address);
/// The address of the listener, in the form that connect_to() takes.
[[nodiscard]] std::string bound_address(int listener, const std::string& address);
/// The next waiting connection, or -1.
[[nodiscard]] int accept_from(int listener);
/// A descriptor whose connection is being made or stands; -1 when it was refused at once.
[[nodiscard]] int connect_to(const std::string& address);

}  // namespace weir::tools
