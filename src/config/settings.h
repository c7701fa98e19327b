#pragma once
// The sidecar's own settings, as read from its file, the WEIR_… variables and the flags, after
// validation. Plain immutable values: made once by config::load_settings, then shared by const
// reference (or as a const snapshot) with the parts that they configure. docs/configuration.md
// explains every key; settings_fields.h maps keys to these members.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "routing/route_settings.h"

namespace weir::config {

/// Where to listen: a TCP address, or a unix socket when `path` is not empty.
struct ListenAddress {
    Endpoint endpoint;
    std::string path;

    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// "0.0.0.0:8080" or "unix:/run/weir.sock".
[[nodiscard]] std::string to_string(const ListenAddress& address);

/// The service behind us: host (a name or a literal address) and port, or a unix socket.
struct UpstreamAddress {
    std::string host;
    std::uint16_t port = 0;
    std::string path;

    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    friend bool operator==(const UpstreamAddress&, const UpstreamAddress&) = default;
};

[[nodiscard]] std::string to_string(const UpstreamAddress& address);

/// Where a sidecar finds its peers: a DNS name that is looked up again for ever (all of its
/// addresses are seeds), or one literal address.
struct Seed {
    std::string host;  ///< the name, or the literal address without port and brackets
    std::uint16_t port = 0;
    std::optional<Endpoint> literal;  ///< set when host is a literal address

    friend bool operator==(const Seed&, const Seed&) = default;
};

/// A block of addresses, "10.0.0.0/8" or "2001:db8::/32"; a single address is a block of one.
struct AddressBlock {
    Endpoint base;               ///< port 0; IPv4 as ::ffff:a.b.c.d
    unsigned prefix_bits = 128;  ///< counted in the 128 bits of `base`

    [[nodiscard]] bool contains(const Endpoint& endpoint) const;
    friend bool operator==(const AddressBlock&, const AddressBlock&) = default;
};

/// Whether one of the blocks has it.
[[nodiscard]] bool contains(std::span<const AddressBlock> blocks, const Endpoint& endpoint);

struct ClusterSettings {
    std::string name = "weir";  ///< packets of another cluster are refused
    Endpoint listen = Endpoint::v4(0, 7946);
    std::optional<Endpoint> advertise;  ///< what peers are told; nothing: found out at start
    std::vector<Seed> join;
    std::string key_file;   ///< empty only with `insecure`
    bool insecure = false;  ///< gossip unsealed

    friend bool operator==(const ClusterSettings&, const ClusterSettings&) = default;
};

/// The listener for other hosts that ask whether a request may pass.
struct CheckSettings {
    ListenAddress listen;  ///< 127.0.0.1:9903
    /// Who may ask; needed unless `listen` is local. Empty: everybody who reaches it.
    std::vector<AddressBlock> clients;

    friend bool operator==(const CheckSettings&, const CheckSettings&) = default;
};

/// How long things may take (robustness against slow or dead ends).
struct TimeoutSettings {
    Duration request_head = std::chrono::seconds(10);     ///< first byte to end of head, in total
    Duration body_idle = std::chrono::seconds(30);        ///< between two reads of a request body
    Duration keep_alive_idle = std::chrono::seconds(60);  ///< client connection between requests
    Duration connect = std::chrono::milliseconds(250);    ///< 5 s when upstream is not local
    Duration stream_idle = std::chrono::seconds(300);     ///< no byte either way during a response
    Duration upstream_idle = std::chrono::seconds(60);    ///< a pooled upstream connection

    friend bool operator==(const TimeoutSettings&, const TimeoutSettings&) = default;
};

/// How big things may get. Sizes in bytes.
struct LimitSettings {
    std::size_t request_line = 8 * 1024;
    std::size_t request_head = 32 * 1024;
    std::size_t request_fields = 100;
    std::size_t response_head = 64 * 1024;
    std::size_t chunk_extension = 4 * 1024;
    std::size_t buffer = 32 * 1024;  ///< per connection and direction
    std::size_t refused_body =
        64 * 1024;                     ///< read away after a refusal, else the connection closes
    std::size_t connections = 10'000;  ///< clients, all workers together
    std::size_t upstream_connections = 10'000;    ///< all workers together
    std::size_t upstream_idle_connections = 256;  ///< kept by each worker
    std::size_t pipelined_requests = 100;         ///< served in a row, then others' turn
    std::uint64_t memory = 0;  ///< of the process; 0: its control group's, if that has one

    friend bool operator==(const LimitSettings&, const LimitSettings&) = default;
};

enum class Underscores { pass, drop, reject };

struct HeaderSettings {
    bool ietf = true;          ///< RateLimit and RateLimit-Policy on refusals
    bool x_ratelimit = false;  ///< X-RateLimit-Limit, -Remaining, -Reset on refusals
    bool on_success = false;   ///< the same on admitted requests
    bool quota = true;         ///< X-Weir-Quota on refusals
    bool via = true;
    bool forwarded = true;  ///< X-Forwarded-For, -Proto, -Host
    bool request_id = true;
    /// Response field in which the upstream states a request's cost; empty: none.
    std::string cost = "X-Weir-Cost";
    /// Request field in which one of judging_proxies says that it has judged; empty: none.
    std::string judged = "X-Weir-Judged";
    Underscores underscores = Underscores::pass;  ///< request fields whose name holds one

    friend bool operator==(const HeaderSettings&, const HeaderSettings&) = default;
};

enum class LogLevel { debug, info, warning, error, off };
enum class LogFormat { json, text };

struct LogSettings {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::text;

    friend bool operator==(const LogSettings&, const LogSettings&) = default;
};

/// Which requests are written to the access log.
enum class AccessLogMode { off, limited, all };

struct DrainSettings {
    Duration grace = std::chrono::seconds(20);          ///< for what is in flight after SIGTERM
    Duration keep_accepting = std::chrono::seconds(3);  ///< new connections after a drain begins

    friend bool operator==(const DrainSettings&, const DrainSettings&) = default;
};

struct LimiterSettings {
    std::size_t max_instances = 1'000'000;
    double max_weight = 1e12;  ///< one request's weight is clamped to it

    friend bool operator==(const LimiterSettings&, const LimiterSettings&) = default;
};

/// Overrides kept on disk.
struct SnapshotSettings {
    std::string file;  ///< empty: none
    /// A snapshot that was last written longer ago is not used.
    Duration max_age = std::chrono::hours(23);

    friend bool operator==(const SnapshotSettings&, const SnapshotSettings&) = default;
};

/// A key that was given, and by whom: what GET /v1/config shows (given_settings.h).
struct GivenSetting {
    std::string key;     ///< "cluster.name", or "routes"
    std::string json;    ///< as written, a text of JSON
    std::string source;  ///< "weir.yaml:3", "--cluster-name" or "WEIR_CLUSTER_NAME"

    friend bool operator==(const GivenSetting&, const GivenSetting&) = default;
};

struct Settings {
    std::vector<GivenSetting> given;  ///< each key once
    ListenAddress listen;             ///< clients
    UpstreamAddress upstream;
    ListenAddress admin;              ///< changes and debugging
    ListenAddress status;             ///< health and metrics, read-only
    std::string admin_token_file;     ///< bearer token; needed unless admin is local
    std::vector<std::string> quotas;  ///< files, or directories of *.yaml, *.yml, *.json
    routing::RoutingSettings routing;
    std::optional<ClusterSettings> cluster;  ///< nothing: alone
    std::optional<CheckSettings> check;      ///< nothing: nobody may ask
    unsigned workers = 0;                    ///< event loops of the proxy; 0: one per core
    TimeoutSettings timeouts;
    LimitSettings limits;
    HeaderSettings headers;
    LogSettings log;
    AccessLogMode access_log = AccessLogMode::off;
    std::string access_log_file = "-";  ///< "-": standard output
    bool peek = false;                  ///< a front tier: decides, charges nothing, and says so
    DrainSettings drain;
    LimiterSettings limiter;
    SnapshotSettings snapshot;
    std::size_t max_quota_series = 1000;    ///< metrics.max_quota_series
    std::size_t max_quota_bytes = 900'000;  ///< metrics.max_quota_bytes
    std::vector<AddressBlock> trusted_proxies;
    std::vector<AddressBlock> judging_proxies;  ///< tiers that judge in front: they can pass limits

    friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace weir::config
