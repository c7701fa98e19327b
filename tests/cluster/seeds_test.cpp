#include "cluster/seeds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <future>
#include <map>
#include <mutex>

#include "cluster/run_until.h"

using namespace weir;
using namespace weir::cluster;
using namespace std::chrono_literals;

namespace {

Endpoint at(std::string_view text) { return parse_endpoint(text).value(); }

config::Seed literal(std::string_view text) {
    const Endpoint endpoint = at(text);
    return {.host = std::string(text), .port = endpoint.port, .literal = endpoint};
}

config::Seed named(std::string host, std::uint16_t port) {
    return {.host = std::move(host), .port = port, .literal = std::nullopt};
}

/// Answers of a name server that can be changed while the look-ups go on in their thread.
class FakeNames {
  public:
    void set(const std::string& host, Result<Addresses> answer) {
        const std::lock_guard lock(mutex_);
        answers_.insert_or_assign(host, std::move(answer));
    }
    Lookup lookup() {
        return [this](const std::string& host, std::uint16_t port) -> Result<Addresses> {
            const std::lock_guard lock(mutex_);
            const auto found = answers_.find(host);
            if (found == answers_.end()) {
                return error(ErrorCode::not_found, host);
            }
            auto result = found->second;
            if (result) {
                for (auto& endpoint : *result) {
                    endpoint.port = port;
                }
            }
            return result;
        };
    }

  private:
    std::mutex mutex_;
    std::map<std::string, Result<Addresses>> answers_;
};

struct World {
    explicit World(std::vector<config::Seed> join, Lookup lookup, bool is_alone = true)
        : seeds(
              control,
              {.join = std::move(join),
               .interval = 8ms,
               .interval_alone = 2ms,
               .lookup = std::move(lookup)},
              Random(7),
              [this](auto addresses, bool by_name) {
                  changes.push_back(std::move(addresses));
                  looked_up.push_back(by_name);
              },
              [is_alone] { return is_alone; }) {}

    /// Runs handlers until the condition holds; false after thirty seconds.
    template <class Condition>
    bool run_until(Condition condition) {
        return test::run_until(control, 30s, condition);
    }

    boost::asio::io_context control;
    std::vector<Addresses> changes;
    std::vector<bool> looked_up;  // of each change, whether a look-up brought it
    Seeds seeds;
};

}  // namespace

TEST_CASE("waits double while alone, are steady in company, and jitter by a quarter") {
    LookupPace pace(16s, 1s, Random(3));
    for (const double expected : {1.0, 2.0, 4.0, 8.0, 16.0, 16.0}) {
        const double wait = to_seconds(pace.next(true));
        CHECK(wait >= expected * 0.75);
        CHECK(wait <= expected * 1.25);
    }
    const double steady = to_seconds(pace.next(false));
    CHECK(steady >= 12.0);
    CHECK(steady <= 20.0);
    CHECK(to_seconds(pace.next(true)) <= 1.25);  // alone again: quick again
}

TEST_CASE("waits of different sidecars differ") {
    LookupPace one(15s, 1s, Random(1));
    LookupPace two(15s, 1s, Random(2));
    CHECK(one.next(false) != two.next(false));
}

TEST_CASE("literal seeds are there at once, sorted and without doubles") {
    World world({literal("10.0.0.2:7946"), literal("10.0.0.1:7946"), literal("10.0.0.2:7946")},
                look_up);
    world.seeds.start();
    REQUIRE(world.changes.size() == 1);
    CHECK(world.changes.front() == Addresses{at("10.0.0.1:7946"), at("10.0.0.2:7946")});
    CHECK(world.looked_up == std::vector{false});
    CHECK(world.seeds.lookups() == 0);
}

TEST_CASE("a name stands for all of its addresses and is looked up for ever") {
    FakeNames names;
    names.set("peers", Addresses{at("10.0.0.1:0"), at("10.0.0.2:0")});
    World world({named("peers", 7946), literal("10.0.0.9:1")}, names.lookup());
    world.seeds.start();
    REQUIRE(world.run_until([&] { return world.changes.size() >= 2; }));
    CHECK(world.seeds.addresses() ==
          Addresses{at("10.0.0.1:7946"), at("10.0.0.2:7946"), at("10.0.0.9:1")});
    CHECK_FALSE(world.looked_up.front());  // the literal one, before any answer
    CHECK(std::count(world.looked_up.begin() + 1, world.looked_up.end(), false) == 0);

    names.set("peers", Addresses{at("10.0.0.3:0")});
    REQUIRE(world.run_until([&] {
        return world.seeds.addresses() == Addresses{at("10.0.0.3:7946"), at("10.0.0.9:1")};
    }));
    CHECK(world.seeds.failures() == 0);
}

TEST_CASE("a failed look-up is counted and keeps the last addresses; later ones recover") {
    FakeNames names;
    names.set("peers", Addresses{at("10.0.0.1:0")});
    World world({named("peers", 7946)}, names.lookup());
    world.seeds.start();
    REQUIRE(world.run_until([&] { return !world.seeds.addresses().empty(); }));
    names.set("peers", error(ErrorCode::not_found, "no such host"));
    REQUIRE(world.run_until([&] { return world.seeds.failures() >= 1; }));
    const std::size_t answers = world.looked_up.size();
    REQUIRE(world.run_until([&] { return world.seeds.failures() >= 4; }));
    CHECK(world.looked_up.size() == answers);  // a failure is no look-up that says who is there
    CHECK(world.seeds.addresses() == Addresses{at("10.0.0.1:7946")});
    names.set("peers", Addresses{at("10.0.0.5:0")});
    REQUIRE(
        world.run_until([&] { return world.seeds.addresses() == Addresses{at("10.0.0.5:7946")}; }));
}

TEST_CASE("a look-up that hangs is not asked again meanwhile, and stopping does not wait for it") {
    std::promise<void> release;
    auto released = release.get_future().share();
    auto calls = std::make_shared<std::atomic<int>>(0);
    {
        World world({named("slow", 1)},
                    [released, calls](const std::string&, std::uint16_t) -> Result<Addresses> {
                        ++*calls;
                        released.wait();
                        return Addresses{at("10.0.0.1:1")};
                    });
        world.seeds.start();
        REQUIRE(world.run_until([&] { return *calls == 1; }));
        world.control.run_for(30ms);  // several intervals
        CHECK(*calls == 1);
        world.seeds.stop();
        world.control.restart();
        world.control.run_for(5ms);
        CHECK(world.changes.size() == 1);  // only the one of the start
    }
    release.set_value();  // the helper thread finds everything gone and ends
}

TEST_CASE("the resolver refuses more requests than it may hold") {
    std::promise<void> release;
    auto released = release.get_future().share();
    boost::asio::io_context control;
    SeedResolver resolver(control,
                          [released](const std::string&, std::uint16_t) -> Result<Addresses> {
                              released.wait();
                              return Addresses{};
                          });
    std::size_t accepted = 0;
    while (accepted <= kMaxPendingLookups + 1 &&
           resolver.request("x", 1, [](Result<Addresses>) {})) {
        ++accepted;
    }
    CHECK(accepted >= kMaxPendingLookups);
    CHECK(accepted <= kMaxPendingLookups + 1);  // one may be in the helper's hands
    release.set_value();
}

TEST_CASE("localhost has a loopback address; a name that cannot exist is an error") {
    const auto found = look_up("localhost", 7946);
    REQUIRE(found.has_value());
    CHECK(std::any_of(found->begin(), found->end(), [](const Endpoint& endpoint) {
        return endpoint == at("127.0.0.1:7946") || endpoint == at("[::1]:7946");
    }));
    CHECK(look_up("no.such.host.invalid", 1).has_error());
}
