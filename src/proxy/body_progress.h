#pragma once
// Follows one body of any framing: says which of the bytes that arrive belong to it, and whether it
// has ended. Not thread-safe; allocates nothing.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "http/body_framing.h"
#include "http/chunked_scanner.h"

namespace weir::proxy {

class BodyProgress {
  public:
    BodyProgress(const http::BodyFraming& framing, const http::ChunkedLimits& limits)
        : kind_(framing.kind), remaining_(framing.length), scanner_(limits) {}

    struct Passed {
        std::size_t used = 0;  ///< how many of the first bytes belong to the body
        bool bad = false;      ///< the body is malformed; none of these bytes may be passed on
    };
    /// Continues with the bytes that follow those of the last call.
    Passed pass(std::string_view bytes);

    struct Unwrapped {
        std::size_t content = 0;  ///< bytes of content, which were moved to the front
        std::size_t total = 0;    ///< content and, right behind it, the bytes that follow the body
        bool bad = false;
    };
    /// Removes the framing of a chunked body from the bytes, in place. Slower than pass().
    Unwrapped unwrap(std::span<char> bytes);

    [[nodiscard]] bool done() const;
    /// Bytes still to come, of a body of kind `length`.
    [[nodiscard]] std::uint64_t remaining() const { return remaining_; }
    [[nodiscard]] http::BodyKind kind() const { return kind_; }
    /// Bytes of content so far, without framing.
    [[nodiscard]] std::uint64_t payload() const;
    [[nodiscard]] http::Rejection rejection() const { return scanner_.rejection(); }

  private:
    http::BodyKind kind_;
    std::uint64_t remaining_;
    std::uint64_t payload_ = 0;
    http::ChunkedScanner scanner_;
};

}  // namespace weir::proxy
