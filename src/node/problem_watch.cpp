#include "node/problem_watch.h"

#include <algorithm>
#include <iterator>

namespace weir::node {
namespace {

using admin::Problem;
using admin::ProblemKind;

std::string counted(std::size_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// Whether nothing is limited without routes.
bool needs_routes(const ProblemFacts& facts) { return !facts.answers_checks && !facts.anchor; }

/// Why nothing is limited; empty if something may be.
std::string why_unlimited(const ProblemFacts& facts) {
    if (facts.quotas == 0) {
        return "there are no quotas";
    }
    if (needs_routes(facts) && facts.routes == 0) {
        return "there are no routes";
    }
    const auto whole_routes =
        std::count_if(facts.without_quota.begin(), facts.without_quota.end(),
                      [](const RouteFinding& one) { return !one.list.has_value(); });
    if (facts.routes > 0 && static_cast<std::size_t>(whole_routes) == facts.routes &&
        needs_routes(facts)) {
        return "none of the quotas that the routes name exists";
    }
    return "";
}

/// The errors of the last reload, without those that are said of a set anyway.
std::vector<std::string> errors_of_files(const ProblemFacts& facts) {
    const auto is_said = [](const std::map<std::string, std::string>& sets,
                            const std::string& error) {
        return std::any_of(sets.begin(), sets.end(),
                           [&error](const auto& each) { return each.second == error; });
    };
    std::vector<std::string> errors = facts.reload_errors;
    std::erase_if(errors, [&](const std::string& error) {
        return is_said(facts.set_problems, error) || is_said(facts.too_large, error);
    });
    return errors;
}

}  // namespace

std::vector<ProblemLine> ProblemWatch::look(const ProblemFacts& facts, Instant now) {
    now_ = now;
    first_look_ = first_look_.value_or(now);
    std::vector<ProblemLine> lines;
    for (auto& [key, state] : states_) {
        state.seen = false;
    }
    const bool was_settled = settled_;
    settle(facts);
    if (settled_ && !was_settled) {
        lines.push_back(first_line(facts));
    }
    add_limits(facts);
    add_checks(facts);
    add_gossip(facts);
    add_files(facts);
    add_upstream(facts);
    add_crowd(facts);
    list_ = {};
    for (auto at = states_.begin(); at != states_.end();) {
        State& state = at->second;
        state.problem.age = now - state.since;
        if (!state.seen) {
            if (state.told) {
                lines.push_back({false, "problem is over: " + state.problem.text, state.problem});
            }
            at = states_.erase(at);
            continue;
        }
        ++at;
        if (state.problem.age < admin::row_of(state.problem.kind).patience) {
            continue;
        }
        auto& count = list_.counts.at(static_cast<std::size_t>(state.problem.kind));
        if (++count > admin::ProblemList::kMostOfKind) {
            continue;
        }
        list_.problems.push_back(state.problem);
        if (!state.told || now - *state.told >= kAgain) {
            const std::string begins = state.told ? "problem goes on: " : "problem: ";
            lines.push_back({true, begins + state.problem.text, state.problem});
            state.told = now;
        }
    }
    return lines;
}

void ProblemWatch::add(ProblemKind kind, std::string subject, std::string text,
                       std::string suggestion) {
    ProblemKey key{kind, subject};
    const auto [at, is_new] = states_.try_emplace(std::move(key));
    State& state = at->second;
    if (is_new) {
        state.since = now_;
    }
    if (suggestion.empty()) {
        suggestion = admin::row_of(kind).remedy;
    }
    state.seen = true;
    state.problem = {kind, std::move(subject), std::move(text), std::move(suggestion), {}};
}

/// Sees whether the sidecar has had the time to find its peers and their quotas, and to look for
/// those of its routes.
void ProblemWatch::settle(const ProblemFacts& facts) {
    const bool all_answer = !facts.has_seeds || (facts.seeds > 0 && facts.unresolved.empty() &&
                                                 facts.silent.empty() && facts.quotas > 0);
    const Duration since = now_ - *first_look_;
    const bool searched = !facts.searching || since >= kLongestSearch;
    settled_ = settled_ || (!facts.loading && searched && (all_answer || since >= kSettled));
}

ProblemLine ProblemWatch::first_line(const ProblemFacts& facts) {
    const std::string why = why_unlimited(facts);
    if (!why.empty()) {
        return {true, "NOTHING IS LIMITED: " + why};
    }
    std::string peers = "peers: none configured";
    if (facts.has_seeds) {
        const std::size_t all = facts.seeds + facts.unresolved.size();
        peers = "peers: " + std::to_string(facts.seeds - facts.silent.size()) + " of " +
                counted(all, "seed") + (all == 1 ? " answers" : " answer");
    }
    const std::string role = facts.anchor ? "anchor" : counted(facts.routes, "route");
    return {false, role + ", " + counted(facts.quotas, "quota") + ", " + peers};
}

void ProblemWatch::add_limits(const ProblemFacts& facts) {
    if (needs_routes(facts) && facts.routes == 0) {
        add(ProblemKind::no_routes, "routes", "there are no routes, so nothing is limited");
    }
    if (settled_ && facts.quotas == 0) {
        add(ProblemKind::no_quotas, "quotas", "there are no quotas, so nothing is limited");
    }
    if (settled_ && facts.quotas > 0) {
        for (const RouteFinding& one : facts.without_quota) {
            // A problem of a route with one list keeps the place that it always had.
            const std::string place = one.list ? quota_place(one) : route_place(one.route);
            add(ProblemKind::unknown_quota, place, place + ": " + one.what,
                one.suggestion.empty() ? "" : "did you mean '" + one.suggestion + "'?");
        }
    }
    for (const RouteFinding& one : facts.without_requests) {
        const std::string place = route_place(one.route);
        add(ProblemKind::hidden_route, place, place + " " + one.what, one.suggestion);
    }
}

void ProblemWatch::add_checks(const ProblemFacts& facts) {
    // Before the first quotas are here a name that is not known yet is no mistake.
    if (!settled_) {
        return;
    }
    constexpr std::size_t kMostNames = 64;
    for (const std::string& name : facts.asked_in_vain) {
        if (asked_.size() < kMostNames || asked_.contains(name)) {
            asked_[name] = now_;
        }
    }
    std::erase_if(asked_, [&](const auto& one) { return now_ - one.second >= kAskedQuiet; });
    for (const auto& [name, last] : asked_) {
        add(ProblemKind::check_unknown_quota, name,
            "checks ask for the quota '" + name + "', which does not exist, so it limits nothing");
    }
}

std::vector<std::string> ProblemWatch::never_answered(const ProblemFacts& facts) {
    const std::set<std::string> silent(facts.silent.begin(), facts.silent.end());
    for (const std::string& seed : silent_before_) {
        if (!silent.contains(seed)) {
            answered_.insert(seed);
        }
    }
    silent_before_ = silent;
    // Addresses come and go with every rollout: what is remembered of them is bounded.
    constexpr std::size_t kMostAnswered = 4096;
    if (answered_.size() > kMostAnswered) {
        answered_.clear();
    }
    std::vector<std::string> never;
    std::set_difference(silent.begin(), silent.end(), answered_.begin(), answered_.end(),
                        std::back_inserter(never));
    return never;
}

void ProblemWatch::add_gossip(const ProblemFacts& facts) {
    const std::string alone =
        facts.live_peers == 0 ? ", and no peer is known, so limits are this sidecar's alone" : "";
    for (const auto& [name, why] : facts.unresolved) {
        add(ProblemKind::seed_unresolved, name,
            "the seed " + name + " is not found: " + why + alone);
    }
    for (const std::string& seed : never_answered(facts)) {
        add(ProblemKind::seed_silent, seed, "no peer answers at the seed " + seed + alone);
    }
    std::map<std::string, std::vector<std::string>> senders;
    for (const UnreadableSender& one : facts.unreadable) {
        senders[one.why].push_back(one.address);
    }
    for (const auto& [why, addresses] : senders) {
        const std::size_t others = addresses.size() - 1;
        const std::string more = others == 0 ? "" : " and " + counted(others, "other");
        add(ProblemKind::unreadable_gossip, why,
            "gossip from " + addresses.front() + more + " is " + why);
    }
    if (facts.uncertain_windows > 0) {
        add(ProblemKind::counts_missing, "windows",
            "the present windows of " + counted(facts.uncertain_windows, "limit") +
                " may be exceeded, because all owners were lost at once");
    }
}

void ProblemWatch::add_files(const ProblemFacts& facts) {
    for (const auto& [set, why] : facts.set_problems) {
        if (!facts.too_large.contains(set)) {
            add(ProblemKind::set_not_in_force, set, why);
        }
    }
    for (const auto& [set, who] : facts.files_differ) {
        add(ProblemKind::files_differ, set, who);
    }
    for (const auto& [set, how] : facts.without_file) {
        add(ProblemKind::file_gone, set, how);
    }
    for (const std::string& folder : facts.empty_folders) {
        add(ProblemKind::empty_folder, folder,
            "the folder " + folder + ", which the settings name for quotas, holds no document");
    }
    for (const auto& [set, why] : facts.too_large) {
        add(ProblemKind::set_too_large, set, why);
    }
    const std::vector<std::string> errors = errors_of_files(facts);
    if (!errors.empty()) {
        const std::size_t more = errors.size() - 1;
        add(ProblemKind::reload_failed, "files",
            "files cannot be read or have errors, what was in force stays: " + errors.front() +
                (more == 0 ? "" : " (and " + std::to_string(more) + " more)"));
    }
    for (const std::string& key : facts.after_restart) {
        add(ProblemKind::restart_needed, key, "the change of " + key + " takes a restart");
    }
}

void ProblemWatch::add_upstream(const ProblemFacts& facts) {
    if (facts.upstream_failures > failures_) {
        last_failure_ = now_;
    }
    failures_ = facts.upstream_failures;
    if (!facts.upstream_unresolved.empty()) {
        add(ProblemKind::upstream_unresolved, facts.upstream,
            "the upstream " + facts.upstream + " is not found: " + facts.upstream_unresolved);
    }
    if (last_failure_ && now_ - *last_failure_ < kUpstreamQuiet) {
        add(ProblemKind::upstream_refuses, facts.upstream,
            "requests fail, because the upstream " + facts.upstream + " takes no connection");
    }
}

void ProblemWatch::add_crowd(const ProblemFacts& facts) {
    if (facts.crowded > crowded_) {
        last_crowd_ = now_;
    }
    crowded_ = facts.crowded;
    if (last_crowd_ && now_ - *last_crowd_ < kCrowdQuiet) {
        add(ProblemKind::connections_full, "clients",
            "new clients wait or take the place of silent ones, because " +
                std::to_string(facts.most_connections) + " connections are served at most");
    }
}

}  // namespace weir::node
