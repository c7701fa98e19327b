#pragma once
// How far one body has come, whatever its framing: which of the bytes that arrived belong to it,
// and whether it has ended. Not thread-safe; no allocation.

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
        std::size_t used = 0;  ///< bytes from the front that belong to the body
        bool bad = false;      ///< the body is malformed; none of these bytes may be passed on
    };
    Passed pass(std::string_view bytes);

    struct Unwrapped {
        std::size_t content = 0;  ///< bytes of content, moved to the front
        std::size_t total = 0;    ///< these and, right behind them, what is behind the body
        bool bad = false;
    };
    /// Of a chunked body: takes the framing out of the bytes, in place. Slower than pass().
    Unwrapped unwrap(std::span<char> bytes);

    [[nodiscard]] bool done() const;
    [[nodiscard]] std::uint64_t remaining() const { return remaining_; }
    [[nodiscard]] http::BodyKind kind() const { return kind_; }
    /// Content so far, without framing.
    [[nodiscard]] std::uint64_t payload() const;
    [[nodiscard]] http::Rejection rejection() const { return scanner_.rejection(); }

  private:
    http::BodyKind kind_;
    std::uint64_t remaining_;
    std::uint64_t payload_ = 0;
    http::ChunkedScanner scanner_;
};

}  // namespace weir::proxy
