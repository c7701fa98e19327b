#include "routing/source_values.h"

#include <sodium.h>

#include <algorithm>

#include "base/characters.h"
#include "http/fields.h"
#include "routing/escapes.h"

namespace weir::routing {
namespace {

/// Takes the values that a request has for one thing. If they differ, none counts.
class OnlyValue {
  public:
    void take(std::string_view value) {
        differ_ = differ_ || (value_ && *value_ != value);
        value_ = value;
    }
    [[nodiscard]] SourceValue get() const { return differ_ ? std::nullopt : value_; }

  private:
    SourceValue value_;
    bool differ_ = false;
};

SourceValue only_field(const http::Fields& fields, std::string_view name) {
    OnlyValue only;
    for (auto at = fields.find(name); at != http::Fields::kNone; at = fields.find(name, at + 1)) {
        only.take(fields.value(at));
    }
    return only.get();
}

bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
    return text.size() >= start.size() &&
           http::equals_ignoring_case(text.substr(0, start.size()), start);
}

/// What a client that is not trusted says of others is nobody's value.
bool believes(const Client& client, std::string_view field) {
    return client.trusted || (bit(http::identify(field)) & http::kForwardedClaims) == 0;
}

/// The part of the value that the pattern captures; nothing if the value does not fit.
SourceValue captured(std::string_view value, const SegmentPattern& pattern) {
    const auto around = pattern.prefix.size() + pattern.suffix.size();
    if (value.size() <= around || !starts_with_ignoring_case(value, pattern.prefix) ||
        !http::equals_ignoring_case(value.substr(value.size() - pattern.suffix.size()),
                                    pattern.suffix)) {
        return std::nullopt;
    }
    return trim(value.substr(pattern.prefix.size(), value.size() - around));
}

/// Decodes escapes, and makes blanks to '+', because programs differ in what a '+' means. Nothing
/// if it is `strict` and has a '%' that begins no escape.
SourceValue decoded(std::string_view value, bool strict, std::string& buffer) {
    if (value.find_first_of("% ") == std::string_view::npos) {
        return value;
    }
    buffer.clear();
    const bool good = append_decoded(buffer, value);
    if (strict && !good) {
        return std::nullopt;
    }
    std::replace(buffer.begin(), buffer.end(), ' ', '+');
    return buffer;
}

}  // namespace

SourceValue field_value(const http::RequestHead& head, const Client& client, std::string_view name,
                        const SegmentPattern& pattern) {
    if (!believes(client, name)) {
        return std::nullopt;
    }
    const auto value = only_field(head.fields(), name);
    const auto found = value ? captured(*value, pattern) : std::nullopt;
    // Of "Bearer a b" some programs take "a", others all that follows the first blank.
    const bool around = !pattern.prefix.empty() || !pattern.suffix.empty();
    const bool doubtful = around && found && found->find_first_of(" \t") != std::string_view::npos;
    return doubtful ? std::nullopt : found;
}

bool some_field_fits(const http::RequestHead& head, const Client& client, std::string_view name,
                     const SegmentPattern& pattern) {
    if (!believes(client, name)) {
        return false;
    }
    const http::Fields& fields = head.fields();
    for (auto at = fields.find(name); at != http::Fields::kNone; at = fields.find(name, at + 1)) {
        const auto found = captured(fields.value(at), pattern);
        if (found && !found->empty()) {
            return true;
        }
    }
    return false;
}

SourceValue cookie_value(const http::Fields& fields, std::string_view name, std::string& buffer) {
    constexpr std::string_view kCookie = "cookie";
    OnlyValue only;
    for (auto at = fields.find(kCookie); at != http::Fields::kNone;
         at = fields.find(kCookie, at + 1)) {
        auto rest = fields.value(at);
        while (!rest.empty()) {
            const auto end = std::min(rest.find(';'), rest.size());
            const auto pair = rest.substr(0, end);
            const auto equals = std::min(pair.find('='), pair.size());
            if (trim(pair.substr(0, equals)) == name) {
                only.take(trim(pair.substr(std::min(equals + 1, pair.size()))));
            }
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    auto value = only.get();
    if (!value) {
        return std::nullopt;
    }
    if (value->size() >= 2 && value->starts_with('"') && value->ends_with('"')) {
        value = value->substr(1, value->size() - 2);
    }
    // Within quotes some programs read "\141" as "a". Of what RFC 6265 has no place for in a value
    // (blanks, commas, quotes) some read the part before it.
    if (value->find_first_of("\\ \t,\"") != std::string_view::npos) {
        return std::nullopt;
    }
    return decoded(*value, false, buffer);
}

SourceValue parameter_value(std::string_view query, std::string_view name, std::string& buffer) {
    OnlyValue only;
    while (!query.empty()) {
        const auto end = std::min(query.find('&'), query.size());
        const auto parameter = query.substr(0, end);
        const auto equals = std::min(parameter.find('='), parameter.size());
        if (equals_decoded(parameter.substr(0, equals), name)) {
            only.take(parameter.substr(std::min(equals + 1, parameter.size())));
        }
        query.remove_prefix(std::min(end + 1, query.size()));
    }
    const auto value = only.get();
    // Some programs take ';' for a separator like '&'.
    const bool doubtful = value && value->find(';') != std::string_view::npos;
    return value && !doubtful ? decoded(*value, true, buffer) : std::nullopt;
}

SourceValue basic_user(const http::Fields& fields, std::string& buffer) {
    constexpr std::string_view kScheme = "basic ";
    const auto value = only_field(fields, "authorization");
    if (!value || !starts_with_ignoring_case(*value, kScheme)) {
        return std::nullopt;
    }
    const auto encoded = trim(value->substr(kScheme.size()));
    buffer.resize(encoded.size());
    std::size_t size = 0;
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(buffer.data()), buffer.size(),
                          encoded.data(), encoded.size(), nullptr, &size, nullptr,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        return std::nullopt;
    }
    const auto user = std::string_view(buffer).substr(0, size);
    const auto colon = user.find(':');
    return colon == std::string_view::npos ? std::nullopt : SourceValue(user.substr(0, colon));
}

}  // namespace weir::routing
