#pragma once
// What the strict gate lets through. Plain values; sizes are bytes. A default is strict wherever
// strictness breaks no ordinary client. Each switch names the rule that it relaxes; rules without a
// switch (framing, line endings, control bytes, Host) cannot be relaxed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::http {

/// What happens to fields whose name holds an underscore. Applications that turn names into
/// variables (CGI, WSGI) confuse X_Forwarded_For with X-Forwarded-For. So even with `pass` the gate
/// drops a name that could be taken for a field that weir reads or writes. `pass` is the default,
/// because a signature (such as AWS's version 4) may cover any other field, and would be broken if
/// that were dropped.
enum class Underscores : std::uint8_t { pass, drop, reject };

struct GatePolicy {
    std::size_t max_head = 32 * 1024;  ///< with the empty line; a larger head is answered with 431
    std::size_t max_request_line = 8 * 1024;  ///< with its CRLF; a longer line is answered with 414
    std::size_t max_fields = 100;             ///< more are answered with 431
    Underscores underscores = Underscores::pass;
    /// Names of further fields that weir reads. Names that imitate them are dropped, too.
    std::vector<std::string> read_names{};
    /// Skip one empty line before a request line (RFC 9112, 2.2).
    bool skip_leading_empty_line = true;
    /// Accept HTTP/1.0 without Host: only HTTP/1.1 requires it (RFC 9112, 3.2). Without Host no
    /// route can match by host.
    bool host_optional_in_http_1_0 = true;
    /// Accept any token as a method (RFC 9110, 9.1). Off: only upper-case letters, '-' and '_'.
    bool any_token_as_method = false;
    /// Accept characters that RFC 3986, 3.3 and 3.4, forbids and that clients send nevertheless:
    /// [ ] { } | ^ ` \ " < >. nginx and HAProxy pass them on, too. Some programs take a backslash
    /// for a slash; routing judges that.
    bool browser_characters_in_target = true;
    /// The protocols, in lower case, that a client may ask to go on with (RFC 9110, 7.8). Who asks
    /// for others only is answered with 501. Never a form of HTTP, whose requests nobody would see.
    std::vector<std::string> upgrades{};
};

}  // namespace weir::http
