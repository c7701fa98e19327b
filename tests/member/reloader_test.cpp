#include "member/reloader.h"

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

namespace weir::member {
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
    while (world.done.size() < 2) world.control.run_one();
    CHECK(world.done == std::vector{Reload::quotas, Reload::everything});
    CHECK(world.jobs == 2);
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

}  // namespace weir::member
