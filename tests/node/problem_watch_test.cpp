// Which problems there are, since when, and what the log gets.
#include "node/problem_watch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

namespace weir::node {
namespace {

using admin::ProblemKind;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// A sidecar without problems.
ProblemFacts good_facts() {
    ProblemFacts facts;
    facts.routes = 3;
    facts.quotas = 12;
    facts.upstream = "http://app:80";
    return facts;
}

/// A watch with its own time.
struct WatchedProblems {
    ProblemFacts facts = good_facts();
    ProblemWatch watch;
    Instant now{seconds(1000)};

    std::vector<ProblemLine> look(Duration after = seconds(1)) {
        now += after;
        return watch.look(facts, now);
    }
    std::uint64_t count(ProblemKind kind) const {
        return watch.list().counts.at(static_cast<std::size_t>(kind));
    }
    /// The text of the only problem.
    std::string text() const {
        REQUIRE(watch.list().problems.size() == 1);
        return watch.list().problems[0].text;
    }
};

void change_every_fact(ProblemFacts& facts) {
    facts = {};
    facts.without_quota = {{0, "is wrong", "all"}};
    facts.without_requests = {{1, "is hidden", "move it"}};
    facts.asked_in_vain = {"nope"};
    facts.has_seeds = true;
    facts.seeds = 1;
    facts.unresolved = {{"peers:7946", "no such name"}};
    facts.silent = {"10.0.0.1:7946"};
    facts.unreadable = {{"10.0.0.2:7946", "of another cluster.name"}};
    facts.set_problems = {{"a", "q.yaml: older"}};
    facts.files_differ = {{"c", "the files of c differ"}};
    facts.without_file = {{"d", "d.yaml: the set d is in no file"}};
    facts.empty_folders = {"/etc/quotas"};
    facts.too_large = {{"b", "no room"}};
    facts.uncertain_windows = 3;
    facts.reload_errors = {"q.yaml:1:1: wrong"};
    facts.after_restart = {"listen"};
    facts.upstream_unresolved = "no such name";
}

TEST_CASE("each kind has a row in its place, with words") {
    for (std::size_t i = 0; i < admin::kProblemKinds; ++i) {
        const admin::ProblemKindRow& row = admin::problem_kinds().at(i);
        CAPTURE(row.label);
        CHECK(static_cast<std::size_t>(row.kind) == i);
        CHECK_FALSE(row.label.empty());
        CHECK_FALSE(row.meaning.empty());
        CHECK_FALSE(row.remedy.empty());
    }
}

TEST_CASE("each kind is found, with something to do, and in the order of importance") {
    WatchedProblems world;
    static_cast<void>(world.look());
    CHECK(world.watch.list().problems.empty());
    change_every_fact(world.facts);
    static_cast<void>(world.look());
    static_cast<void>(world.look(seconds(25)));
    world.facts.upstream_failures = 1;
    world.facts.crowded = 1;
    static_cast<void>(world.look(seconds(6)));
    // Without quotas every route lacks its quota, which is said once.
    CHECK(world.count(ProblemKind::unknown_quota) == 0);
    CHECK(world.watch.list().problems.size() == admin::kProblemKinds - 1);
    world.facts.quotas = 1;
    static_cast<void>(world.look());
    CHECK(world.count(ProblemKind::unknown_quota) == 1);
    CHECK(world.count(ProblemKind::no_quotas) == 0);
    const auto& problems = world.watch.list().problems;
    CHECK(std::is_sorted(problems.begin(), problems.end(), [](const auto& left, const auto& right) {
        return left.kind < right.kind;
    }));
    for (const admin::Problem& problem : problems) {
        CAPTURE(problem.text);
        CHECK_FALSE(problem.suggestion.empty());
        CHECK(world.count(problem.kind) == 1);
    }
}

TEST_CASE("a problem is told when it begins, each hour, and when it ends") {
    WatchedProblems world;
    CHECK(world.look().size() == 1);
    world.facts.after_restart = {"listen"};
    const auto begins = world.look();
    REQUIRE(begins.size() == 1);
    CHECK(begins[0].message == "problem: the change of listen takes a restart");
    CHECK(begins[0].is_warning);
    CHECK(world.look().empty());
    CHECK(world.look(minutes(59)).empty());
    const auto again = world.look(minutes(1));
    REQUIRE(again.size() == 1);
    CHECK(again[0].message == "problem goes on: the change of listen takes a restart");
    CHECK(world.look().empty());
    world.facts.after_restart.clear();
    const auto ends = world.look();
    REQUIRE(ends.size() == 1);
    CHECK(ends[0].message == "problem is over: the change of listen takes a restart");
    CHECK_FALSE(ends[0].is_warning);
    REQUIRE(ends[0].problem);
    CHECK(ends[0].problem->age == minutes(60) + seconds(3));
    CHECK(world.look().empty());
}

TEST_CASE("the first line says what is limited, once the peers had time to answer") {
    WatchedProblems world;
    world.facts.has_seeds = true;
    world.facts.seeds = 2;
    world.facts.silent = {"10.0.0.1:7946"};
    CHECK(world.look().empty());
    world.facts.silent.clear();
    const auto lines = world.look();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].message == "3 routes, 12 quotas, peers: 2 of 2 seeds answer");
    CHECK_FALSE(lines[0].is_warning);

    WatchedProblems late;
    late.facts.has_seeds = true;
    late.facts.routes = late.facts.quotas = late.facts.seeds = 1;
    late.facts.unresolved = {{"peers:7946", "no such name"}};
    CHECK(late.look().empty());
    const auto at_last = late.look(ProblemWatch::kSettled);
    REQUIRE(at_last.size() == 2);
    CHECK(at_last[0].message == "1 route, 1 quota, peers: 1 of 2 seeds answer");

    WatchedProblems loading;
    loading.facts.loading = true;
    CHECK(loading.look(minutes(5)).empty());
    loading.facts.loading = false;
    CHECK(loading.look()[0].message == "3 routes, 12 quotas, peers: none configured");
}

TEST_CASE("that nothing is limited is said with its reason") {
    const auto first = [](const auto& change) {
        WatchedProblems world;
        change(world.facts);
        const auto lines = world.look();
        REQUIRE_FALSE(lines.empty());
        return lines[0].message;
    };
    const std::string nothing = "NOTHING IS LIMITED: ";
    CHECK(first([](ProblemFacts& facts) { facts.quotas = 0; }) == nothing + "there are no quotas");
    CHECK(first([](ProblemFacts& facts) { facts.routes = 0; }) == nothing + "there are no routes");
    CHECK(first([](ProblemFacts& facts) {
              facts.routes = 1;
              facts.without_quota = {{0, "is wrong", ""}};
          }) == nothing + "none of the quotas that the routes name exists");
    // Other hosts may name the quota in their questions.
    CHECK(first([](ProblemFacts& facts) {
              facts.routes = 0;
              facts.answers_checks = true;
          }) == "0 routes, 12 quotas, peers: none configured");
    // An anchor gets no requests.
    CHECK(first([](ProblemFacts& facts) {
              facts.routes = 0;
              facts.anchor = true;
          }) == "anchor, 12 quotas, peers: none configured");
}

TEST_CASE("the first line waits until the quotas of the routes have been looked for") {
    WatchedProblems watched;
    watched.facts.searching = true;
    for (int i = 0; i < 30; ++i) {
        CHECK(watched.look().empty());
    }
    SUBCASE("to the end") {
        watched.facts.searching = false;
        watched.facts.without_quota = {
            {0, "is wrong", ""}, {1, "is wrong", ""}, {2, "is wrong", ""}};
        const auto lines = watched.look();
        REQUIRE(!lines.empty());
        CHECK(lines[0].message ==
              "NOTHING IS LIMITED: none of the quotas that the routes name exists");
    }
    SUBCASE("for a minute at most") {
        const auto lines = watched.look(ProblemWatch::kLongestSearch);
        REQUIRE(lines.size() == 1);
        CHECK(lines[0].message == "3 routes, 12 quotas, peers: none configured");
    }
}

TEST_CASE("quotas of peers have time to come") {
    WatchedProblems world;
    world.facts.has_seeds = true;
    world.facts.quotas = 0;
    static_cast<void>(world.look());
    CHECK(world.count(ProblemKind::no_quotas) == 0);
    static_cast<void>(world.look(ProblemWatch::kSettled));
    CHECK(world.count(ProblemKind::no_quotas) == 1);
}

TEST_CASE("a seed counts as silent after some seconds, and only if it never answered") {
    WatchedProblems world;
    world.facts.has_seeds = true;
    world.facts.seeds = 1;
    world.facts.silent = {"10.0.0.1:7946"};
    static_cast<void>(world.look());
    static_cast<void>(world.look(seconds(5) - milliseconds(1)));
    CHECK(world.count(ProblemKind::seed_silent) == 0);
    static_cast<void>(world.look(milliseconds(1)));
    CHECK(world.text() ==
          "no peer answers at the seed 10.0.0.1:7946, and no peer is known, so limits are this "
          "sidecar's alone");
    world.facts.live_peers = 1;
    static_cast<void>(world.look());
    CHECK(world.text() == "no peer answers at the seed 10.0.0.1:7946");
    world.facts.silent.clear();
    static_cast<void>(world.look());
    world.facts.silent = {"10.0.0.1:7946"};  // it has left, or is restarted
    static_cast<void>(world.look(minutes(5)));
    static_cast<void>(world.look(minutes(5)));
    CHECK(world.watch.list().problems.empty());
}

TEST_CASE("senders that cannot be read for one reason are one problem") {
    WatchedProblems world;
    world.facts.unreadable = {{"10.0.0.1:1", "forged"}, {"10.0.0.2:1", "forged"}};
    static_cast<void>(world.look());
    CHECK(world.text() == "gossip from 10.0.0.1:1 and 1 other is forged");
}

TEST_CASE("the upstream refuses until no request has failed for some seconds") {
    WatchedProblems world;
    static_cast<void>(world.look());
    world.facts.upstream_failures = 5;
    static_cast<void>(world.look());
    CHECK(world.text() == "requests fail, because the upstream http://app:80 takes no connection");
    static_cast<void>(world.look(ProblemWatch::kUpstreamQuiet - milliseconds(1)));
    CHECK(world.count(ProblemKind::upstream_refuses) == 1);
    static_cast<void>(world.look(milliseconds(1)));
    CHECK(world.count(ProblemKind::upstream_refuses) == 0);
}

TEST_CASE("connections are full until no client has had to wait for some seconds") {
    WatchedProblems world;
    world.facts.most_connections = 6;
    static_cast<void>(world.look());
    CHECK(world.count(ProblemKind::connections_full) == 0);
    world.facts.crowded = 1;
    static_cast<void>(world.look());
    CHECK(world.text() ==
          "new clients wait or take the place of silent ones, because 6 connections "
          "are served at most");
    static_cast<void>(world.look(ProblemWatch::kCrowdQuiet));
    CHECK(world.count(ProblemKind::connections_full) == 0);
}

TEST_CASE("a quota that checks ask for in vain is a problem until nobody asks any more") {
    WatchedProblems world;
    world.facts.loading = true;
    world.facts.asked_in_vain = {"early"};  // its definition may be on the way
    static_cast<void>(world.look());
    world.facts.loading = false;
    world.facts.asked_in_vain = {"nope"};
    static_cast<void>(world.look());
    CHECK(world.text() ==
          "checks ask for the quota 'nope', which does not exist, so it limits nothing");
    world.facts.asked_in_vain.clear();
    static_cast<void>(world.look(ProblemWatch::kAskedQuiet - milliseconds(1)));
    CHECK(world.count(ProblemKind::check_unknown_quota) == 1);
    static_cast<void>(world.look(milliseconds(1)));
    CHECK(world.count(ProblemKind::check_unknown_quota) == 0);
}

TEST_CASE("names that are asked for in vain are bounded in number") {
    WatchedProblems world;
    static_cast<void>(world.look());
    for (int i = 0; i < 100; ++i) {
        world.facts.asked_in_vain.push_back(std::to_string(i));
    }
    static_cast<void>(world.look());
    CHECK(world.count(ProblemKind::check_unknown_quota) == 64);
}

TEST_CASE("a list that limits nothing is a problem of its own and no route without limits") {
    WatchedProblems world;
    world.facts.routes = 1;
    world.facts.without_quota = {{0, "is wrong", "all", 1}};
    static_cast<void>(world.look());
    CHECK(world.text() == "routes[0].quotas[1]: is wrong");
    CHECK(world.count(ProblemKind::unknown_quota) == 1);
}

TEST_CASE("a set without its file and an empty folder are told after some seconds") {
    WatchedProblems world;
    world.facts.without_file = {{"shop", "q.yaml: the set shop is in no file here any more"}};
    static_cast<void>(world.look());
    CHECK(world.count(ProblemKind::file_gone) == 0);
    static_cast<void>(world.look(std::chrono::seconds(5)));
    CHECK(world.text() == "q.yaml: the set shop is in no file here any more");
    world.facts.without_file.clear();
    world.facts.empty_folders = {"/etc/quotas"};
    static_cast<void>(world.look());
    static_cast<void>(world.look(std::chrono::seconds(5)));
    CHECK(world.text() ==
          "the folder /etc/quotas, which the settings name for quotas, holds no document");
}

TEST_CASE("what is said of a set is not listed a second time") {
    WatchedProblems world;
    world.facts.set_problems = world.facts.too_large = {{"a", "q.yaml: no room"}};
    world.facts.reload_errors = {"q.yaml: no room"};
    static_cast<void>(world.look());
    CHECK(world.text() == "q.yaml: no room");
    CHECK(world.count(ProblemKind::set_too_large) == 1);
}

TEST_CASE("of many problems of a kind a few are listed and all are counted") {
    WatchedProblems world;
    for (std::size_t route = 0; route < 1000; ++route) {
        world.facts.without_quota.push_back({route, "is wrong", ""});
    }
    CHECK(world.look().size() == 1 + admin::ProblemList::kMostOfKind);
    CHECK(world.watch.list().problems.size() == admin::ProblemList::kMostOfKind);
    CHECK(world.count(ProblemKind::unknown_quota) == 1000);
    world.facts.without_quota.clear();
    CHECK(world.look().size() == admin::ProblemList::kMostOfKind);
}

}  // namespace
}  // namespace weir::node
