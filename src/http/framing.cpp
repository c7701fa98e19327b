#include "http/framing.h"

#include <limits>

#include "base/characters.h"
#include "http/element_list.h"

namespace weir::http {
namespace {

constexpr std::size_t kMaxConnectionOptions = 32;

/// Reads 1*DIGIT up to 2^63 - 1; nothing if the value is anything else.
std::optional<std::uint64_t> parse_length(std::string_view value) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (value.empty() || value.size() > 19) {
        return std::nullopt;
    }
    std::uint64_t length = 0;
    for (const char c : value) {
        if (!is_digit(c)) {
            return std::nullopt;
        }
        length = length * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return length <= kMax ? std::optional(length) : std::nullopt;
}

/// Whether the value is a list of several codings that ends in its only "chunked". Such a body has
/// an end that everybody finds, but weir does not support the other codings. With any other list
/// the body's end is unknown (RFC 9112, 6.3, rule 4).
bool ends_in_chunked(std::string_view value) {
    bool well_formed = true;
    bool last_is_chunked = false;
    std::size_t count = 0;
    std::size_t chunked = 0;
    for_each_element(value, [&](std::string_view element) {
        ++count;
        well_formed = well_formed && is_token(element);
        last_is_chunked = equals_ignoring_case(element, "chunked");
        chunked += last_is_chunked ? 1U : 0U;
    });
    return well_formed && last_is_chunked && chunked == 1 && count > 1;
}

Rejection check_encoding(const Fields& fields, unsigned minor_version) {
    if (fields.repeats(FieldId::transfer_encoding)) {
        return Rejection::encoding_repeated;
    }
    if (fields.contains(FieldId::content_length)) {
        return Rejection::length_and_encoding;
    }
    if (minor_version == 0) {
        return Rejection::encoding_in_http_1_0;
    }
    const auto value = fields.first(FieldId::transfer_encoding);
    if (equals_ignoring_case(value, "chunked")) {
        return Rejection::none;
    }
    return ends_in_chunked(value) ? Rejection::encoding_unsupported : Rejection::encoding_invalid;
}

/// Whether all Content-Length fields are the same text (RFC 9110, 8.6).
bool all_lengths_equal(const Fields& fields) {
    const auto first = fields.first(FieldId::content_length);
    for (auto i = fields.find(FieldId::content_length); i != Fields::kNone;
         i = fields.find(FieldId::content_length, i + 1)) {
        if (fields.value(i) != first) {
            return false;
        }
    }
    return true;
}

/// Fields that a Connection option must not name, because the meaning of the message depends on
/// them.
bool is_indispensable(FieldId id) {
    return id == FieldId::host || id == FieldId::content_length || id == FieldId::transfer_encoding;
}

}  // namespace

DeclaredFraming declared_framing(const Fields& fields, unsigned minor_version,
                                 RepeatedLength repeated) {
    DeclaredFraming framing;
    if (fields.contains(FieldId::transfer_encoding)) {
        framing.rejection = check_encoding(fields, minor_version);
        framing.chunked = framing.rejection == Rejection::none;
        return framing;
    }
    if (!fields.contains(FieldId::content_length)) {
        return framing;
    }
    const bool several = fields.repeats(FieldId::content_length);
    if (several && (repeated == RepeatedLength::rejected || !all_lengths_equal(fields))) {
        framing.rejection = Rejection::length_repeated;
        return framing;
    }
    framing.length = parse_length(fields.first(FieldId::content_length));
    if (!framing.length) {
        framing.rejection = Rejection::length_invalid;
    }
    return framing;
}

ConnectionOptions connection_options(Fields& fields) {
    ConnectionOptions options;
    std::size_t count = 0;
    // What the older field says is ignored, and it is not forwarded; a malformed one is rejected.
    for (auto i = fields.find(FieldId::proxy_connection); i != Fields::kNone;
         i = fields.find(FieldId::proxy_connection, i + 1)) {
        for_each_element(fields.value(i), [&](std::string_view option) {
            options.valid = options.valid && is_token(option);
        });
    }
    for (auto i = fields.find(FieldId::connection); i != Fields::kNone;
         i = fields.find(FieldId::connection, i + 1)) {
        for_each_element(fields.value(i), [&](std::string_view option) {
            options.valid = options.valid && is_token(option) && ++count <= kMaxConnectionOptions &&
                            !is_indispensable(identify(option));
            if (!options.valid) {
                return;
            }
            options.close = options.close || equals_ignoring_case(option, "close");
            options.keep_alive = options.keep_alive || equals_ignoring_case(option, "keep-alive");
            options.upgrade = options.upgrade || equals_ignoring_case(option, "upgrade");
            fields.drop(option);
        });
    }
    return options;
}

}  // namespace weir::http
