#pragma once
// Finds the end of a chunked body (RFC 9112, 7.1) while its bytes pass through and are forwarded
// unchanged. A size is 1 to 16 hexadecimal digits without sign, blank or prefix; a line ends with
// CRLF and nothing else; extensions and trailers are checked and bounded. The payload is skipped,
// and every byte of framing costs one step of a state machine, so many small chunks cost no more
// per byte than a few large ones. The result depends on the bytes alone, not on how they were
// divided among the calls. Not thread-safe; owns nothing; no allocation.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/rejection.h"

namespace weir::http {

struct ChunkedLimits {
    std::size_t max_extension = 4 * 1024;  ///< of one chunk
    /// The bytes of extensions in the whole message may exceed the bytes of payload by this.
    std::size_t max_extensions = 16 * 1024;
    std::size_t max_trailer = 8 * 1024;  ///< all trailer fields
    std::size_t max_trailer_fields = 32;
};

class ChunkedScanner {
  public:
    enum class State : std::uint8_t { need_more, complete, rejected };
    struct ScanResult {
        State state = State::need_more;
        /// Bytes of the input that belong to the message: all of them while more is needed; when
        /// the body is rejected, those before the offending byte, which must not be forwarded.
        std::size_t consumed = 0;
    };

    explicit ChunkedScanner(const ChunkedLimits& limits = ChunkedLimits{}) : limits_(limits) {}

    /// Continues with the bytes that follow those of the last call.
    ScanResult scan(std::string_view input);

    [[nodiscard]] Rejection rejection() const { return rejection_; }
    /// Bytes of content seen so far, without framing.
    [[nodiscard]] std::uint64_t payload_bytes() const { return payload_; }
    [[nodiscard]] bool complete() const { return place_ == Place::done; }

  private:
    enum class Place : std::uint8_t {
        size_first,
        size,
        extension,
        extension_quoted,
        extension_escaped,
        size_line_feed,
        payload,
        payload_return,
        payload_line_feed,
        trailer_start,
        trailer_name,
        trailer_value,
        trailer_line_feed,
        final_line_feed,
        done,
        failed,
    };

    bool step(char byte);
    bool size_byte(char byte);
    bool extension_byte(char byte);
    bool quoted_byte(char byte);
    bool count_extension_byte();
    bool end_of_size_line();
    bool trailer_byte(char byte);
    bool trailer_name_byte(char byte);
    bool expect(char byte, char wanted, Place next);
    bool go(Place next);
    bool fail(Rejection rejection);

    ChunkedLimits limits_;
    std::uint64_t chunk_ = 0;  // the size while it is read, then the payload bytes that are left
    std::uint64_t payload_ = 0;
    std::uint64_t extensions_ = 0;  // bytes of extensions of all chunks
    std::size_t extension_ = 0;     // bytes of the extension of this chunk
    std::size_t trailer_ = 0;
    std::size_t trailer_fields_ = 0;
    std::size_t name_ = 0;  // bytes of the trailer name being read
    char name_text_[24] = {};
    unsigned digits_ = 0;
    Place place_ = Place::size_first;
    // What the grammar allows next within an extension.
    enum class Part : std::uint8_t { before_name, name, before_value, value, after_value };
    Part part_ = Part::before_name;
    Rejection rejection_ = Rejection::none;
};

}  // namespace weir::http
