#pragma once
// What routes are, as plain values: no state, no format. A list of these is compiled into a Router.
// docs/routing.md explains each of them to users.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::routing {

/// Where a request's weight comes from.
enum class WeightSource {
    constant,       ///< `constant`
    table,          ///< by operation (S3) or method (other routes), `constant` for the rest
    request_bytes,  ///< Content-Length, or the running count of a chunked body
    header,         ///< of trusted clients; `constant` without or with an invalid one
};

/// Statuses of responses: 304, or all of 5xx.
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
    bool exact = false;  ///< the first value must equal `value`; else the field must be present
    std::string value;
    friend bool operator==(const HeaderMatch&, const HeaderMatch&) = default;
};

/// A request matches when everything that is given matches; what is empty matches all.
struct MatchSettings {
    std::vector<std::string> hosts;  ///< "api.example.net", "*.example.net", "{shop}.example.net"
    std::string path;                ///< "/api/{tenant}/**"
    std::vector<std::string> methods;
    std::vector<HeaderMatch> headers;
    friend bool operator==(const MatchSettings&, const MatchSettings&) = default;
};

struct RouteSettings {
    /// Empty, or "s3": then `domains` count and of `match` only headers.
    std::string preset;
    std::vector<std::string> domains;
    MatchSettings match;
    /// Names to try in this order, with captures of path and host. For a preset empty: its own.
    std::vector<std::string> quotas;
    WeightSettings weight;
    /// Responses that are free: the charge is given back. Nothing: as RoutingSettings says.
    std::optional<std::vector<StatusRange>> refund;
    /// Route paths whose normal form is ambiguous instead of answering 400.
    bool allow_ambiguous_path = false;
    friend bool operator==(const RouteSettings&, const RouteSettings&) = default;
};

struct RoutingSettings {
    std::vector<RouteSettings> routes;
    bool resolve_dot_segments = true;  ///< RFC 3986, 5.2.4
    bool merge_slashes = true;
    double max_weight = 1e12;           ///< weights from headers are clamped to it
    std::vector<StatusRange> refund{};  ///< for routes that do not say otherwise
    friend bool operator==(const RoutingSettings&, const RoutingSettings&) = default;
};

/// One error of a route, with its place in the settings, for a message with file and line.
struct RouteError {
    std::size_t route = 0;   ///< index
    std::string field;       ///< "match.path", "quotas[1]", "weight.table.GetObjekt"
    std::size_t column = 0;  ///< 1-based within the value of `field`; 0: the whole value
    std::string message;
    std::string suggestion;  ///< a name that was probably meant; may be empty
};

}  // namespace weir::routing
