#pragma once
// Computes the list of problems: takes what is known at a moment (ProblemFacts), remembers since
// when each state lasts, and says which problems there are and what the log should get. A problem
// is logged when it begins, each hour while it lasts, and when it ends. Once after the start there
// is a line about what is limited.
//
// Pure but for what it remembers; the time is an argument. Thread-safety: none.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admin/problem.h"
#include "base/instant.h"
#include "node/route_findings.h"

namespace weir::node {

/// Gossip from one sender that cannot be read.
struct UnreadableSender {
    std::string address;
    std::string why;  ///< such as "sealed with a key that this sidecar does not have"
};

/// What is known at one moment.
struct ProblemFacts {
    bool anchor = false;  ///< this member serves no requests, so it needs no routes
    std::size_t routes = 0;
    bool answers_checks = false;  ///< other hosts may ask, and may name the quota themselves
    std::size_t quotas = 0;       ///< definitions in force
    bool loading = false;         ///< the first quotas of the files are not all in force yet
    bool searching = false;       ///< `without_quota` is being looked for, and is that of before
    std::vector<RouteFinding> without_quota = {};
    std::vector<RouteFinding> without_requests = {};
    /// Names of quotas for which checks asked since the last look, and which do not exist.
    std::vector<std::string> asked_in_vain = {};

    bool has_seeds = false;
    std::size_t seeds = 0;  ///< known addresses of seeds, this sidecar's own one not counted
    std::size_t live_peers = 0;
    std::map<std::string, std::string> unresolved = {};  ///< names of seeds: why
    std::vector<std::string> silent = {};                ///< addresses of seeds without a live peer
    std::vector<UnreadableSender> unreadable = {};
    std::uint64_t uncertain_windows = 0;  ///< limits with windows of which counts may be missing

    std::map<std::string, std::string> set_problems = {};  ///< by set: why it is not in force
    std::map<std::string, std::string> files_differ = {};  ///< by set: who has what
    std::map<std::string, std::string> too_large = {};     ///< by set: why it was refused
    std::map<std::string, std::string> without_file = {};  ///< by set: how it stays in force
    std::vector<std::string> empty_folders = {};           ///< named for quotas
    std::vector<std::string> reload_errors = {};
    std::vector<std::string> after_restart = {};  ///< keys

    std::string upstream = {};
    std::string upstream_unresolved = {};  ///< why its name was not found; empty: it was
    std::uint64_t upstream_failures = 0;   ///< requests so far that found no connection

    std::uint64_t most_connections = 0;  ///< of clients
    std::uint64_t crowded = 0;  ///< times so far that clients had to wait, or lost their place
};

/// A line for the log.
struct ProblemLine {
    bool is_warning = true;
    std::string message;
    std::optional<admin::Problem> problem = std::nullopt;  ///< nothing: the line after the start
};

class ProblemWatch {
  public:
    static constexpr Duration kAgain = std::chrono::hours(1);
    /// For so long after the last failed request the upstream counts as refusing.
    static constexpr Duration kUpstreamQuiet = std::chrono::seconds(10);
    /// For so long after a client last had to wait connections count as full.
    static constexpr Duration kCrowdQuiet = std::chrono::seconds(10);
    /// For so long after the last check for it a quota that does not exist is a problem.
    static constexpr Duration kAskedQuiet = std::chrono::minutes(1);
    /// After so long the line about what is limited does not wait for seeds any more, and quotas
    /// of peers would be here.
    static constexpr Duration kSettled = std::chrono::seconds(5);
    /// So long it waits for the search for the routes' quotas at most.
    static constexpr Duration kLongestSearch = std::chrono::minutes(1);

    /// Takes the facts of a moment, and returns the lines for the log. Times must not go back.
    [[nodiscard]] std::vector<ProblemLine> look(const ProblemFacts& facts, Instant now);
    /// The problems as of the last look().
    [[nodiscard]] const admin::ProblemList& list() const { return list_; }

  private:
    using ProblemKey = std::pair<admin::ProblemKind, std::string>;  // kind and subject
    struct State {
        Instant since{};
        std::optional<Instant> told = std::nullopt;
        admin::Problem problem;
        bool seen = false;
    };

    void add(admin::ProblemKind kind, std::string subject, std::string text,
             std::string suggestion = {});
    void add_limits(const ProblemFacts& facts);
    void add_checks(const ProblemFacts& facts);
    void add_gossip(const ProblemFacts& facts);
    void add_files(const ProblemFacts& facts);
    void add_upstream(const ProblemFacts& facts);
    void add_crowd(const ProblemFacts& facts);
    void settle(const ProblemFacts& facts);
    [[nodiscard]] std::vector<std::string> never_answered(const ProblemFacts& facts);
    [[nodiscard]] static ProblemLine first_line(const ProblemFacts& facts);

    std::map<ProblemKey, State> states_;
    admin::ProblemList list_;
    Instant now_{};
    std::optional<Instant> first_look_;
    bool settled_ = false;
    std::set<std::string> silent_before_;
    std::set<std::string> answered_;        // seeds at which a peer was known once
    std::map<std::string, Instant> asked_;  // names asked for in vain: when last
    std::uint64_t failures_ = 0;            // of the upstream, at the last look
    std::optional<Instant> last_failure_;
    std::uint64_t crowded_ = 0;  // at the last look
    std::optional<Instant> last_crowd_;
};

}  // namespace weir::node
