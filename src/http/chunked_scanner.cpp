#include "http/chunked_scanner.h"

#include <algorithm>

#include "base/characters.h"
#include "base/planted.h"
#include "http/fields.h"

namespace weir::http {
namespace {

constexpr unsigned kMaxDigits = 16;

int hexadecimal_value(char c) {
    if (is_digit(c)) {
        return c - '0';
    }
    const char lower = to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Whether a field value or a quoted string may hold the byte (RFC 9110, 5.5): of the control bytes
/// only the tab.
bool is_text(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

/// Fields that frame, route or authenticate a message are not allowed as trailers (RFC 9110,
/// 6.5.1).
bool is_forbidden_trailer(std::string_view name) {
    constexpr std::string_view kOthers[] = {
        "trailer",          "authorization", "content-type", "content-range", "set-cookie",
        "content-encoding", "cache-control", "cookie",       "max-forwards",  "www-authenticate"};
    if (identify(name) != FieldId::other) {
        return true;
    }
    return std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
}

}  // namespace

bool ChunkedScanner::fail(Rejection rejection) {
    rejection_ = rejection;
    place_ = Place::failed;
    return false;
}

bool ChunkedScanner::go(Place next) {
    place_ = next;
    return true;
}

bool ChunkedScanner::expect(char byte, char wanted, Place next) {
    return byte == wanted ? go(next) : fail(Rejection::bad_chunk_end);
}

ChunkedScanner::ScanResult ChunkedScanner::scan(std::string_view input) {
    std::size_t position = 0;
    while (position < input.size() && place_ != Place::done && place_ != Place::failed) {
        if (place_ == Place::payload) {
            const auto taken = std::min<std::uint64_t>(chunk_, input.size() - position);
            chunk_ -= taken;
            payload_ += taken;
            position += static_cast<std::size_t>(taken);
            if (chunk_ == 0) {
                place_ = Place::payload_return;
            }
        } else if (step(input[position])) {
            ++position;
        }
    }
    const State state = place_ == Place::done     ? State::complete
                        : place_ == Place::failed ? State::rejected
                                                  : State::need_more;
    return {state, position};
}

bool ChunkedScanner::step(char byte) {
    switch (place_) {
        case Place::size_first:
        case Place::size:
            return size_byte(byte);
        case Place::extension:
            return count_extension_byte() && extension_byte(byte);
        case Place::extension_quoted:
        case Place::extension_escaped:
            return count_extension_byte() && quoted_byte(byte);
        case Place::size_line_feed:
            return byte == '\n' ? end_of_size_line() : fail(Rejection::bad_chunk_size);
        case Place::payload_return:
            return expect(byte, '\r', Place::payload_line_feed);
        case Place::payload_line_feed:
            return expect(byte, '\n', Place::size_first);
        case Place::final_line_feed:
            return expect(byte, '\n', Place::done);
        case Place::trailer_start:
        case Place::trailer_name:
        case Place::trailer_value:
        case Place::trailer_line_feed:
            return trailer_byte(byte);
        case Place::payload:
        case Place::done:
        case Place::failed:
            break;
    }
    return false;
}

bool ChunkedScanner::size_byte(char byte) {
    if (place_ == Place::size_first) {
        chunk_ = 0;
        digits_ = 0;
        extension_ = 0;
    }
    if (const int digit = hexadecimal_value(byte); digit >= 0) {
        if (++digits_ > kMaxDigits) {
            return fail(Rejection::bad_chunk_size);
        }
        chunk_ = chunk_ << 4U | static_cast<std::uint64_t>(digit);
        return go(Place::size);
    }
    if (digits_ == 0) {
        return fail(Rejection::bad_chunk_size);
    }
    if (byte == '\r') {
        return go(Place::size_line_feed);
    }
    if (byte != ';') {
        return fail(Rejection::bad_chunk_size);
    }
    part_ = Part::before_name;
    return go(Place::extension);
}

bool ChunkedScanner::count_extension_byte() {
    ++extensions_;
    if (++extension_ > limits_.max_extension) {
        return fail(Rejection::bad_chunk_extension);
    }
    if (extensions_ > limits_.max_extensions + payload_) {
        return fail(Rejection::chunk_overhead);
    }
    return true;
}

/// Reads chunk-ext = *( ";" token [ "=" ( token / quoted-string ) ] ). The blanks that RFC 9112
/// calls bad are not allowed.
bool ChunkedScanner::extension_byte(char byte) {
    const bool token = is_token_character(byte);
    const bool may_begin = part_ == Part::before_name || part_ == Part::before_value;
    if (token && part_ != Part::after_value) {
        if (part_ == Part::before_name) {
            part_ = Part::name;
        }
        if (part_ == Part::before_value) {
            part_ = Part::value;
        }
        return true;
    }
    if (byte == '"' && part_ == Part::before_value) {
        return go(Place::extension_quoted);
    }
    if (may_begin) {
        return fail(Rejection::bad_chunk_extension);
    }
    if (byte == '\r') {
        return go(Place::size_line_feed);
    }
    if (byte == ';') {
        part_ = Part::before_name;
        return true;
    }
    if (byte != '=' || part_ != Part::name) {
        return fail(Rejection::bad_chunk_extension);
    }
    part_ = Part::before_value;
    return true;
}

bool ChunkedScanner::quoted_byte(char byte) {
    if (!is_text(byte)) {
        return fail(Rejection::bad_chunk_extension);
    }
    if (place_ == Place::extension_escaped) {
        return go(Place::extension_quoted);
    }
    if (byte == '\\') {
        return go(Place::extension_escaped);
    }
    if (byte != '"') {
        return true;
    }
    part_ = Part::after_value;
    return go(Place::extension);
}

bool ChunkedScanner::end_of_size_line() {
    return go(chunk_ == 0 ? Place::trailer_start : Place::payload);
}

bool ChunkedScanner::trailer_byte(char byte) {
    if (++trailer_ > limits_.max_trailer + 1) {
        return fail(Rejection::trailer_too_large);
    }
    switch (place_) {
        case Place::trailer_start:
            if (byte == '\r') {
                return go(Place::final_line_feed);
            }
            name_ = 0;
            if (++trailer_fields_ > limits_.max_trailer_fields) {
                return fail(Rejection::trailer_too_large);
            }
            return trailer_name_byte(byte);
        case Place::trailer_name:
            return trailer_name_byte(byte);
        case Place::trailer_value:
            if (byte == '\r') {
                return go(Place::trailer_line_feed);
            }
            return is_text(byte) || fail(Rejection::bad_trailer);
        default:
            return byte == '\n' ? go(Place::trailer_start) : fail(Rejection::bad_trailer);
    }
}

bool ChunkedScanner::trailer_name_byte(char byte) {
    if (byte == ':') {
        const bool long_name = name_ > sizeof name_text_;
        if (name_ == 0 || (!long_name && is_forbidden_trailer({name_text_, name_}))) {
            return fail(Rejection::bad_trailer);
        }
        return go(Place::trailer_value);
    }
    if (!is_token_character(byte)) {
        return fail(Rejection::bad_trailer);
    }
    // The name is kept in the form in which an application that turns names into variables reads
    // it.
    const bool kept = name_ < sizeof name_text_ || planted(Planted::chunk_trailer);
    if (kept) {
        name_text_[name_] = byte == '_' ? '-' : to_lower(byte);
    }
    ++name_;
    return go(Place::trailer_name);
}

}  // namespace weir::http
