#include "config/load_settings.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/loopback.h"
#include "config/flag_routes.h"
#include "config/given_settings.h"
#include "config/parse.h"
#include "config/reader.h"
#include "config/route_reader.h"
#include "config/settings_fields.h"
#include "config/tree_builder.h"
#include "config/values.h"

namespace weir::config {
namespace {

// What people look for who know other proxies.
constexpr std::string_view kAdviceOnListen = "say where clients connect: 'listen: 0.0.0.0:8080'";
constexpr std::string_view kAdviceOnUpstream =
    "say where requests go: 'upstream: http://127.0.0.1:3000'";
constexpr std::string_view kAdviceOnTls = "TLS is not in this version (docs/not-supported.md)";
constexpr std::array<KeyHint, 10> kHints = {{{"port", kAdviceOnListen},
                                             {"bind", kAdviceOnListen},
                                             {"address", kAdviceOnListen},
                                             {"backend", kAdviceOnUpstream},
                                             {"backends", kAdviceOnUpstream},
                                             {"target", kAdviceOnUpstream},
                                             {"upstreams", "there is one upstream: 'upstream'"},
                                             {"tls", kAdviceOnTls},
                                             {"ssl", kAdviceOnTls},
                                             {"certificate", kAdviceOnTls}}};

/// Reads the tree of a file, led by the table of fields.
class SettingsReader {
  public:
    SettingsReader(Settings& settings, Diagnostics& diagnostics)
        : settings_(settings), diagnostics_(diagnostics) {}

    void read_file(NodeRef root) { read_section(root, ""); }

    void read_override(const Override& override_, NodeRef value) {
        for (const SettingField& field : setting_fields()) {
            if (field.key == override_.key) {
                read(field, value, override_.source);
            }
        }
    }

    /// Reads routes that take the place of the file's.
    void read_routes_from(NodeRef root, const std::string& source) {
        routes_ = find_field(root, kRoutesKey);
        take_routes(source);
    }

    /// The node with the routes, if there is one.
    [[nodiscard]] std::optional<NodeRef> routes() const { return routes_; }
    /// For each of the routes: whether it could not be read whole.
    [[nodiscard]] const std::vector<bool>& bad_routes() const { return bad_routes_; }
    [[nodiscard]] bool was_given(std::string_view key) const { return given_.contains(key); }
    /// Whether the value of the key could not be read, so that nothing can be said of it.
    [[nodiscard]] bool is_bad(std::string_view key) const { return bad_.contains(key); }

  private:
    void read(const SettingField& field, NodeRef value, const std::string& source) {
        const std::size_t errors = diagnostics_.error_count();
        given_.insert(field.key);
        remember(field.key, value, source);
        field.read(value, settings_, diagnostics_);
        if (diagnostics_.error_count() != errors) {
            bad_.insert(field.key);
        }
    }

    void take_routes(const std::string& source) {
        remember(kRoutesKey, *routes_, source);
        ReadRoutes read = read_routes(*routes_, diagnostics_);
        settings_.routing.routes = std::move(read.routes);
        bad_routes_ = std::move(read.bad);
    }

    /// Remembers where a key was given. A later source replaces an earlier one, as it does in the
    /// settings.
    void remember(std::string_view key, NodeRef value, const std::string& source) {
        std::erase_if(settings_.given, [&](const GivenSetting& one) { return one.key == key; });
        settings_.given.push_back({std::string(key), json_text(value), source});
    }

    static std::string place_of(NodeRef value) {
        return value.document().file() + ":" + std::to_string(value->place.line);
    }

    void read_section(NodeRef map, const std::string& prefix) {
        MapReader reader(map, diagnostics_);
        if (!reader.is_map()) {
            return;
        }
        std::set<std::string_view> sections;
        for (const SettingField& field : setting_fields()) {
            if (!field.key.starts_with(prefix)) {
                continue;
            }
            const std::string_view rest = field.key.substr(prefix.size());
            const std::size_t dot = rest.find('.');
            if (dot != std::string_view::npos) {
                sections.insert(rest.substr(0, dot));
            } else if (const auto value = reader.take(rest)) {
                read(field, *value, place_of(*value));
            }
        }
        for (const std::string_view section : sections) {
            if (const auto value = reader.take(section)) {
                ask_for(section, settings_);  // also if the section is empty
                read_section(*value, std::string(section) + ".");
            }
        }
        if (prefix.empty()) {
            if (const auto routes = reader.take(kRoutesKey)) {
                routes_ = routes;
                take_routes(place_of(*routes));
            }
        }
        reader.finish(prefix.empty() ? std::span(kHints) : std::span<const KeyHint>());
    }

    Settings& settings_;
    Diagnostics& diagnostics_;
    std::set<std::string_view> given_;
    std::set<std::string_view> bad_;
    std::vector<bool> bad_routes_;
    std::optional<NodeRef> routes_;
};

/// The text of a flag or variable as a document of one value, so that it is read like a file.
std::optional<Document> as_document(const Override& override_, bool is_list,
                                    Diagnostics& diagnostics) {
    static const ParseLimits limits;
    constexpr TextPlace kNowhere{};
    TreeBuilder builder(override_.source, limits, diagnostics);
    if (!is_list) {
        return builder.scalar(NodeKind::quoted, override_.text, kNowhere)
                   ? std::optional(builder.take())
                   : std::nullopt;
    }
    bool good = builder.open(NodeKind::list, kNowhere);
    std::string_view rest = override_.text;
    while (good && !rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        good = builder.scalar(NodeKind::quoted, rest.substr(0, comma), kNowhere);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return good && builder.close() ? std::optional(builder.take()) : std::nullopt;
}

void read_override(SettingsReader& reader, const Override& override_, Diagnostics& diagnostics) {
    for (const SettingField& field : setting_fields()) {
        if (field.key == override_.key) {
            if (const auto document = as_document(override_, field.is_list, diagnostics)) {
                reader.read_override(override_, document->root());
            }
        }
    }
}

/// Whether the upstream is on this machine.
bool is_local_upstream(const UpstreamAddress& upstream) {
    if (upstream.is_unix() || upstream.host == "localhost") {
        return true;
    }
    const bool is_v6 = upstream.host.find(':') != std::string::npos;
    const auto endpoint =
        parse_endpoint((is_v6 ? "[" + upstream.host + "]" : upstream.host) + ":0");
    return endpoint && is_loopback(*endpoint);
}

Settings defaults() {
    Settings settings;
    settings.listen.endpoint = Endpoint::v4(0, 8080);
    settings.admin.endpoint = loopback_address(9901);
    settings.status.endpoint = Endpoint::v4(0, 9902);
    return settings;
}

/// Checks the rules that concern several keys.
class CrossCheck {
  public:
    CrossCheck(std::string file, const Settings& settings, const SettingsReader& reader,
               Diagnostics& diagnostics)
        : file_(std::move(file)), settings_(settings), reader_(reader), diagnostics_(diagnostics) {
        for (const Diagnostic& one : diagnostics.sorted()) {
            meant_.push_back(one.suggestion);
        }
    }

    void run(Reader who) {
        if (who == Reader::sidecar) {
            check_role();
        }
        if (!is_local(settings_.admin) && settings_.admin_token_file.empty() &&
            is_missing("admin_token_file")) {
            report("admin", "listens beyond this machine: that needs 'admin_token_file'");
        }
        if (settings_.cluster) {
            check_cluster(*settings_.cluster);
        }
        if (settings_.check && !is_local(settings_.check->listen) &&
            settings_.check->clients.empty() && !reader_.is_bad("check.clients") &&
            !was_meant("check.clients")) {
            report("check.listen",
                   "listens beyond this machine: that needs 'check.clients', the addresses of the "
                   "proxies that may ask");
        }
        if (settings_.limits.request_line > settings_.limits.request_head &&
            !reader_.is_bad("limits.request_line") && !reader_.is_bad("limits.request_head")) {
            report("limits.request_line", "is larger than limits.request_head");
        }
        check_ports();
    }

  private:
    void check_role() {
        if (settings_.role == MemberRole::sidecar) {
            if (is_missing("upstream") && !reader_.is_bad("role")) {
                report("upstream", "is missing: say where requests go, like http://127.0.0.1:3000");
            }
            return;
        }
        WEIR_ASSERT(settings_.role == MemberRole::anchor);
        if (!settings_.cluster && !was_meant("cluster")) {
            report("role",
                   "an anchor owns limits for a fleet, and there is none: give it 'cluster', with "
                   "'join' and the fleet's 'key_file'");
        }
        if (settings_.snapshot.file.empty() && is_missing("snapshot.file")) {
            diagnostics_.add({Severity::warning,
                              file_,
                              {},
                              "snapshot.file",
                              "is missing: this anchor forgets its counts when it restarts",
                              {}});
        }
    }

    void report(std::string path, std::string what) {
        diagnostics_.add({Severity::error, file_, {}, std::move(path), std::move(what), {}});
    }

    /// Whether an unknown key was reported for which this one was probably meant.
    [[nodiscard]] bool was_meant(std::string_view key) const {
        const std::string_view last = key.substr(key.rfind('.') + 1);
        return std::find(meant_.begin(), meant_.end(), last) != meant_.end();
    }

    /// Whether the key was neither given nor, as it seems, misspelt.
    [[nodiscard]] bool is_missing(std::string_view key) const {
        return !reader_.was_given(key) && !was_meant(key);
    }

    void check_cluster(const ClusterSettings& cluster) {
        if (cluster.key_file.empty() && !cluster.insecure && is_missing("cluster.key_file") &&
            !reader_.is_bad("cluster.insecure") && !was_meant("cluster.insecure")) {
            report("cluster", "needs 'key_file', or 'insecure: true' to gossip without a key");
        }
        if (!cluster.key_file.empty() && cluster.insecure) {
            report("cluster.insecure", "contradicts 'key_file': drop one of them");
        }
    }

    void check_ports() {
        const auto same = [](const ListenAddress& one, const ListenAddress& other) {
            const bool any_port = !one.is_unix() && one.endpoint.port == 0;
            return one == other && !any_port;
        };
        if (same(settings_.admin, settings_.status)) {
            report("admin", "is the address of status, too");
        }
        if (settings_.role == MemberRole::anchor) {
            return;  // it opens no other listener
        }
        if (same(settings_.listen, settings_.admin) || same(settings_.listen, settings_.status)) {
            report("listen", "is the address of admin or status, too");
        }
        if (!settings_.check) {
            return;
        }
        const ListenAddress& asked = settings_.check->listen;
        if (same(asked, settings_.listen) || same(asked, settings_.admin) ||
            same(asked, settings_.status)) {
            report("check.listen", "is the address of listen, admin or status, too");
        }
    }

    std::string file_;
    std::vector<std::string> meant_;  ///< what was suggested so far
    const Settings& settings_;
    const SettingsReader& reader_;
    Diagnostics& diagnostics_;
};

std::vector<Document> parse_file(const std::optional<SourceText>& file, Diagnostics& diagnostics) {
    if (!file) {
        return {};
    }
    std::vector<Document> documents =
        parse_documents(file->text, file->file, ParseLimits{}, diagnostics);
    if (documents.size() > 1) {
        diagnostics.error(documents[1].root(), "the settings must be one document");
    }
    return documents;
}

}  // namespace

bool is_local(const ListenAddress& address) {
    return address.is_unix() || is_loopback(address.endpoint);
}

Settings load_settings(const std::optional<SourceText>& file,
                       const std::vector<Override>& overrides, Diagnostics& diagnostics,
                       Reader who) {
    Settings settings = defaults();
    const std::vector<Document> documents = parse_file(file, diagnostics);
    if (diagnostics.has_errors()) {
        return settings;  // without a readable file further errors would only confuse
    }
    SettingsReader reader(settings, diagnostics);
    if (!documents.empty()) {
        reader.read_file(documents.front().root());
        if (documents.front().root()->kind != NodeKind::map) {
            return settings;  // nothing was read, so everything would be missing
        }
    }
    std::vector<Document> given_routes;
    given_routes.reserve(overrides.size());  // the reader keeps references to them
    for (const Override& override_ : overrides) {
        if (override_.key != kRoutesKey) {
            read_override(reader, override_, diagnostics);
        } else if (auto document = flag_routes(override_, diagnostics)) {
            given_routes.push_back(std::move(*document));
            reader.read_routes_from(given_routes.back().root(), override_.source);
        }
    }
    settings.routing.max_weight = settings.limiter.max_weight;
    if (reader.routes()) {
        check_routes(settings.routing, *reader.routes(), reader.bad_routes(), diagnostics);
    }
    if (!reader.was_given("timeouts.connect") && !is_local_upstream(settings.upstream)) {
        settings.timeouts.connect = std::chrono::seconds(5);
    }
    CrossCheck(file ? file->file : "settings", settings, reader, diagnostics).run(who);
    if (who == Reader::embedding) {
        settings.role = MemberRole::sidecar;
    }
    return settings;
}

}  // namespace weir::config
