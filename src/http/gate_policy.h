#pragma once
// What the strict gate lets through. Sizes in bytes. The defaults are the strict choice where
// strictness costs no ordinary client anything; each switch names the rule that it relaxes. What is
// not a switch (framing, line endings, control bytes, Host) cannot be relaxed at all.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::http {

/// Fields whose name holds an underscore. Applications that turn names into variables (CGI, WSGI)
/// confuse X_Forwarded_For with X-Forwarded-For, so with `pass` too a name that would be taken for
/// a field that weir reads or writes is dropped. `pass` is the default because signatures (AWS's
/// version 4) may cover any other field, and a dropped one breaks them.
enum class Underscores : std::uint8_t { pass, drop, reject };

struct GatePolicy {
    std::size_t max_head = 32 * 1024;         ///< with the empty line; above: 431
    std::size_t max_request_line = 8 * 1024;  ///< with its CRLF; above: 414
    std::size_t max_fields = 100;             ///< above: 431
    Underscores underscores = Underscores::pass;
    /// Of further fields that weir reads: names that imitate them are dropped, too.
    std::vector<std::string> read_names{};
    /// RFC 9112, 2.2: one empty line before a request line is skipped.
    bool skip_leading_empty_line = true;
    /// RFC 9112, 3.2: only HTTP/1.1 requires Host. Without Host there is nothing to route by.
    bool host_optional_in_http_1_0 = false;
    /// RFC 9110, 9.1: any token is a method. Off: upper-case letters, '-' and '_' only.
    bool any_token_as_method = false;
    /// RFC 3986, 3.3 and 3.4 forbid characters that browsers send raw nevertheless (URL Standard):
    /// [ ] | in paths and [ ] { } | ^ ` \ in queries.
    bool browser_characters_in_target = true;
};

}  // namespace weir::http
