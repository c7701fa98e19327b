#include "node/reloader.h"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <new>
#include <vector>

namespace weir::node {
namespace {

/// Counts what was read and what came of it; the control "thread" is the test itself.
struct World {
    boost::asio::io_context control{1};
    std::atomic<int> jobs{0};
    std::vector<Reload> done;
    Reloader reloader{control,
                      [this](Reload) {
                          return [this] {
                              ++jobs;
                              return Loaded{};
                          };
                      },
                      [this](Reload what, const Loaded&) { done.push_back(what); }};

    void settle() {
        reloader.join();
        control.run();
    }
};

}  // namespace

TEST_CASE("a reload is read on the helper thread and taken over on the control thread") {
    World world;
    world.reloader.request(Reload::quotas);
    CHECK(world.done.empty());
    world.settle();
    CHECK(world.jobs == 1);
    CHECK(world.done == std::vector{Reload::quotas});
}

TEST_CASE("what is asked for meanwhile is done once, as the larger of the two") {
    World world;
    for (const Reload what : {Reload::quotas, Reload::everything, Reload::quotas}) {
        world.reloader.request(what);
    }
    const auto work = boost::asio::make_work_guard(world.control);
    while (world.done.size() < 2) {
        world.control.run_one();
    }
    CHECK(world.done == std::vector{Reload::quotas, Reload::everything});
    CHECK(world.jobs == 2);
}

TEST_CASE("a reading that throws is one that failed, and the next one is served") {
    boost::asio::io_context control{1};
    std::atomic<int> jobs{0};
    std::vector<bool> good;
    Reloader reloader(
        control,
        [&](Reload) {
            return [&] {
                if (++jobs == 1) {
                    throw std::bad_alloc();
                }
                return Loaded{};
            };
        },
        [&](Reload, const Loaded& loaded) { good.push_back(loaded.good()); });
    const auto work = boost::asio::make_work_guard(control);
    for (const std::size_t count : {1U, 2U}) {
        reloader.request(Reload::quotas);
        while (good.size() < count) {
            control.run_one();
        }
    }
    CHECK(good == std::vector{false, true});
}

TEST_CASE("callbacks that throw once leave the next reading alone") {
    boost::asio::io_context control{1};
    int prepared = 0;
    int done = 0;
    Reloader reloader(
        control,
        [&](Reload) {
            if (++prepared == 1) {
                throw std::bad_alloc();
            }
            return [] { return Loaded{}; };
        },
        [&](Reload, const Loaded&) {
            if (++done == 1) {
                throw std::bad_alloc();
            }
        });
    const auto work = boost::asio::make_work_guard(control);
    CHECK_THROWS_AS(reloader.request(Reload::quotas), std::bad_alloc);
    reloader.request(Reload::quotas);
    reloader.request(Reload::quotas);  // waits for the one that throws
    CHECK_THROWS_AS(control.run_one(), std::bad_alloc);
    while (done < 2) {
        control.run_one();
    }
    CHECK(prepared == 3);
}

TEST_CASE("nothing is taken over after the stop") {
    World world;
    world.reloader.request(Reload::everything);
    world.reloader.stop();
    world.reloader.request(Reload::everything);
    world.settle();
    CHECK(world.done.empty());
    CHECK(world.jobs <= 1);
}

}  // namespace weir::node
