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
    no_routes,
    no_quotas,
    unknown_quota,
    check_unknown_quota,
    hidden_route,
    seed_unresolved,
    seed_silent,
    unreadable_gossip,
    set_not_in_force,
    files_differ,
    file_gone,
    empty_folder,
    set_too_large,
    reload_failed,
    restart_needed,
    upstream_unresolved,
    upstream_refuses,
    connections_full,
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
