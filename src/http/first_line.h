#pragma once
// What the first line of a request says that cannot be served: its head was rejected, or did not
// come whole. For logs, and for the form of an answer that refuses it; nothing may be routed,
// charged or forwarded by it. Pure, thread-safe.

#include <string_view>

namespace weir::http {

struct FirstLine {
    std::string_view method;
    std::string_view target;
};

/// Reads as far as the bytes go. Both are empty if the line does not begin with the name of a
/// method, as when somebody speaks another protocol. A target has no authority, which might hold a
/// password: of "http://user:secret@host/path" it is "/path". The views point into `buffered`.
[[nodiscard]] FirstLine first_line_of(std::string_view buffered);

}  // namespace weir::http
