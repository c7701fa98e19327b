#pragma once
// Captures that take their value from a request but not from its path or host: {header:x-api-key},
// {cookie:session}, {query:token}, {basic-user} and {client}. One table (capture_source.cpp) has
// all sources; a new one is one entry there, with the function that reads it.
//
// What a client sends may be a secret, so a value becomes a hash here already, unless the route
// says `readable`. Nothing behind routing ever sees the value itself. Without a key in the hash all
// sidecars make the same names (docs/decisions/0189).
//
// Immutable once parsed, thread-safe. It owns its texts.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/request_head.h"
#include "routing/client.h"
#include "routing/pattern.h"

namespace weir::routing {

class CaptureSource {
  public:
    /// Parses what stands between the braces, such as "header:x-api-key,readable". Nothing if it
    /// does not begin with the word of a source. `column` is that of the text, for errors.
    [[nodiscard]] static std::optional<std::variant<CaptureSource, PatternError>> parse(
        std::string_view text, std::size_t column);
    /// The source of a field's value with a capture in it, as in "Bearer {token}": the part between
    /// `prefix` and `suffix`. `name` is the field's, and `readable` as above.
    [[nodiscard]] static CaptureSource of_field(std::string_view name, SegmentPattern value,
                                                bool readable);

    /// Appends the value of this request in the form in which names contain it. False, and nothing
    /// is appended, if the request has no such value, more than one, or none that can be read in
    /// one way only (docs/routing.md). `buffer` is for decoding.
    [[nodiscard]] bool append(std::string& out, const http::RequestHead& head, const Client& client,
                              std::string& buffer) const;
    /// Whether a request field has the value, or one of several fields; append() may find that it
    /// cannot be read in one way. True for other sources.
    [[nodiscard]] bool may_have_value(const http::RequestHead& head, const Client& client) const;
    /// Whether append() would append something.
    [[nodiscard]] bool has_value(const http::RequestHead& head, const Client& client,
                                 std::string& buffer) const;

    /// The request field that is read; empty: none.
    [[nodiscard]] std::string_view field() const;
    /// Whether each request of a client with an address has a value.
    [[nodiscard]] bool is_client_address() const;
    /// What it reads, for messages, such as "header:x-api-key".
    [[nodiscard]] std::string describe() const;

    /// The form with the word that was probably meant, such as "{header:x}" for "heder:x"; empty if
    /// none was. And the forms that there are, for messages.
    [[nodiscard]] static std::string suggest(std::string_view text);
    [[nodiscard]] static std::string forms();

    /// The bits of an address that count: the whole of an IPv4 address, and the part of an IPv6
    /// address that one subscriber has at least.
    struct Prefixes {
        unsigned v4 = 32;
        unsigned v6 = 64;
    };

    // Used by the functions of the table.
    [[nodiscard]] const std::string& argument() const { return argument_; }
    [[nodiscard]] const SegmentPattern& value_pattern() const { return value_; }
    [[nodiscard]] Prefixes prefixes() const { return prefixes_; }

  private:
    [[nodiscard]] std::optional<std::string_view> value(const http::RequestHead& head,
                                                        const Client& client,
                                                        std::string& buffer) const;

    std::size_t entry_ = 0;  // in the table
    std::string argument_;   // the name of the field, cookie or parameter
    SegmentPattern value_{.prefix = {}, .suffix = {}, .wildcard = true, .capture = {}};
    Prefixes prefixes_;
    bool readable_ = false;
};

}  // namespace weir::routing
