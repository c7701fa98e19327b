// The commands `weir status` and `weir drain`.

#include <cstdio>

#include "app/admin_client.h"
#include "app/flags.h"
#include "app/quota_change.h"
#include "app/remote_session.h"

namespace weir::app {
namespace {

std::string health_text(const Json& status) {
    if (!status.contains("health")) {
        return "unknown";
    }
    const Json& health = status["health"];
    if (health.value("draining", false)) {
        return "draining";
    }
    if (health.value("loading", false)) {
        return "loading quotas";
    }
    return health.value("ready", false) ? "ready" : "not ready";
}

std::string state_of_set(const Json& set) {
    if (set.value("conflict", false)) {
        return "CONFLICT";
    }
    const std::string loading = text_of(set, "loading_generation");
    if (!loading.empty()) {
        return "taking in " + loading;
    }
    return text_of(set, "problem").empty() ? "" : "OTHER FILE";
}

/// "#7", or "@2" for the second decision about an automatic set.
std::string version_of(const Json& set) {
    const std::string epoch = text_of(set, "epoch");
    return epoch.empty() ? "#" + text_of(set, "generation") : "@" + epoch;
}

/// The generation of a set here: a number, "auto" with the number of decisions, or "local".
std::string generation_of(const Json& set) {
    if (set.value("automatic", false)) {
        return "auto @" + text_of(set, "epoch");
    }
    const std::string generation = text_of(set, "generation");
    return generation.empty() ? "local" : generation;
}

/// The definitions of a peer by its last digest: "same", or its sets where they differ from those
/// here.
std::string definitions_text(const Json& peer) {
    if (!peer.contains("definitions") || !peer["definitions"].is_object()) {
        return "-";
    }
    const Json& definitions = peer["definitions"];
    if (definitions.value("same", false)) {
        return "same";
    }
    std::string text;
    for (const Json& set : definitions.value("quota_sets", Json::array())) {
        text += text_of(set, "name") + version_of(set);
        const std::string file = text_of(set, "file_hash");
        text += file.empty() || file == text_of(set, "hash") ? " " : " (other file) ";
    }
    return text + "overrides " + text_of(definitions, "overrides_hash");
}

std::string sets_text(const Json& config) {
    std::vector<std::vector<std::string>> rows = {{"SET", "GENERATION", "QUOTAS", "HASH", ""}};
    for (const Json& set : config.value("quota_sets", Json::array())) {
        rows.push_back({text_of(set, "name"), generation_of(set), text_of(set, "quotas"),
                        text_of(set, "hash"), state_of_set(set)});
    }
    std::string text = rows.size() == 1 ? "" : "\n" + format_table(rows);
    for (const std::string& line : set_problems(config)) {
        text += "! " + line + "\n";
    }
    if (const double count = number_of(config, "quotas_incomplete"); count > 0) {
        text += "! limits that only a later version of weir knows are not held here: those of " +
                short_number(count) + (count == 1 ? " quota" : " quotas") +
                " (weir quota list shows which)\n";
    }
    return text;
}

/// A member as seconds, such as "0.2s"; "-" if it is not known.
std::string seconds_text(const Json& object, const char* key) {
    const bool known = object.contains(key) && object[key].is_number();
    if (!known) {
        return "-";
    }
    const double seconds = number_of(object, key);
    return seconds < 0.1 ? short_number(1000 * seconds) + "ms" : short_number(seconds) + "s";
}

std::string peers_text(const Json& peers) {
    std::vector<std::vector<std::string>> rows = {
        {"PEER", "ROLE", "STATE", "SILENT", "ROUND TRIP", "KEY", "INCARNATION", "DEFINITIONS"}};
    for (const Json& peer : peers.value("peers", Json::array())) {
        const std::string state = text_of(peer, "state");
        const std::string silent = seconds_text(peer, "silent_seconds");
        // For peers that are gone the time since then is shown, because they are not expected to
        // send anything.
        const bool gone = state == "left" || state == "dead" || state == "replaced";
        const std::string key = text_of(peer, "key");
        const std::string role = text_of(peer, "role");  // an earlier version does not say it
        rows.push_back({text_of(peer, "address"), role.empty() ? "-" : role,
                        gone ? state + " " + silent + " ago" : state,
                        gone || state == "self" ? "-" : silent,
                        seconds_text(peer, "round_trip_seconds"), key.empty() ? "-" : key,
                        text_of(peer, "incarnation"), definitions_text(peer)});
    }
    return rows.size() == 1 ? "" : "\n" + format_table(rows);
}

std::string gossip_text(const Json& status) {
    const Json gossip = status.value("gossip", Json::object());
    if (!gossip.value("clustered", false)) {
        return "alone, every limit is its own";
    }
    const Json keys = gossip.value("keys", Json::array());
    if (keys.empty()) {
        return "not sealed (insecure: true)";
    }
    std::string text = "sealed with key " + keys[0].get<std::string>();
    if (keys.size() > 1) {
        text += ", accepts " + keys[1].get<std::string>() + " as well";
    }
    return text;
}

/// The reasons why peers cannot read each other's datagrams, as far as this sidecar knows them.
std::string trouble_text(const Json& status) {
    const Json gossip = status.value("gossip", Json::object());
    std::string text;
    for (const Json& one : gossip.value("strangers", Json::array())) {
        const std::string key = text_of(one, "key");
        text += "  " + text_of(one, "datagrams") + " datagrams from " + text_of(one, "address") +
                (key.empty() ? "" : " under key " + key) + ", the last " +
                seconds_text(one, "silent_seconds") + " ago: " + text_of(one, "problem") + "\n";
    }
    for (const Json& one : gossip.value("later_kinds", Json::array())) {
        text += "  " + text_of(one, "address") + " tells of limits of kind " +
                text_of(one, "kind") +
                ", which only a later version of weir knows: they are not held here\n";
    }
    for (const Json& seed : gossip.value("silent_seeds", Json::array())) {
        text += "  " + seed.get<std::string>() + " is a seed, but no peer is known there\n";
    }
    return text.empty() ? "" : "\nGOSSIP TROUBLE\n" + text;
}

/// The problems that the sidecar knows of, the most important ones first.
std::string problems_text(const Json& status) {
    std::string text;
    for (const Json& one : status.value("problems", Json::array())) {
        text += "  " + text_of(one, "kind") + ": " + text_of(one, "problem") + " - " +
                text_of(one, "suggestion") + "\n";
    }
    return text.empty() ? "" : "\nPROBLEMS\n" + text;
}

/// The limits whose owners have been silent for longest; only a few of them.
std::string limits_table(const Json& status) {
    constexpr std::size_t kMost = 10;
    std::vector<std::vector<std::string>> rows = {{"LIMIT", "LAST HEARD", "OWNERS HEARD", ""}};
    for (const Json& limit :
         status.value("gossip", Json::object()).value("limits", Json::array())) {
        if (rows.size() > kMost) {
            break;
        }
        const std::string silent = seconds_text(limit, "silent_seconds");
        rows.push_back({text_of(limit, "quota") + " " + text_of(limit, "unit") + "/" +
                            text_of(limit, "period"),
                        silent + " ago",
                        text_of(limit, "believed") + " of " + text_of(limit, "owners"),
                        limit.value("isolated", false) ? "ISOLATED" : ""});
    }
    return rows.size() == 1 ? "" : "\n" + format_table(rows);
}

std::string reload_text(const Json& config) {
    const std::string hash = " (hash " + text_of(config, "hash") + ")";
    if (config.value("last_reload_successful", true)) {
        return "good" + hash;
    }
    std::string text = "FAILED, what is named here is not in force" + hash;
    for (const Json& error : config.value("errors", Json::array())) {
        text += "\n  " + error.get<std::string>();
    }
    return text;
}

/// A line about the snapshot, if there is one.
std::string snapshot_text(const Json& config) {
    if (!config.contains("snapshot") || !config["snapshot"].is_object()) {
        return "";
    }
    const Json& snapshot = config["snapshot"];
    const std::string problem = text_of(snapshot, "problem");
    std::string text = "snapshot  " + text_of(snapshot, "file");
    if (problem.empty()) {
        text += ", " + text_of(snapshot, "overrides") + " overrides";
        text += snapshot.value("unsaved", false) ? ", newer ones not yet written" : "";
    } else {
        text += " CANNOT BE WRITTEN: " + problem;
    }
    const bool refused = text_of(snapshot, "found_at_start") == "refused";
    return text + (refused ? ", the one found at the start was REFUSED" : "") + "\n";
}

}  // namespace

int status(const RemoteOptions& options) {
    RemoteSession session(options);
    const auto status = session.get("/v1/status");
    const auto config = status ? session.get("/v1/config") : std::nullopt;
    const auto peers = config ? session.get("/v1/peers") : std::nullopt;
    if (!peers) {
        return 1;
    }
    if (options.output == OutputFormat::json) {
        const Json all{{"status", *status}, {"config", *config}, {"peers", (*peers)["peers"]}};
        std::puts(all.dump(2).c_str());
        return 0;
    }
    std::printf(
        "weir      %s, up %ss\nstate     %s\nconfig    %s\nquotas    hash %s\n"
        "gossip    %s\n%s",
        text_of(*status, "version").c_str(),
        short_number(number_of(*status, "uptime_seconds")).c_str(), health_text(*status).c_str(),
        reload_text(*config).c_str(), text_of(*config, "quotas_hash").c_str(),
        gossip_text(*status).c_str(), snapshot_text(*config).c_str());
    const Json waiting = config->value("after_restart", Json::array());
    for (const Json& key : waiting) {
        std::printf("%s%s", &key == &waiting.front() ? "restart   needed for " : ", ",
                    key.get<std::string>().c_str());
    }
    if (!waiting.empty()) {
        std::puts("");
    }
    std::fputs((problems_text(*status) + trouble_text(*status) + sets_text(*config) +
                peers_text(*peers) + limits_table(*status))
                   .c_str(),
               stdout);
    return 0;
}

int drain(const RemoteOptions& options) {
    RemoteSession session(options);
    const auto answer = session.post("/v1/drain?who=" + percent_encode(current_user()));
    if (!answer) {
        return 1;
    }
    if (options.output == OutputFormat::json) {
        std::puts(answer->dump(2).c_str());
    } else {
        std::puts("draining: not ready any more, still serving until SIGTERM");
    }
    return 0;
}

}  // namespace weir::app
