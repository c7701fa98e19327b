#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fleet.h"
#include "weir/weir.hpp"

namespace weir::embed {
namespace {

Options sample_options() {
    Options options;
    options.quota_document = kQuotas;
    return options;
}

}  // namespace

TEST_CASE("C++: a worker decides, gives back and corrects") {
    auto fleet = Fleet::open(sample_options());
    REQUIRE(fleet);
    auto worker = fleet->worker();
    REQUIRE(worker);
    Decision first = worker->check("few");
    CHECK(first.admitted());
    CHECK(first.reason() == Reason::none);
    CHECK(first.quota() == "few");
    CHECK(first.remaining() == 2);
    CHECK(worker->peek("few").remaining() >= 1);
    worker->finish(first.charge());
    {
        const InFlight flight(*worker, first);
        worker->refund(first.charge());
    }
    CHECK(worker->peek("few").admitted());
    for (int i = 0; i < 3; ++i) {
        CHECK(worker->check("few").admitted());
    }
    CHECK_FALSE(worker->check("few").admitted());
    Decision bytes = worker->check("bytes");
    worker->correct(bytes.charge(), Unit::response_bytes, 1e9);
    CHECK_FALSE(worker->check("bytes").admitted());
    CHECK(worker->check({}).reason() == Reason::no_quota);
}

TEST_CASE("C++: several lists of names") {
    auto fleet = Fleet::open(sample_options());
    REQUIRE(fleet);
    auto worker = fleet->worker();
    REQUIRE(worker);
    const std::string user = "b/ann";
    for (int i = 0; i < 3; ++i) {
        CHECK(worker->check_many({{"unheard/of", user}, {"few"}}).admitted());
    }
    const Decision refused = worker->check_many({{user}, {"few"}});
    CHECK_FALSE(refused.admitted());
    CHECK(refused.quota() == "few");
    CHECK(worker->peek(user).remaining() == 1);
    CHECK(worker->check_many({}).reason() == Reason::no_quota);
    CHECK(worker->check_many({{{}}}).reason() == Reason::no_quota);
    CHECK(worker->check_many({{"few"}, {"few"}, {"few"}, {"few"}, {"few"}}).reason() ==
          Reason::error);
    CHECK(worker
              ->check_many({{"1", "2", "3", "4", "5", "6", "7", "8"},
                            {"1", "2", "3", "4", "5", "6", "7", "8"},
                            {"17"}})
              .reason() == Reason::error);
}

TEST_CASE("C++: a worker obtains units and gives some back") {
    auto fleet = Fleet::open(sample_options());
    REQUIRE(fleet);
    auto worker = fleet->worker();
    REQUIRE(worker);
    Grant grant = worker->obtain("few", 10);
    CHECK(grant.granted == 3);
    CHECK(worker->obtain("few", 10).granted == 0);
    CHECK(worker->obtain("few", 10, 9).decision.reason() == Reason::too_much);
    worker->give_back(grant.decision.charge(), 2);
    CHECK(worker->obtain("few", 2, 2).granted == 2);
    CHECK(worker->obtain({}, 4).granted == 4);
}

TEST_CASE("C++: a request is in flight as long as its scope, and any worker ends it") {
    Options options;
    options.quota_document = R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "t",
        "quotas": [{"name": "two", "limits": [{"concurrency": 2}]}]})";
    auto fleet = Fleet::open(options);
    REQUIRE(fleet);
    auto worker = fleet->worker();
    auto other = fleet->worker();
    REQUIRE(worker);
    REQUIRE(other);
    Decision first = worker->check("two");
    CHECK(first.amount() == 2);
    CHECK(first.period_seconds() == 0);
    {
        Decision second = worker->check("two");
        const InFlight flight(*worker, second);
        const Decision refused = worker->check("two");
        CHECK(refused.reason() == Reason::limit);
        CHECK(refused.wait_seconds() < 0);
    }
    CHECK(worker->peek("two").admitted());
    other->finish(first.charge());
    other->finish(first.charge());
    const Grant grant = worker->obtain("two", 5);
    CHECK(grant.granted == 2);
    CHECK_FALSE(worker->peek("two").admitted());
}

TEST_CASE("C++: failures are values, with code and message") {
    Options options = sample_options();
    options.settings = "no.such.key = 1";
    const auto fleet = Fleet::open(options);
    REQUIRE(!fleet);
    CHECK(fleet.failure().code == WEIR_INVALID);
    CHECK(fleet.failure().message.starts_with("options.settings: line 1"));

    auto open = Fleet::open(sample_options());
    REQUIRE(open);
    CHECK(open->remove_quota("few").failure().code == WEIR_NOT_FOUND);
    CHECK(open->describe_quota("nothing").failure().code == WEIR_NOT_FOUND);
}

TEST_CASE("C++: definitions, texts and moved owners") {
    auto opened = Fleet::open(sample_options());
    REQUIRE(opened);
    Fleet fleet = std::move(*opened);
    CHECK(fleet.set_quota(R"({"name": "new", "limits": [{"rate": "1r/s"}]})", {"me", "why", 9}));
    CHECK((*fleet.describe_quota("new")).find("\"why\"") != std::string::npos);
    CHECK(fleet.hide_quota("few"));
    CHECK(fleet.remove_quota("few"));
    CHECK((*fleet.metrics()).find("weir_quotas ") != std::string::npos);
    CHECK((*fleet.report()).find("\"peers\"") != std::string::npos);
    CHECK(fleet.live_peers() == 0);
    CHECK(fleet.reload());
}

TEST_CASE("C++: warnings reach the program's log") {
    std::string path = "/tmp/weir-embed-quotas-XXXXXX.yaml";
    const int descriptor = ::mkstemps(path.data(), 5);
    REQUIRE(descriptor >= 0);
    std::vector<std::string> lines;
    Options options = sample_options();
    options.settings = "quotas = " + path;
    const std::string good = "apiVersion: weir/v1\nkind: QuotaSet\nname: f\nquotas: []\n";
    REQUIRE(::pwrite(descriptor, good.data(), good.size(), 0) > 0);
    options.log = [&](std::string_view line) { lines.emplace_back(line); };
    {
        auto fleet = Fleet::open(options);
        REQUIRE_MESSAGE(fleet, fleet.failure().message);
        REQUIRE(::pwrite(descriptor, "]", 1, 0) == 1);
        const Outcome reloaded = fleet->reload();
        CHECK(!reloaded);
        CHECK(reloaded.failure().message.find(path) != std::string::npos);
    }
    CHECK(std::all_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.find('\n') == std::string::npos;
    }));
    REQUIRE(!lines.empty());
    CHECK(lines.back().starts_with("reload failed, what was in force stays: " + path));
    ::close(descriptor);
    ::unlink(path.c_str());
}

}  // namespace weir::embed
