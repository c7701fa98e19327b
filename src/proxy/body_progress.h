#pragma once
// How far one body has come, whatever its framing: which of the bytes that arrived belong to it,
// and whether it has ended. Not thread-safe; no allocation.

#include <cstdint>
#include <string_view>

#include "http/body_framing.h"
#include "http/chunked_scanner.h"

namespace weir::proxy {

class BodyProgress {
  public:
    BodyProgress(const http::BodyFraming& framing, const http::ChunkedLimits& limits)
        : kind_(framing.kind), remaining_(framing.length), scanner_(limits) {}

    struct Step {
        std::size_t used = 0;  ///< bytes from the front that belong to the body
        bool bad = false;      ///< the body is malformed; none of these bytes may be passed on
    };
    Step pass(std::string_view bytes);

    [[nodiscard]] bool done() const;
    /// The body's length is known and bytes of it are still to come.
    [[nodiscard]] bool length_to_come() const {
        return kind_ == http::BodyKind::length && remaining_ > 0;
    }
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
