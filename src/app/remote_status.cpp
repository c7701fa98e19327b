// `weir status` and `weir drain`.

#include <cstdio>

#include "app/remote_session.h"

namespace weir::app {
namespace {

std::string health_text(const Json& status) {
    if (!status.contains("health")) return "unknown";
    const Json& health = status["health"];
    if (health.value("draining", false)) return "draining";
    return health.value("ready", false) ? "ready" : "not ready";
}

std::string sets_text(const Json& config) {
    std::vector<std::vector<std::string>> rows = {{"SET", "GENERATION", "QUOTAS", "HASH", ""}};
    for (const Json& set : config.value("quota_sets", Json::array())) {
        const std::string generation = text_of(set, "generation");
        rows.push_back({text_of(set, "name"), generation.empty() ? "local" : generation,
                        text_of(set, "quotas"), text_of(set, "hash"),
                        set.value("conflict", false) ? "CONFLICT" : ""});
    }
    return rows.size() == 1 ? "" : "\n" + format_table(rows);
}

std::string peers_text(const Json& peers) {
    std::vector<std::vector<std::string>> rows = {{"PEER", "STATE", "SILENT", "INCARNATION"}};
    for (const Json& peer : peers.value("peers", Json::array())) {
        const bool heard = peer.contains("silent_seconds") && peer["silent_seconds"].is_number();
        rows.push_back({text_of(peer, "address"), text_of(peer, "state"),
                        heard ? short_number(number_of(peer, "silent_seconds")) + "s" : "-",
                        text_of(peer, "incarnation")});
    }
    return rows.size() == 1 ? "" : "\n" + format_table(rows);
}

std::string reload_text(const Json& config) {
    const std::string hash = " (hash " + text_of(config, "hash") + ")";
    if (config.value("last_reload_successful", true)) return "good" + hash;
    std::string text = "FAILED, what was in force stays" + hash;
    for (const Json& error : config.value("errors", Json::array())) {
        text += "\n  " + error.get<std::string>();
    }
    return text;
}

}  // namespace

int status(const RemoteOptions& options) {
    RemoteSession session(options);
    const auto status = session.get("/v1/status");
    const auto config = status ? session.get("/v1/config") : std::nullopt;
    const auto peers = config ? session.get("/v1/peers") : std::nullopt;
    if (!peers) return 1;
    if (options.output == OutputFormat::json) {
        const Json all{{"status", *status}, {"config", *config}, {"peers", (*peers)["peers"]}};
        std::puts(all.dump(2).c_str());
        return 0;
    }
    std::printf("weir      %s, up %ss\nstate     %s\nconfig    %s\nquotas    hash %s\n",
                text_of(*status, "version").c_str(),
                short_number(number_of(*status, "uptime_seconds")).c_str(),
                health_text(*status).c_str(), reload_text(*config).c_str(),
                text_of(*config, "quotas_hash").c_str());
    std::fputs((sets_text(*config) + peers_text(*peers)).c_str(), stdout);
    return 0;
}

int drain(const RemoteOptions& options) {
    RemoteSession session(options);
    const auto answer = session.post("/v1/drain");
    if (!answer) return 1;
    if (options.output == OutputFormat::json) {
        std::puts(answer->dump(2).c_str());
    } else {
        std::puts("draining: not ready any more, still serving until SIGTERM");
    }
    return 0;
}

}  // namespace weir::app
