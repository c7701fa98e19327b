#pragma once
// The lines of the log that say who changed what: quotas, log level, drain, and peers that come and
// go. Of each kind at most kMostPerSecond lines are written in a second; the first line of the same
// kind in a later second, or flush(), says how many were left out.
//
// Thread-safety: none; for the control thread. Ownership: the log must outlive it. Time comes in as
// `now`.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/log.h"
#include "base/endpoint.h"
#include "base/instant.h"
#include "definitions/store_reports.h"
#include "engine/reports.h"

namespace weir::app {

enum class AuditKind : std::uint8_t { quota, set, log_level, drain, peer, count };

class AuditLog {
  public:
    static constexpr std::uint64_t kMostPerSecond = 10;
    using Write = std::function<void(std::string_view message, const LogFields& fields)>;

    explicit AuditLog(Write write) : write_(std::move(write)) {}

    /// Writes a line, which gets the kind as its field `audit`.
    void note(AuditKind kind, std::string_view message, LogFields fields, Instant now);
    /// Counts further changes, for which there is no line.
    void leave_out(AuditKind kind, std::uint64_t changes, Instant now);
    /// Writes how many lines of earlier seconds were left out.
    void flush(Instant now);

  private:
    struct Second {
        std::optional<Instant> begin = std::nullopt;
        std::uint64_t lines = 0;
        std::uint64_t left_out = 0;
    };
    void begin_second(AuditKind kind, Instant now);

    Write write_;
    std::array<Second, static_cast<std::size_t>(AuditKind::count)> seconds_{};
};

/// Finds out from one look to the next which peers and quota sets have changed, and writes which
/// overrides have expired.
class FleetAudit {
  public:
    explicit FleetAudit(AuditLog& log) : log_(log) {}

    void look(const std::vector<engine::PeerReport>& peers,
              const std::vector<definitions::SetStatus>& sets,
              const definitions::ExpiredOverrides& expired, Instant now);

  private:
    struct KnownPeer {
        std::uint64_t incarnation = 0;
        std::string_view state;  // "alive" also while it is suspected
        Duration gone{};         // for how long it has been gone; below 0 while it lives
    };
    using Sets = std::map<std::string, std::pair<std::optional<std::uint64_t>, std::uint64_t>>;
    void look_at_peers(const std::vector<engine::PeerReport>& peers, Instant now);
    void tell_expired(const definitions::ExpiredOverrides& expired, Instant now);
    void look_at_sets(const std::vector<definitions::SetStatus>& sets, Instant now);

    AuditLog& log_;
    std::map<Endpoint, KnownPeer> peers_;
    Sets sets_;  // generation and hash of the content, by name
};

}  // namespace weir::app
