#pragma once
// Reads the values of capture sources from a request. Each function returns nothing where a request
// has no value, has two different ones, or has one that programs read in different ways: a client
// could otherwise choose, among the spellings that its application takes for one, as many names of
// quotas as it likes. Values that were decoded lie in `buffer`. Pure functions, thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "http/request_head.h"
#include "routing/client.h"
#include "routing/pattern.h"

namespace weir::routing {

using SourceValue = std::optional<std::string_view>;

/// The part of a field's value that the pattern captures, without blanks around it. Of fields in
/// which proxies say who the sender is only those of trusted clients count.
[[nodiscard]] SourceValue field_value(const http::RequestHead& head, const Client& client,
                                      std::string_view name, const SegmentPattern& pattern);
/// Whether one of the request's fields of this name has a value that the pattern captures, whatever
/// the others have.
[[nodiscard]] bool some_field_fits(const http::RequestHead& head, const Client& client,
                                   std::string_view name, const SegmentPattern& pattern);
/// A cookie without the quotes around it, decoded. '+' and blanks are one character.
[[nodiscard]] SourceValue cookie_value(const http::Fields& fields, std::string_view name,
                                       std::string& buffer);
/// A parameter of the query, decoded in the same way.
[[nodiscard]] SourceValue parameter_value(std::string_view query, std::string_view name,
                                          std::string& buffer);
/// The user of basic authentication (RFC 7617).
[[nodiscard]] SourceValue basic_user(const http::Fields& fields, std::string& buffer);

}  // namespace weir::routing
