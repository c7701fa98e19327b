#include "app/audit_log.h"

#include "definitions/generation.h"

namespace weir::app {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(AuditKind::count)> kAuditKinds = {
    "quota", "set", "log_level", "drain", "peer"};

using definitions::generation_text;

/// A decision of the fleet for the content that was in force before changes nothing.
bool same_set(std::pair<std::optional<std::uint64_t>, std::uint64_t> one,
              std::pair<std::optional<std::uint64_t>, std::uint64_t> other) {
    const bool both_automatic = one.first && other.first && definitions::is_automatic(*one.first) &&
                                definitions::is_automatic(*other.first);
    return one == other || (both_automatic && one.second == other.second);
}

/// What happened to a peer that is now in another state; empty if it is not worth a line.
std::string_view peer_message(bool known, std::string_view state) {
    if (state == "alive") {
        return known ? "a peer returned" : "a peer joined";
    }
    if (!known) {
        return "";  // it was gone before it was seen here
    }
    return state == "left" ? "a peer left" : "a peer died";
}

}  // namespace

void AuditLog::begin_second(AuditKind kind, Instant now) {
    Second& second = seconds_.at(static_cast<std::size_t>(kind));
    if (second.begin && now - *second.begin < std::chrono::seconds(1)) {
        return;
    }
    const std::uint64_t left_out = std::exchange(second, {now, 0, 0}).left_out;
    if (left_out > 0) {
        write_("more changes of this kind were not logged",
               {{"audit", std::string(kAuditKinds.at(static_cast<std::size_t>(kind)))},
                {"changes", std::to_string(left_out)}});
    }
}

void AuditLog::note(AuditKind kind, std::string_view message, LogFields fields, Instant now) {
    begin_second(kind, now);
    Second& second = seconds_.at(static_cast<std::size_t>(kind));
    if (second.lines >= kMostPerSecond) {
        ++second.left_out;
        return;
    }
    ++second.lines;
    fields.emplace(fields.begin(), "audit",
                   std::string(kAuditKinds.at(static_cast<std::size_t>(kind))));
    write_(message, fields);
}

void AuditLog::leave_out(AuditKind kind, std::uint64_t changes, Instant now) {
    begin_second(kind, now);
    seconds_.at(static_cast<std::size_t>(kind)).left_out += changes;
}

void AuditLog::flush(Instant now) {
    for (std::size_t kind = 0; kind < seconds_.size(); ++kind) {
        if (seconds_.at(kind).left_out > 0) {
            begin_second(static_cast<AuditKind>(kind), now);
        }
    }
}

void FleetAudit::look(const std::vector<engine::PeerReport>& peers,
                      const std::vector<definitions::SetStatus>& sets,
                      const definitions::ExpiredOverrides& expired, Instant now) {
    look_at_peers(peers, now);
    look_at_sets(sets, now);
    tell_expired(expired, now);
}

void FleetAudit::tell_expired(const definitions::ExpiredOverrides& expired, Instant now) {
    for (const definitions::ExpiredOverride& one : expired.listed) {
        log_.note(AuditKind::quota, "an override of the API expired",
                  {{"quota", one.quota}, {"who", one.who}, {"why", one.why}}, now);
    }
    if (expired.more > 0) {
        log_.leave_out(AuditKind::quota, expired.more, now);
    }
}

void FleetAudit::look_at_peers(const std::vector<engine::PeerReport>& peers, Instant now) {
    // Of several incarnations at an address the live one counts, else the one that went last.
    // Incarnations themselves are in no order.
    std::map<Endpoint, KnownPeer> here;
    for (const engine::PeerReport& peer : peers) {
        if (peer.self) {
            continue;
        }
        const bool lives = peer.state == "alive" || peer.state == "suspect";
        const Duration gone = lives ? Duration{-1} : peer.silence.value_or(Duration::max());
        const auto [at, is_new] = here.try_emplace(peer.address);
        if (is_new || gone < at->second.gone) {
            at->second = {peer.incarnation, lives ? std::string_view("alive") : peer.state, gone};
        }
    }
    for (const auto& [address, peer] : here) {
        const auto before = peers_.find(address);
        const bool known = before != peers_.end();
        const bool restarted = known && before->second.incarnation != peer.incarnation;
        if (known && before->second.state == peer.state && !(restarted && peer.state == "alive")) {
            continue;
        }
        if (const std::string_view message = peer_message(known, peer.state); !message.empty()) {
            log_.note(
                AuditKind::peer, message,
                {{"peer", to_string(address)},
                 {"why", restarted ? "another process answers there" : std::string(peer.state)}},
                now);
        }
    }
    for (const auto& [address, peer] : peers_) {
        if (peer.state == "alive" && !here.contains(address)) {
            log_.note(AuditKind::peer, "a peer died",
                      {{"peer", to_string(address)}, {"why", "forgotten"}}, now);
        }
    }
    peers_ = std::move(here);
}

void FleetAudit::look_at_sets(const std::vector<definitions::SetStatus>& sets, Instant now) {
    Sets here;
    for (const definitions::SetStatus& set : sets) {
        here[set.set] = {set.generation, set.content_hash};
        const auto before = sets_.find(set.set);
        if (before != sets_.end() && same_set(before->second, here[set.set])) {
            continue;
        }
        log_.note(
            AuditKind::set, "a quota set is in force",
            {{"set", set.set},
             {"generation", generation_text(set.generation)},
             {"before", before == sets_.end() ? "nothing" : generation_text(before->second.first)},
             {"quotas", std::to_string(set.quotas)}},
            now);
    }
    for (const auto& [name, before] : sets_) {
        if (!here.contains(name)) {
            log_.note(AuditKind::set, "a quota set is not in force any more",
                      {{"set", name}, {"generation", generation_text(before.first)}}, now);
        }
    }
    sets_ = std::move(here);
}

}  // namespace weir::app
