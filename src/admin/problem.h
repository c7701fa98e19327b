#pragma once
// A problem is a state in which limits may be off, multiplied or old although the sidecar serves,
// or in which it cannot serve. This header has the kinds of problems in one table, from which
// come the labels of the metric, the words of the status and admin listeners and of the log, and
// the table in docs/problems.md. node/problem_watch.h computes which problems there are.
//
// Plain values and constants; thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"

namespace weir::admin {

/// In the order of importance, which is the order of every list.
enum class ProblemKind : std::uint8_t {
    no_routes,            ///< the settings have no routes, and no check listener
    no_quotas,            ///< nothing is in force once files and peers have had their time
    unknown_quota,        ///< of the quotas that a route or one of its lists names none exists
    check_unknown_quota,  ///< within the last minute a check named such a quota
    hidden_route,         ///< an earlier route takes all that the route matches
    seed_unresolved,      ///< a seed's name has not been found since the start
    seed_silent,          ///< no peer was ever known at a seed's address
    unreadable_gossip,    ///< a sender's datagrams were refused lately
    counts_missing,       ///< all who knew counts of a window that goes on were lost at once
    set_not_in_force,     ///< the file of a set is older, in conflict or refused
    files_differ,         ///< members have different files of an automatic set
    file_gone,            ///< a set stays in force, and its file is gone
    empty_folder,         ///< a folder that the settings name for quotas holds no document
    set_too_large,        ///< a set was refused, because there is no memory for it
    reload_failed,        ///< the files had errors when they were last read
    restart_needed,       ///< a setting on disk differs and takes a restart
    upstream_unresolved,  ///< the upstream's name was not found at the last look-up
    upstream_refuses,     ///< within the last seconds a request found no connection to the upstream
    connections_full,     ///< within the last seconds a client had to wait, or lost its place
    count
};
inline constexpr std::size_t kProblemKinds = static_cast<std::size_t>(ProblemKind::count);

/// What is the same for all problems of a kind.
struct ProblemKindRow {
    ProblemKind kind = ProblemKind::count;
    std::string_view label;    ///< of weir_problems{kind}, and in JSON and log
    std::string_view meaning;  ///< one sentence without a full stop, for the docs
    std::string_view remedy;   ///< what to do; the suggestion of a problem without another one
    /// How long the state must last before it counts as a problem.
    Duration patience{};
};

/// All kinds, in their order.
[[nodiscard]] const std::array<ProblemKindRow, kProblemKinds>& problem_kinds();
[[nodiscard]] const ProblemKindRow& row_of(ProblemKind kind);

struct Problem {
    ProblemKind kind = ProblemKind::count;
    /// What has the problem: a route, a seed, a set. Kind and subject identify a problem.
    std::string subject;
    std::string text;        ///< a sentence without a full stop
    std::string suggestion;  ///< what to do
    Duration age{};          ///< since the state began
};

/// All problems at one moment.
struct ProblemList {
    /// Ordered by kind and subject; of each kind at most kMostOfKind.
    std::vector<Problem> problems;
    /// How many problems there are of each kind, also those that are not in the list.
    std::array<std::uint64_t, kProblemKinds> counts{};

    static constexpr std::size_t kMostOfKind = 16;
};

/// The problem as one line: its text, and after a dash the suggestion.
[[nodiscard]] std::string line_of(const Problem& problem);

}  // namespace weir::admin
