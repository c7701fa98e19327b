#pragma once
// The settings of routes, as plain values that do not depend on the format of a file. A list of
// them is compiled into a Router. docs/routing.md explains each of them to users.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::routing {

/// Where a request's weight comes from.
enum class WeightSource {
    constant,  ///< it is WeightSettings::constant
    table,  ///< by operation (S3) or method (other routes); `constant` for those not in the table
    request_bytes,  ///< Content-Length, or the running count of a chunked body
    header,         ///< the field `header`, if a trusted client sends a valid one; else `constant`
};

/// Statuses of responses, from `first` to `last`: 304 alone, or all of 5xx.
struct StatusRange {
    unsigned first = 0;
    unsigned last = 0;
    friend bool operator==(const StatusRange&, const StatusRange&) = default;
};

struct WeightSettings {
    WeightSource source = WeightSource::constant;
    double constant = 1;
    std::vector<std::pair<std::string, double>> table;
    std::string header;
    friend bool operator==(const WeightSettings&, const WeightSettings&) = default;
};

struct HeaderMatch {
    std::string name;
    /// True: the first field of that name must equal `value`. False: there must be one.
    bool exact = false;
    std::string value;
    friend bool operator==(const HeaderMatch&, const HeaderMatch&) = default;
};

/// A request matches when it fits all settings that are not empty.
struct MatchSettings {
    std::vector<std::string> hosts;  ///< "api.example.net", "*.example.net", "{shop}.example.net"
    std::string path;                ///< "/api/{tenant}/**"
    std::vector<std::string> methods;
    std::vector<HeaderMatch> headers;
    friend bool operator==(const MatchSettings&, const MatchSettings&) = default;
};

struct RouteSettings {
    /// Empty or "s3". With "s3" `domains` are used, and of `match` only `headers`.
    std::string preset;
    std::vector<std::string> domains;
    MatchSettings match;
    /// Names of quotas, tried in this order, with captures of path and host. A preset has names of
    /// its own, which hold if this is empty.
    std::vector<std::string> quotas;
    /// Several lists of such names, in place of `quotas`; all of them apply to each request.
    std::vector<std::vector<std::string>> lists{};
    WeightSettings weight;
    /// Statuses for which the charge is given back. Nothing: those of RoutingSettings.
    std::optional<std::vector<StatusRange>> refund;
    /// Accept ambiguous paths (Ambiguity in normal_path.h) instead of answering 400.
    bool allow_ambiguous_path = false;
    friend bool operator==(const RouteSettings&, const RouteSettings&) = default;
};

struct RoutingSettings {
    std::vector<RouteSettings> routes;
    bool resolve_dot_segments = true;  ///< RFC 3986, 5.2.4
    bool merge_slashes = true;
    double max_weight = 1e12;           ///< a larger weight from a header field counts as this
    std::vector<StatusRange> refund{};  ///< for routes without a setting of their own
    friend bool operator==(const RoutingSettings&, const RoutingSettings&) = default;
};

/// One error of a route, with its place in the settings; config turns it into a message with file
/// and line.
struct RouteError {
    std::size_t route = 0;   ///< index of the route
    std::string field;       ///< "match.path", "quota[1]", "weight.table.GetObjekt"
    std::size_t column = 0;  ///< 1-based within the value of `field`; 0: the whole value
    std::string message;
    std::string suggestion;  ///< the name that was probably meant; may be empty
};

}  // namespace weir::routing
