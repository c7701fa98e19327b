#include "config/settings_fields.h"

#include <array>

#include "config/reader.h"
#include "config/setting_readers.h"
#include "config/values.h"
#include "limiter/definition.h"

namespace weir::config {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

/// The key headers.rate_limit, which stands for two members.
constexpr SettingValue kRateLimitHeaders = {[](const Settings& one, const Settings& other) {
                                                return one.headers.ietf == other.headers.ietf &&
                                                       one.headers.x_ratelimit ==
                                                           other.headers.x_ratelimit;
                                            },
                                            [](const Settings& from, Settings& to) {
                                                to.headers.ietf = from.headers.ietf;
                                                to.headers.x_ratelimit = from.headers.x_ratelimit;
                                                return true;
                                            }};

using enum AtReload;

// Each entry of the table ends with how its member is read, compared and taken over. These write
// all of that from the member's name; `body` reads a node into `target`.
#define WEIR_ENTRY(place, found, body)                               \
    [](NodeRef node, Settings& settings, Diagnostics& diagnostics) { \
        auto& target = place;                                        \
        body;                                                        \
    },                                                               \
        value_at([](auto& settings) { return found; })
#define WEIR_MEMBER(member, body) WEIR_ENTRY(settings.member, &settings.member, body)
#define WEIR_CLUSTER(member, body)          \
    WEIR_ENTRY(cluster_of(settings).member, \
               settings.cluster ? &settings.cluster->member : nullptr, body)
#define WEIR_CHECK(member, body) \
    WEIR_ENTRY(check_of(settings).member, settings.check ? &settings.check->member : nullptr, body)
#define WEIR_DURATION(member, least, most) \
    WEIR_MEMBER(member, assign(target, read_duration(node, least, most, diagnostics)))
#define WEIR_SIZE(member, least, most) \
    WEIR_MEMBER(member, assign(target, read_size(node, least, most, diagnostics)))
#define WEIR_COUNT(member, least, most) \
    WEIR_MEMBER(member, assign(target, read_unsigned(node, least, most, diagnostics)))
#define WEIR_BOOLEAN(member) WEIR_MEMBER(member, assign(target, read_boolean(node, diagnostics)))
#define WEIR_WORD(member, ...) \
    WEIR_MEMBER(member, assign(target, read_word(node, {__VA_ARGS__}, diagnostics)))
#define WEIR_PARSED(member, parse) \
    WEIR_MEMBER(member, assign(target, read_parsed(node, &(parse), diagnostics)))

// clang-format off
constexpr std::array kFields = {
    SettingField{"role", "word", "sidecar", "sidecar, anchor",
        "What this process is: a proxy that holds limits, or an anchor, which only owns them for its fleet.", false, needs_restart,
        WEIR_WORD(role, "sidecar", "anchor")},
    SettingField{"listen", "address", "0.0.0.0:8080", "",
        "Where clients connect: address and port, or `unix:` and a path.", false, needs_restart,
        WEIR_PARSED(listen, parse_listen_address)},
    SettingField{"upstream", "upstream", "required", "",
        "The service behind weir: `http://host:port`, or `unix:` and a path.", false, at_once,
        WEIR_PARSED(upstream, parse_upstream_address)},
    SettingField{"admin", "address", "127.0.0.1:9901", "",
        "Changes and debugging. Any address but a loopback one or a unix socket needs `admin_token_file`.", false, needs_restart,
        WEIR_PARSED(admin, parse_listen_address)},
    SettingField{"admin_token_file", "path", "none", "",
        "File that holds the bearer token which admin requests must carry.", false, needs_restart,
        WEIR_MEMBER(admin_token_file, read_path(node, target, diagnostics))},
    SettingField{"status", "address", "0.0.0.0:9902", "",
        "Health and metrics, read-only: `/livez`, `/readyz`, `/metrics`.", false, needs_restart,
        WEIR_PARSED(status, parse_listen_address)},
    SettingField{"quotas", "list of paths", "none", "",
        "Quota documents: files, or directories of `*.yaml`, `*.yml` and `*.json`. They are watched.", true, at_once,
        WEIR_MEMBER(quotas, read_files(node, target, diagnostics))},
    SettingField{"workers", "count", "0", "0 to 64",
        "Event loops of the proxy, each on its own thread; 0: one per core that the process may use.", false, needs_restart,
        WEIR_COUNT(workers, 0, 64)},
    SettingField{"trusted_proxies", "list of address blocks", "not given", "",
        "Clients whose `X-Forwarded-…` fields and stated weights are believed; `[]` replaces all such fields.", true, next_request,
        WEIR_MEMBER(trusted_proxies, read_all(node, target.emplace(), &parse_address_block, diagnostics))},
    SettingField{"judging_proxies", "list of address blocks", "none", "",
        "Tiers in front whose `headers.judged` is believed. Whoever is named here can pass every limit.", true, next_request,
        WEIR_MEMBER(judging_proxies, read_all(node, target, &parse_address_block, diagnostics))},
    SettingField{"peek", "true or false", "false", "",
        "Front tier: decide, charge nothing, and tell the weir behind in `headers.judged`, which charges.", false, next_request,
        WEIR_BOOLEAN(peek)},
    SettingField{"cancel_on_fin", "list of words", "none", "GET, HEAD",
        "Requests with these methods end when the client has shut down its side, as if it had left.", true, next_request,
        WEIR_MEMBER(cancel_on_fin, read_all(node, target, &parse_cancelled_method, diagnostics))},
    SettingField{"upgrades", "list of protocols", "websocket", "",
        "What a connection may switch to when client and service agree on it (`Upgrade`); `[]`: nothing.", true, next_request,
        WEIR_MEMBER(upgrades, read_all(node, target, &parse_upgrade, diagnostics))},
    SettingField{"access_log", "word", "off", "off, limited, all",
        "Requests that are logged as JSON lines: none, the refused ones, or all.", false, next_request,
        WEIR_WORD(access_log, "off", "limited", "all")},
    SettingField{"access_log_query", "true or false", "false", "",
        "Whether the path of a line has the query, in which clients may send secrets.", false, next_request,
        WEIR_BOOLEAN(access_log_query)},
    SettingField{"access_log_file", "path", "-", "",
        "Where to; `-` is standard output. Opened again at SIGHUP.", false, needs_restart,
        WEIR_MEMBER(access_log_file, read_path(node, target, diagnostics))},

    SettingField{"routing.resolve_dot_segments", "true or false", "true", "",
        "Match routes with `.` and `..` resolved (never for the s3 preset).", false, next_request,
        WEIR_BOOLEAN(routing.resolve_dot_segments)},
    SettingField{"routing.merge_slashes", "true or false", "true", "",
        "Match routes with `//` taken for `/` (never for the s3 preset).", false, next_request,
        WEIR_BOOLEAN(routing.merge_slashes)},
    SettingField{"routing.refund", "list of statuses", "none", "",
        "Responses that are free, like `304` or `5xx`, on routes without a `refund` of their own.", true, next_request,
        WEIR_MEMBER(routing.refund, read_all(node, target, &parse_status_range, diagnostics))},

    SettingField{"cluster.name", "text", "weir", "1 to 64 bytes",
        "Sidecars gossip only with those of the same name.", false, section_needs_restart,
        WEIR_CLUSTER(name, read_cluster_name(node, target, diagnostics))},
    SettingField{"cluster.listen", "address", "0.0.0.0:7946", "",
        "Where gossip is received (UDP).", false, section_needs_restart,
        WEIR_CLUSTER(listen, assign(target, read_parsed(node, &parse_udp_address, diagnostics)))},
    SettingField{"cluster.advertise", "address", "POD_IP, else found out", "",
        "The address that peers are told to send to.", false, section_needs_restart,
        WEIR_CLUSTER(advertise, assign(target, read_parsed(node, &parse_udp_address, diagnostics)))},
    SettingField{"cluster.join", "list of seeds", "none", "",
        "Where peers are found: `dns://name:port`, looked up again for ever, or `address:port`.", true, section_needs_restart,
        WEIR_CLUSTER(join, read_all(node, target, &parse_seed, diagnostics))},
    SettingField{"cluster.key_file", "path", "required unless insecure", "",
        "File of one or two keys. Gossip is sealed with the first key and accepted with both.", false, section_needs_restart,
        WEIR_CLUSTER(key_file, read_path(node, target, diagnostics))},
    SettingField{"cluster.insecure", "true or false", "false", "",
        "Gossip without a key: whoever reaches the port can change every limit.", false, section_needs_restart,
        WEIR_CLUSTER(insecure, assign(target, read_boolean(node, diagnostics)))},
    SettingField{"cluster.hold", "duration", "10s", "0s to 1h",
        "How long the shares of sidecars that cannot be heard are kept; 0s: not at all.", false, section_needs_restart,
        WEIR_CLUSTER(hold, assign(target, read_duration(node, 0s, limiter::kLongestHold, diagnostics)))},
    SettingField{"cluster.hold_alone", "duration", "1m", "0s to 1h",
        "The same for a sidecar that hears nobody, while `cluster.join` names others that lived lately.", false, section_needs_restart,
        WEIR_CLUSTER(hold_alone, assign(target, read_duration(node, 0s, limiter::kLongestHold, diagnostics)))},
    SettingField{"cluster.agree_after", "duration", "10s", "1s to 1h",
        "How long the files of more than half must have agreed before the fleet turns (`generation: auto`).", false, section_needs_restart,
        WEIR_CLUSTER(agree_after, assign(target, read_duration(node, 1s, 1h, diagnostics)))},
    SettingField{"cluster.counter_bytes", "size", "1000000B", "64KiB to 1GiB",
        "How many bytes of counters this sidecar sends to others in a second at most.", false, section_needs_restart,
        WEIR_CLUSTER(counter_bytes, assign(target, read_size(node, 64 * kKiB, kGiB, diagnostics)))},

    SettingField{"check.listen", "address", "127.0.0.1:9903", "",
        "Where other proxies ask whether a request may pass: `/check`.", false, needs_restart,
        WEIR_CHECK(listen, assign(target, read_parsed(node, &parse_listen_address, diagnostics)))},
    SettingField{"check.clients", "list of address blocks", "none", "",
        "Who may ask; none: whoever reaches it. Required unless `check.listen` is local.", true, next_request,
        WEIR_CHECK(clients, read_all(node, target, &parse_address_block, diagnostics))},

    SettingField{"timeouts.request_head", "duration", "10s", "1ms to 1h",
        "From a request's first byte to the end of its head, in total.", false, next_request,
        WEIR_DURATION(timeouts.request_head, 1ms, 1h)},
    SettingField{"timeouts.body_idle", "duration", "30s", "1ms to 1d",
        "Without a byte of a request's body.", false, next_request,
        WEIR_DURATION(timeouts.body_idle, 1ms, 24h)},
    SettingField{"timeouts.keep_alive_idle", "duration", "75s", "1ms to 1d",
        "A client's connection between two requests.", false, next_request,
        WEIR_DURATION(timeouts.keep_alive_idle, 1ms, 24h)},
    SettingField{"timeouts.connect", "duration", "250ms; 5s to another host", "1ms to 5m",
        "Connecting to the upstream, per address.", false, next_request,
        WEIR_DURATION(timeouts.connect, 1ms, 5min)},
    SettingField{"timeouts.upstream_restart", "duration", "3s", "0s to 5m",
        "How long requests wait for an upstream that refuses connections; 0s: not at all.", false, next_request,
        WEIR_DURATION(timeouts.upstream_restart, 0s, 5min)},
    SettingField{"timeouts.stream_idle", "duration", "5m", "1ms to 1d",
        "Without a byte from the upstream, or taken by the client, while a response is due.", false, next_request,
        WEIR_DURATION(timeouts.stream_idle, 1ms, 24h)},
    SettingField{"timeouts.tunnel_idle", "duration", "1h", "1ms to 7d",
        "Without a byte either way after a switch to another protocol, such as WebSocket.", false, next_request,
        WEIR_DURATION(timeouts.tunnel_idle, 1ms, 168h)},
    SettingField{"timeouts.upstream_idle", "duration", "1m", "1ms to 1d",
        "A pooled connection to the upstream between two requests.", false, next_request,
        WEIR_DURATION(timeouts.upstream_idle, 1ms, 24h)},

    SettingField{"limits.request_line", "size", "8KiB", "64B to 1MiB",
        "Method, target and version; longer gets 414.", false, next_request,
        WEIR_SIZE(limits.request_line, 64, kMiB)},
    SettingField{"limits.request_head", "size", "32KiB", "256B to 4MiB",
        "Request line and fields; larger gets 431.", false, next_request,
        WEIR_SIZE(limits.request_head, 256, 4 * kMiB)},
    SettingField{"limits.request_fields", "count", "100", "1 to 10000",
        "Fields of a request; more get 431.", false, next_request,
        WEIR_COUNT(limits.request_fields, 1, 10'000)},
    SettingField{"limits.response_head", "size", "64KiB", "256B to 4MiB",
        "Head of an upstream's response; larger gets 502.", false, next_request,
        WEIR_SIZE(limits.response_head, 256, 4 * kMiB)},
    SettingField{"limits.response_fields", "count", "1000", "1 to 10000",
        "Fields of an upstream's response; more get 502.", false, next_request,
        WEIR_COUNT(limits.response_fields, 1, 10'000)},
    SettingField{"limits.chunk_extension", "size", "4KiB", "0B to 64KiB",
        "Extensions of one chunk; longer gets 400.", false, next_request,
        WEIR_SIZE(limits.chunk_extension, 0, 64 * kKiB)},
    SettingField{"limits.buffer", "size", "32KiB", "4KiB to 4MiB",
        "Buffer of a connection for each direction.", false, next_request,
        WEIR_SIZE(limits.buffer, 4 * kKiB, 4 * kMiB)},
    SettingField{"limits.socket_buffer", "size", "256KiB", "0B to 64MiB",
        "Buffer that the kernel keeps of a connection for each direction; 0B: the kernel's own rules.", false, next_request,
        WEIR_SIZE(limits.socket_buffer, 0, 64 * kMiB)},
    SettingField{"limits.refused_body", "size", "64KiB", "0B to 64MiB",
        "Body that is read away after a refusal to keep the connection; a longer one closes it.", false, next_request,
        WEIR_SIZE(limits.refused_body, 0, 64 * kMiB)},
    SettingField{"limits.connections", "count", "10000", "1 to 1000000",
        "Clients' connections, all workers together. When they are taken, idle ones make room.", false, needs_restart,
        WEIR_COUNT(limits.connections, 1, 1'000'000)},
    SettingField{"limits.upstream_connections", "count", "10000", "1 to 1000000",
        "Connections to the upstream, all workers together.", false, next_request,
        WEIR_COUNT(limits.upstream_connections, 1, 1'000'000)},
    SettingField{"limits.upstream_idle_connections", "count", "256", "0 to 100000",
        "Idle connections to the upstream that each worker keeps.", false, next_request,
        WEIR_COUNT(limits.upstream_idle_connections, 0, 100'000)},
    SettingField{"limits.waiting", "count", "1000", "0 to 1000000",
        "Requests that wait for an upstream that refuses connections, all workers together.", false, next_request,
        WEIR_COUNT(limits.waiting, 0, 1'000'000)},
    SettingField{"limits.pipelined_requests", "count", "100", "1 to 10000",
        "Requests of one connection served in a row before others have their turn.", false, next_request,
        WEIR_COUNT(limits.pipelined_requests, 1, 10'000)},
    SettingField{"limits.memory", "size", "the control group's", "32MiB to 1024GiB",
        "Memory that the process may use. From 95 % of it on requests get 503.", false, at_once,
        WEIR_SIZE(limits.memory, 32 * kMiB, kMiB * kMiB)},

    SettingField{"headers.rate_limit", "list of words", "ietf", "ietf, x-ratelimit, none",
        "Which families of rate limit fields a refusal carries.", true, next_request,
        &read_rate_limit_headers, kRateLimitHeaders},
    SettingField{"headers.on_success", "true or false", "false", "",
        "Carry them on admitted requests' responses as well.", false, next_request,
        WEIR_BOOLEAN(headers.on_success)},
    SettingField{"headers.quota", "true or false", "true", "",
        "Name the refusing quota in `X-Weir-Quota`.", false, next_request, WEIR_BOOLEAN(headers.quota)},
    SettingField{"headers.via", "true or false", "true", "",
        "Add `Via: 1.1 weir`, or `1.0` to what came as HTTP/1.0.", false, next_request, WEIR_BOOLEAN(headers.via)},
    SettingField{"headers.forwarded", "true or false", "true", "",
        "Add `X-Forwarded-For`, `-Proto` and `-Host`; otherwise a client's own pass as they came.", false, next_request, WEIR_BOOLEAN(headers.forwarded)},
    SettingField{"headers.request_id", "true or false", "true", "",
        "Keep a valid `X-Request-Id`, else make one; weir's own answers carry it, too.", false, next_request,
        WEIR_BOOLEAN(headers.request_id)},
    SettingField{"headers.cost", "field name", "X-Weir-Cost", "",
        "Response field in which the upstream states what a request cost. `none`: no such field.", false, next_request,
        WEIR_MEMBER(headers.cost, read_field_name(node, target, diagnostics))},
    SettingField{"headers.judged", "field name", "X-Weir-Judged", "",
        "Request field in which a tier in front says that it has judged. `none`: no such field.", false, next_request,
        WEIR_MEMBER(headers.judged, read_field_name(node, target, diagnostics))},
    SettingField{"headers.underscores", "word", "pass", "pass, drop, reject",
        "What happens to request fields whose name holds an underscore.", false, next_request,
        WEIR_WORD(headers.underscores, "pass", "drop", "reject")},

    SettingField{"log.level", "word", "info", "debug, info, warning, error, off",
        "The least level that is written; changeable while running.", false, at_once,
        WEIR_WORD(log.level, "debug", "info", "warning", "error", "off")},
    SettingField{"log.format", "word", "text", "json, text",
        "Lines for machines or for people, on standard error.", false, needs_restart,
        WEIR_WORD(log.format, "json", "text")},

    SettingField{"drain.grace", "duration", "20s", "0s to 1h",
        "After SIGTERM, for requests in flight; open tunnels take all of it.", false, section_needs_restart, WEIR_DURATION(drain.grace, 0s, 1h)},
    SettingField{"drain.keep_accepting", "duration", "3s", "0s to 5m",
        "How long new connections are still accepted after a drain began.", false, section_needs_restart,
        WEIR_DURATION(drain.keep_accepting, 0s, 5min)},

    SettingField{"limiter.max_instances", "count", "1000000", "1000 to 12000000",
        "Live instances of templates. Past this number idle instances make room for new ones.",
        false, section_needs_restart,
        WEIR_COUNT(limiter.max_instances, 1000, 12'000'000)},
    SettingField{"limiter.max_weight", "number", "1000000000000", "1 to 1000000000000000",
        "A request's weight is clamped to it.", false, section_needs_restart,
        WEIR_MEMBER(limiter.max_weight, assign(target, read_number(node, 1, 1e15, diagnostics)))},

    SettingField{"snapshot.file", "path", "none", "",
        "Where API changes, counts of windows, long levels and quotas of files are kept. None: nowhere.", false, section_needs_restart,
        WEIR_MEMBER(snapshot.file, read_path(node, target, diagnostics))},
    SettingField{"snapshot.max_age", "duration", "23h", "1s to 366d",
        "Of a snapshot that was last written longer ago only counts and levels are used.", false, section_needs_restart,
        WEIR_DURATION(snapshot.max_age, 1s, 24h * 366)},

    SettingField{"metrics.max_quota_series", "count", "1000", "1 to 100000",
        "Quotas with metrics of their own; the rest is summed in `quota=\"__other__\"`.", false, needs_restart,
        WEIR_COUNT(max_quota_series, 1, 100'000)},
    SettingField{"metrics.max_quota_bytes", "size", "900kB", "64KiB to 1GiB",
        "Bytes that the series of those quotas may take on the page, before it is packed.", false, needs_restart,
        WEIR_SIZE(max_quota_bytes, 64 * kKiB, 1024 * kMiB)},
};
// clang-format on

}  // namespace

std::span<const SettingField> setting_fields() { return kFields; }

void ask_for(std::string_view section, Settings& settings) {
    if (section == "cluster") {
        static_cast<void>(cluster_of(settings));
    }
    if (section == "check") {
        static_cast<void>(check_of(settings));
    }
}

std::string flag_name(std::string_view key) {
    std::string name = "--";
    for (const char c : key) {
        name += c == '.' || c == '_' ? '-' : c;
    }
    return name;
}

std::string variable_name(std::string_view key) {
    std::string name = "WEIR_";
    for (const char c : key) {
        const bool lower = c >= 'a' && c <= 'z';
        name += c == '.' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return name;
}

}  // namespace weir::config
