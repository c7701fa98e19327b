#pragma once
// Follows a chunked body (RFC 9112, 7.1) through the bytes as they pass, so that they can be
// forwarded as they came: which of them belong to the message, and is it finished? Sizes are 1 to
// 16 hexadecimal digits without sign, blank or prefix; line ends are CRLF exactly; extensions and
// trailers are checked and bounded. Each byte costs the same whatever the chunks are (a million
// chunks of one byte cost six million steps of one state machine), payload is skipped. The verdict
// depends on the bytes alone, not on how they were cut.
// Not thread-safe; owns nothing; no allocation.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/rejection.h"

namespace weir::http {

struct ChunkedLimits {
    std::size_t max_extension = 4 * 1024;    ///< of one chunk
    std::size_t max_extensions = 16 * 1024;  ///< of the whole message beyond the payload's size
    std::size_t max_trailer = 8 * 1024;      ///< all trailer fields
    std::size_t max_trailer_fields = 32;
};

class ChunkedScanner {
  public:
    enum class State : std::uint8_t { need_more, complete, rejected };
    struct Result {
        State state = State::need_more;
        /// Bytes of the input that belong to the message: all of it while more is needed, and up
        /// to the offending byte when rejected (these must not be forwarded as if they were good).
        std::size_t consumed = 0;
    };

    explicit ChunkedScanner(const ChunkedLimits& limits = ChunkedLimits{}) : limits_(limits) {}
    void reset();

    /// Continues with the bytes that follow those of the last call.
    Result scan(std::string_view input);

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
    std::uint64_t chunk_ = 0;  // size being read, then payload bytes left
    std::uint64_t payload_ = 0;
    std::uint64_t extensions_ = 0;  // bytes of extensions of all chunks
    std::size_t extension_ = 0;     // of this chunk
    std::size_t trailer_ = 0;
    std::size_t trailer_fields_ = 0;
    std::size_t name_ = 0;  // bytes of the trailer name being read
    char name_text_[24] = {};
    unsigned digits_ = 0;
    Place place_ = Place::size_first;
    // Within an extension: what the grammar allows next.
    enum class Part : std::uint8_t { before_name, name, before_value, value, after_value };
    Part part_ = Part::before_name;
    Rejection rejection_ = Rejection::none;
};

}  // namespace weir::http
