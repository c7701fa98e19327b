#include "config/settings_fields.h"

#include <array>

#include "config/reader.h"
#include "config/values.h"

namespace weir::config {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

ClusterSettings& cluster_of(Settings& settings) {
    if (!settings.cluster) {
        settings.cluster.emplace();
    }
    return *settings.cluster;
}

CheckSettings& check_of(Settings& settings) {
    if (!settings.check) {
        constexpr std::uint32_t kLoopback = 0x7f000001;
        settings.check.emplace();
        settings.check->listen.endpoint = Endpoint::v4(kLoopback, 9903);
    }
    return *settings.check;
}

/// Assigns what was read, if it was.
template <class T, class U>
void assign(T& target, std::optional<U> value) {
    if (value) {
        target = static_cast<T>(std::move(*value));
    }
}

/// A path or name: not empty.
void read_string(NodeRef node, std::string& target, Diagnostics& diagnostics) {
    const auto text = read_text(node, diagnostics);
    if (text && text->empty()) {
        diagnostics.error(node, "must not be empty");
    } else if (text) {
        target = std::string(*text);
    }
}

template <class T>
void read_all(NodeRef node, std::vector<T>& target, Result<T> (*parse)(std::string_view),
              Diagnostics& diagnostics) {
    target.clear();
    for (const NodeRef element : read_list(node, diagnostics)) {
        if (auto value = read_parsed(element, parse, diagnostics)) {
            target.push_back(std::move(*value));
        }
    }
}

void read_files(NodeRef node, std::vector<std::string>& target, Diagnostics& diagnostics) {
    target.clear();
    for (const NodeRef element : read_list(node, diagnostics)) {
        target.emplace_back();
        read_string(element, target.back(), diagnostics);
    }
}

void read_field_name(NodeRef node, std::string& target, Diagnostics& diagnostics) {
    if (auto name = read_parsed(node, &parse_field_name, diagnostics)) {
        target = std::move(*name);
    }
}

void read_cluster_name(NodeRef node, Settings& settings, Diagnostics& diagnostics) {
    constexpr std::size_t kMaxBytes = 64;
    std::string& name = cluster_of(settings).name;
    read_string(node, name, diagnostics);
    if (name.size() > kMaxBytes) {
        diagnostics.error(node, "must have at most 64 bytes");
    }
}

void read_rate_limit_headers(NodeRef node, Settings& settings, Diagnostics& diagnostics) {
    settings.headers.ietf = false;
    settings.headers.x_ratelimit = false;
    bool none = false;
    const std::vector<NodeRef> elements = read_list(node, diagnostics);
    for (const NodeRef element : elements) {
        const auto word = read_word(element, {"ietf", "x-ratelimit", "none"}, diagnostics);
        settings.headers.ietf = settings.headers.ietf || word == 0U;
        settings.headers.x_ratelimit = settings.headers.x_ratelimit || word == 1U;
        none = none || word == 2U;
    }
    if (none && elements.size() > 1) {
        diagnostics.error(node, "'none' must stand alone");
    }
}

// Each entry of the table has the same shape; these shorten it.
#define WEIR_READ(body) [](NodeRef node, Settings& settings, Diagnostics& diagnostics) { body; }
#define WEIR_DURATION(member, least, most) \
    WEIR_READ(assign(settings.member, read_duration(node, least, most, diagnostics)))
#define WEIR_SIZE(member, least, most) \
    WEIR_READ(assign(settings.member, read_size(node, least, most, diagnostics)))
#define WEIR_COUNT(member, least, most) \
    WEIR_READ(assign(settings.member, read_unsigned(node, least, most, diagnostics)))
#define WEIR_BOOLEAN(member) WEIR_READ(assign(settings.member, read_boolean(node, diagnostics)))
#define WEIR_WORD(member, ...) \
    WEIR_READ(assign(settings.member, read_word(node, {__VA_ARGS__}, diagnostics)))
#define WEIR_PARSED(member, parse) \
    WEIR_READ(assign(settings.member, read_parsed(node, &parse, diagnostics)))

// clang-format off
constexpr std::array kFields = {
    SettingField{"listen", "address", "0.0.0.0:8080", "",
        "Where clients connect: address and port, or `unix:` and a path.", false,
        WEIR_PARSED(listen, parse_listen_address)},
    SettingField{"upstream", "upstream", "required", "",
        "The service behind weir: `http://host:port`, or `unix:` and a path.", false,
        WEIR_PARSED(upstream, parse_upstream_address)},
    SettingField{"admin", "address", "127.0.0.1:9901", "",
        "Changes and debugging. Any address but a loopback one or a unix socket needs `admin_token_file`.", false,
        WEIR_PARSED(admin, parse_listen_address)},
    SettingField{"admin_token_file", "path", "none", "",
        "File that holds the bearer token which admin requests must carry.", false,
        WEIR_READ(read_string(node, settings.admin_token_file, diagnostics))},
    SettingField{"status", "address", "0.0.0.0:9902", "",
        "Health and metrics, read-only: `/livez`, `/readyz`, `/metrics`.", false,
        WEIR_PARSED(status, parse_listen_address)},
    SettingField{"quotas", "list of paths", "none", "",
        "Quota documents: files, or directories of `*.yaml`, `*.yml` and `*.json`. They are watched.", true,
        WEIR_READ(read_files(node, settings.quotas, diagnostics))},
    SettingField{"workers", "count", "0", "0 to 64",
        "Event loops of the proxy, each on its own thread; 0: one per core that the process may use.", false,
        WEIR_COUNT(workers, 0, 64)},
    SettingField{"trusted_proxies", "list of address blocks", "none", "",
        "Clients whose `X-Forwarded-…` fields and stated weights are believed.", true,
        WEIR_READ(read_all(node, settings.trusted_proxies, &parse_address_block, diagnostics))},
    SettingField{"judging_proxies", "list of address blocks", "none", "",
        "Tiers in front whose `headers.judged` is believed. Whoever is named here can pass every limit.", true,
        WEIR_READ(read_all(node, settings.judging_proxies, &parse_address_block, diagnostics))},
    SettingField{"peek", "true or false", "false", "",
        "Front tier: decide, charge nothing, and tell the weir behind in `headers.judged`, which charges.", false,
        WEIR_BOOLEAN(peek)},
    SettingField{"access_log", "word", "off", "off, limited, all",
        "Requests that are logged as JSON lines: none, the refused ones, or all.", false,
        WEIR_WORD(access_log, "off", "limited", "all")},
    SettingField{"access_log_file", "path", "-", "",
        "Where to; `-` is standard output. Opened again at SIGHUP.", false,
        WEIR_READ(read_string(node, settings.access_log_file, diagnostics))},

    SettingField{"routing.resolve_dot_segments", "true or false", "true", "",
        "Match routes with `.` and `..` resolved (never for the s3 preset).", false,
        WEIR_BOOLEAN(routing.resolve_dot_segments)},
    SettingField{"routing.merge_slashes", "true or false", "true", "",
        "Match routes with `//` taken for `/` (never for the s3 preset).", false,
        WEIR_BOOLEAN(routing.merge_slashes)},
    SettingField{"routing.refund", "list of statuses", "none", "",
        "Responses that are free, like `304` or `5xx`, on routes without a `refund` of their own.", true,
        WEIR_READ(read_all(node, settings.routing.refund, &parse_status_range, diagnostics))},

    SettingField{"cluster.name", "text", "weir", "1 to 64 bytes",
        "Sidecars gossip only with those of the same name.", false, &read_cluster_name},
    SettingField{"cluster.listen", "address", "0.0.0.0:7946", "",
        "Where gossip is received (UDP).", false,
        WEIR_READ(assign(cluster_of(settings).listen, read_parsed(node, &parse_udp_address, diagnostics)))},
    SettingField{"cluster.advertise", "address", "POD_IP, else found out", "",
        "The address that peers are told to send to.", false,
        WEIR_READ(assign(cluster_of(settings).advertise, read_parsed(node, &parse_udp_address, diagnostics)))},
    SettingField{"cluster.join", "list of seeds", "none", "",
        "Where peers are found: `dns://name:port`, looked up again for ever, or `address:port`.", true,
        WEIR_READ(read_all(node, cluster_of(settings).join, &parse_seed, diagnostics))},
    SettingField{"cluster.key_file", "path", "required unless insecure", "",
        "File of one or two keys. Gossip is sealed with the first key and accepted with both.", false,
        WEIR_READ(read_string(node, cluster_of(settings).key_file, diagnostics))},
    SettingField{"cluster.insecure", "true or false", "false", "",
        "Gossip without a key: whoever reaches the port can change every limit.", false,
        WEIR_READ(assign(cluster_of(settings).insecure, read_boolean(node, diagnostics)))},

    SettingField{"check.listen", "address", "127.0.0.1:9903", "",
        "Where other proxies ask whether a request may pass: `/check`.", false,
        WEIR_READ(assign(check_of(settings).listen, read_parsed(node, &parse_listen_address, diagnostics)))},
    SettingField{"check.clients", "list of address blocks", "none", "",
        "Who may ask; none: whoever reaches it. Required unless `check.listen` is local.", true,
        WEIR_READ(read_all(node, check_of(settings).clients, &parse_address_block, diagnostics))},

    SettingField{"timeouts.request_head", "duration", "10s", "1ms to 1h",
        "From a request's first byte to the end of its head, in total.", false,
        WEIR_DURATION(timeouts.request_head, 1ms, 1h)},
    SettingField{"timeouts.body_idle", "duration", "30s", "1ms to 1d",
        "Without a byte of a request's body.", false,
        WEIR_DURATION(timeouts.body_idle, 1ms, 24h)},
    SettingField{"timeouts.keep_alive_idle", "duration", "1m", "1ms to 1d",
        "A client's connection between two requests.", false,
        WEIR_DURATION(timeouts.keep_alive_idle, 1ms, 24h)},
    SettingField{"timeouts.connect", "duration", "250ms; 5s to another host", "1ms to 5m",
        "Connecting to the upstream, per address.", false,
        WEIR_DURATION(timeouts.connect, 1ms, 5min)},
    SettingField{"timeouts.stream_idle", "duration", "5m", "1ms to 1d",
        "Without a byte from the upstream, or taken by the client, while a response is due.", false,
        WEIR_DURATION(timeouts.stream_idle, 1ms, 24h)},
    SettingField{"timeouts.upstream_idle", "duration", "1m", "1ms to 1d",
        "A pooled connection to the upstream between two requests.", false,
        WEIR_DURATION(timeouts.upstream_idle, 1ms, 24h)},

    SettingField{"limits.request_line", "size", "8KiB", "64B to 1MiB",
        "Method, target and version; longer gets 414.", false,
        WEIR_SIZE(limits.request_line, 64, kMiB)},
    SettingField{"limits.request_head", "size", "32KiB", "256B to 4MiB",
        "Request line and fields; larger gets 431.", false,
        WEIR_SIZE(limits.request_head, 256, 4 * kMiB)},
    SettingField{"limits.request_fields", "count", "100", "1 to 10000",
        "Fields of a request; more get 431.", false,
        WEIR_COUNT(limits.request_fields, 1, 10'000)},
    SettingField{"limits.response_head", "size", "64KiB", "256B to 4MiB",
        "Head of an upstream's response; larger gets 502.", false,
        WEIR_SIZE(limits.response_head, 256, 4 * kMiB)},
    SettingField{"limits.chunk_extension", "size", "4KiB", "0B to 64KiB",
        "Extensions of one chunk; longer gets 400.", false,
        WEIR_SIZE(limits.chunk_extension, 0, 64 * kKiB)},
    SettingField{"limits.buffer", "size", "32KiB", "4KiB to 4MiB",
        "Buffer of a connection for each direction.", false,
        WEIR_SIZE(limits.buffer, 4 * kKiB, 4 * kMiB)},
    SettingField{"limits.refused_body", "size", "64KiB", "0B to 64MiB",
        "Body that is read away after a refusal to keep the connection; a longer one closes it.", false,
        WEIR_SIZE(limits.refused_body, 0, 64 * kMiB)},
    SettingField{"limits.connections", "count", "10000", "1 to 1000000",
        "Clients' connections, all workers together. When they are taken, idle ones make room.", false,
        WEIR_COUNT(limits.connections, 1, 1'000'000)},
    SettingField{"limits.upstream_connections", "count", "10000", "1 to 1000000",
        "Connections to the upstream, all workers together.", false,
        WEIR_COUNT(limits.upstream_connections, 1, 1'000'000)},
    SettingField{"limits.upstream_idle_connections", "count", "256", "0 to 100000",
        "Idle connections to the upstream that each worker keeps.", false,
        WEIR_COUNT(limits.upstream_idle_connections, 0, 100'000)},
    SettingField{"limits.pipelined_requests", "count", "100", "1 to 10000",
        "Requests of one connection served in a row before others have their turn.", false,
        WEIR_COUNT(limits.pipelined_requests, 1, 10'000)},
    SettingField{"limits.memory", "size", "the control group's", "32MiB to 1024GiB",
        "Memory that the process may use. From 95 % of it on requests get 503.", false,
        WEIR_SIZE(limits.memory, 32 * kMiB, kMiB * kMiB)},

    SettingField{"headers.rate_limit", "list of words", "ietf", "ietf, x-ratelimit, none",
        "Which families of rate limit fields a refusal carries.", true, &read_rate_limit_headers},
    SettingField{"headers.on_success", "true or false", "false", "",
        "Carry them on admitted requests' responses as well.", false,
        WEIR_BOOLEAN(headers.on_success)},
    SettingField{"headers.quota", "true or false", "true", "",
        "Name the refusing quota in `X-Weir-Quota`.", false, WEIR_BOOLEAN(headers.quota)},
    SettingField{"headers.via", "true or false", "true", "",
        "Add `Via: 1.1 weir`.", false, WEIR_BOOLEAN(headers.via)},
    SettingField{"headers.forwarded", "true or false", "true", "",
        "Add `X-Forwarded-For`, `-Proto` and `-Host`; otherwise a client's own pass as they came.", false, WEIR_BOOLEAN(headers.forwarded)},
    SettingField{"headers.request_id", "true or false", "true", "",
        "Keep a valid `X-Request-Id`, else make one; weir's own answers carry it, too.", false,
        WEIR_BOOLEAN(headers.request_id)},
    SettingField{"headers.cost", "field name", "X-Weir-Cost", "",
        "Response field in which the upstream states what a request cost. `none`: no such field.", false,
        WEIR_READ(read_field_name(node, settings.headers.cost, diagnostics))},
    SettingField{"headers.judged", "field name", "X-Weir-Judged", "",
        "Request field in which a tier in front says that it has judged. `none`: no such field.", false,
        WEIR_READ(read_field_name(node, settings.headers.judged, diagnostics))},
    SettingField{"headers.underscores", "word", "pass", "pass, drop, reject",
        "What happens to request fields whose name holds an underscore.", false,
        WEIR_WORD(headers.underscores, "pass", "drop", "reject")},

    SettingField{"log.level", "word", "info", "debug, info, warning, error, off",
        "The least level that is written; changeable while running.", false,
        WEIR_WORD(log.level, "debug", "info", "warning", "error", "off")},
    SettingField{"log.format", "word", "text", "json, text",
        "Lines for machines or for people, on standard error.", false,
        WEIR_WORD(log.format, "json", "text")},

    SettingField{"drain.grace", "duration", "20s", "0s to 1h",
        "After SIGTERM, for requests in flight.", false, WEIR_DURATION(drain.grace, 0s, 1h)},
    SettingField{"drain.keep_accepting", "duration", "3s", "0s to 5m",
        "How long new connections are still accepted after a drain began.", false,
        WEIR_DURATION(drain.keep_accepting, 0s, 5min)},

    SettingField{"limiter.max_instances", "count", "1000000", "1000 to 12000000",
        "Live instances of templates. Past this number idle instances make room for new ones.",
        false,
        WEIR_COUNT(limiter.max_instances, 1000, 12'000'000)},
    SettingField{"limiter.max_weight", "number", "1000000000000", "1 to 1000000000000000",
        "A request's weight is clamped to it.", false,
        WEIR_READ(assign(settings.limiter.max_weight, read_number(node, 1, 1e15, diagnostics)))},

    SettingField{"snapshot.file", "path", "none", "",
        "Where this sidecar keeps what the API changed, for a fleet that stops whole. None: nowhere.", false,
        WEIR_READ(read_string(node, settings.snapshot.file, diagnostics))},
    SettingField{"snapshot.max_age", "duration", "23h", "1s to 366d",
        "A snapshot that was last written longer ago than this is not used.", false,
        WEIR_DURATION(snapshot.max_age, 1s, 24h * 366)},

    SettingField{"metrics.max_quota_series", "count", "1000", "1 to 100000",
        "Quotas with metrics of their own; the rest is summed in `quota=\"__other__\"`.", false,
        WEIR_COUNT(max_quota_series, 1, 100'000)},
    SettingField{"metrics.max_quota_bytes", "size", "900kB", "64KiB to 1GiB",
        "Bytes that the series of those quotas may take on the page, before it is packed.", false,
        WEIR_SIZE(max_quota_bytes, 64 * kKiB, 1024 * kMiB)},
};
// clang-format on

}  // namespace

std::span<const SettingField> setting_fields() { return kFields; }

void ask_for(std::string_view section, Settings& settings) {
    if (section == "cluster") {
        cluster_of(settings);
    }
    if (section == "check") {
        check_of(settings);
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
