#pragma once
// The sidecar's own settings, as read from its file, the WEIR_… variables and the flags, after
// validation. Plain immutable values: config::load_settings makes them once, then the parts that
// they configure share them by const reference (or as a const snapshot). docs/configuration.md
// explains every key; settings_fields.h maps keys to these members.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address_block.h"
#include "base/endpoint.h"
#include "base/instant.h"
#include "http/gate_policy.h"
#include "http/method.h"
#include "routing/route_settings.h"

namespace weir::config {

/// Where to listen: a TCP address, or a unix socket when `path` is not empty.
struct ListenAddress {
    Endpoint endpoint;
    std::string path;

    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// The address as text: "0.0.0.0:8080" or "unix:/run/weir.sock".
[[nodiscard]] std::string to_string(const ListenAddress& address);

/// The address of the application behind the sidecar: host (a name or a literal address) and port,
/// or a unix socket when `path` is not empty.
struct UpstreamAddress {
    std::string host;
    std::uint16_t port = 0;
    std::string path;

    [[nodiscard]] bool is_unix() const { return !path.empty(); }
    friend bool operator==(const UpstreamAddress&, const UpstreamAddress&) = default;
};

[[nodiscard]] std::string to_string(const UpstreamAddress& address);
/// What a Host field for this upstream holds: "app:3000", or "localhost" for a unix socket.
[[nodiscard]] std::string host_of(const UpstreamAddress& address);

/// Where a sidecar finds its peers: one literal address, or a DNS name that is looked up again and
/// again and all of whose addresses are seeds.
struct Seed {
    std::string host;  ///< the name, or the literal address without port and brackets
    std::uint16_t port = 0;
    std::optional<Endpoint> literal;  ///< set when host is a literal address

    friend bool operator==(const Seed&, const Seed&) = default;
};

/// What a process is in its fleet. An anchor has no proxy: it owns limits for the others.
enum class MemberRole : std::uint8_t { sidecar, anchor };

struct ClusterSettings {
    std::string name = "weir";  ///< datagrams of another cluster are refused
    Endpoint listen = Endpoint::v4(0, 7946);
    std::optional<Endpoint> advertise;  ///< told to peers; nothing: found out at start
    std::vector<Seed> join;
    std::string key_file;   ///< empty only with `insecure`
    bool insecure = false;  ///< gossip is not sealed
    /// How long the shares of sidecars that cannot be heard are kept; quotas may say otherwise.
    Duration hold = std::chrono::seconds(10);
    /// The same while nobody is heard, as long as the seeds name sidecars that lived lately.
    Duration hold_alone = std::chrono::seconds(60);
    /// For how long the quota files of more than half must have been the same before the fleet
    /// turns, for sets without a generation.
    Duration agree_after = std::chrono::seconds(10);
    std::uint64_t counter_bytes = 1'000'000;  ///< of counters, sent in a second at most

    friend bool operator==(const ClusterSettings&, const ClusterSettings&) = default;
};

/// The listener for other hosts that ask whether a request may pass.
struct CheckSettings {
    ListenAddress listen;  ///< where to listen, by default 127.0.0.1:9903
    /// The hosts that may ask; must be given unless `listen` is local. Empty: every host that
    /// reaches the listener.
    std::vector<AddressBlock> clients;

    friend bool operator==(const CheckSettings&, const CheckSettings&) = default;
};

/// The longest times that the proxy waits for slow or dead clients and upstreams.
struct TimeoutSettings {
    /// From the first byte to the end of the head.
    Duration request_head = std::chrono::seconds(10);
    Duration body_idle = std::chrono::seconds(30);  ///< between two reads of a request body
    /// On a client's connection between requests. Longer than the 60 s for which common load
    /// balancers keep theirs: whoever closes first must be the one that sends requests.
    Duration keep_alive_idle = std::chrono::seconds(75);
    Duration connect = std::chrono::milliseconds(250);  ///< 5 s when upstream is not local
    /// How long a request waits for an upstream that refuses connections; 0: not at all.
    Duration upstream_restart = std::chrono::seconds(3);
    /// The time without a byte in either direction during a response.
    Duration stream_idle = std::chrono::seconds(300);
    /// The time without a byte in either direction after a switch to another protocol.
    Duration tunnel_idle = std::chrono::hours(1);
    /// The time for which an idle upstream connection is kept.
    Duration upstream_idle = std::chrono::seconds(60);

    friend bool operator==(const TimeoutSettings&, const TimeoutSettings&) = default;
};

/// The largest sizes and numbers that the proxy allows. Sizes are in bytes.
struct LimitSettings {
    std::size_t request_line = 8 * 1024;
    std::size_t request_head = 32 * 1024;
    std::size_t request_fields = 100;
    std::size_t response_head = 64 * 1024;
    std::size_t response_fields = 1000;
    std::size_t chunk_extension = 4 * 1024;
    std::size_t buffer = 32 * 1024;  ///< for each connection and direction
    /// Of the kernel, for each connection and direction; 0: as the kernel decides.
    std::size_t socket_buffer = 256 * 1024;
    /// After a refusal, the largest body that is read and dropped; a longer one closes the
    /// connection.
    std::size_t refused_body = 64 * 1024;
    std::size_t connections = 10'000;             ///< of clients, to all workers together
    std::size_t upstream_connections = 10'000;    ///< of all workers together
    std::size_t upstream_idle_connections = 256;  ///< kept by each worker
    std::size_t waiting = 1000;  ///< requests of all workers that wait for an upstream to restart
    std::size_t pipelined_requests = 100;  ///< served in a row before other connections' turn
    std::uint64_t memory = 0;  ///< of the process; 0: the limit of its control group, if any

    friend bool operator==(const LimitSettings&, const LimitSettings&) = default;
};

using http::Underscores;

struct HeaderSettings {
    bool ietf = true;          ///< RateLimit and RateLimit-Policy on refusals
    bool x_ratelimit = false;  ///< X-RateLimit-Limit, -Remaining, -Reset on refusals
    bool on_success = false;   ///< the same fields on admitted requests, too
    bool quota = true;         ///< X-Weir-Quota on refusals
    bool via = true;
    bool forwarded = true;  ///< X-Forwarded-For, -Proto, -Host
    bool request_id = true;
    /// The response field in which the upstream states a request's cost; empty: none.
    std::string cost = "X-Weir-Cost";
    /// The request field in which one of judging_proxies says that it has decided about the
    /// request; empty: none.
    std::string judged = "X-Weir-Judged";
    /// What becomes of request fields whose name has an underscore.
    Underscores underscores = Underscores::pass;

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
    Duration grace = std::chrono::seconds(20);  ///< for requests in flight after SIGTERM
    /// How long new connections are accepted after a drain begins.
    Duration keep_accepting = std::chrono::seconds(3);

    friend bool operator==(const DrainSettings&, const DrainSettings&) = default;
};

struct LimiterSettings {
    std::size_t max_instances = 1'000'000;
    double max_weight = 1e12;  ///< a heavier request counts as this

    friend bool operator==(const LimiterSettings&, const LimiterSettings&) = default;
};

/// The snapshot of overrides on disk.
struct SnapshotSettings {
    std::string file;  ///< empty: none
    /// A snapshot that was last written before this time is not used at start.
    Duration max_age = std::chrono::hours(23);

    friend bool operator==(const SnapshotSettings&, const SnapshotSettings&) = default;
};

/// A key that was given, and where: GET /v1/config shows it (given_settings.h).
struct GivenSetting {
    std::string key;     ///< "cluster.name", or "routes"
    std::string json;    ///< the value as written, in JSON
    std::string source;  ///< "weir.yaml:3", "--cluster-name" or "WEIR_CLUSTER_NAME"

    friend bool operator==(const GivenSetting&, const GivenSetting&) = default;
};

/// The settings by which the proxy serves requests. It is a base of Settings and of
/// proxy::Snapshot, so that a reload can hand it on as a whole, without a list of its members.
struct ServingSettings {
    TimeoutSettings timeouts;
    LimitSettings limits;
    HeaderSettings headers;
    /// Clients whose X-Forwarded-… fields and stated weights are believed. Nothing: nobody has said
    /// who they are, so none is believed, and what came is passed on. Empty: there are none, and
    /// such fields of all clients are replaced.
    std::optional<std::vector<AddressBlock>> trusted_proxies;
    /// Tiers in front that are believed when they say that they have decided about a request. Such
    /// a tier can pass every limit.
    std::vector<AddressBlock> judging_proxies;
    /// Methods whose requests are let go of when the client has shut down its sending half.
    std::vector<http::Method> cancel_on_fin;
    /// Protocols to which a connection may switch (Upgrade), in lower case.
    std::vector<std::string> upgrades = {"websocket"};
    AccessLogMode access_log = AccessLogMode::off;
    bool access_log_query = false;
    /// This sidecar is a front tier: it decides and charges nothing, and tells the tier behind it
    /// to charge.
    bool peek = false;

    friend bool operator==(const ServingSettings&, const ServingSettings&) = default;
};

/// Whether the client is one of trusted_proxies.
[[nodiscard]] bool trusts(const ServingSettings& settings, const Endpoint& client);
/// Whether the client's X-Forwarded-… fields are passed on, although weir may not believe them.
[[nodiscard]] bool passes_forwarded(const ServingSettings& settings, const Endpoint& client);

struct Settings : ServingSettings {
    std::vector<GivenSetting> given;  ///< each key once
    MemberRole role = MemberRole::sidecar;
    ListenAddress listen;  ///< for clients
    UpstreamAddress upstream;
    ListenAddress admin;              ///< for changes and debugging
    ListenAddress status;             ///< for health and metrics, read-only
    std::string admin_token_file;     ///< bearer token; needed unless admin is local
    std::vector<std::string> quotas;  ///< files, or directories of *.yaml, *.yml, *.json
    routing::RoutingSettings routing;
    std::optional<ClusterSettings> cluster;  ///< nothing: the sidecar has no peers
    std::optional<CheckSettings> check;      ///< nothing: other hosts cannot ask
    unsigned workers = 0;                    ///< event loops of the proxy; 0: one for each core
    LogSettings log;
    std::string access_log_file = "-";  ///< "-": standard output
    DrainSettings drain;
    LimiterSettings limiter;
    SnapshotSettings snapshot;
    std::size_t max_quota_series = 1000;    ///< metrics.max_quota_series
    std::size_t max_quota_bytes = 900'000;  ///< metrics.max_quota_bytes

    friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace weir::config
