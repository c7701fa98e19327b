// The queues of requests that wait for their turn, with a virtual clock.

#include "limiter/wait_queues.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>

using namespace weir;
using namespace weir::limiter;
using namespace std::chrono_literals;

namespace {

struct Request final : Waiter {
    explicit Request(std::function<void(Request&)> turn) : turn_(std::move(turn)) {}
    ~Request() override = default;
    void called() override { turn_(*this); }
    std::function<void(Request&)> turn_;
};

struct World {
    Request& add(std::string name, std::uint32_t slot) {
        Request& request = requests.emplace_back([this, name](Request& self) {
            order += name;
            if (room > 0) {
                --room;
                queues.pass(self);
            } else {
                queues.rest(self, refusal, now, last);
            }
        });
        queues.join(request, slot, now);
        return request;
    }
    void pass(Duration time) {
        now += time;
        more = queues.serve(now);
    }
    WaitQueues queues;
    std::deque<Request> requests;
    std::string order;
    int room = 0;
    bool more = false;  // after a pass: it ended because it had called enough
    Decision refusal;
    Instant last = Instant::max();
    Instant now{std::chrono::hours(1)};
};

}  // namespace

TEST_CASE("who came first is called first, and one refusal lets the queue rest") {
    World world;
    for (const char* name : {"a", "b", "c"}) {
        world.add(name, 7);
        world.now += 1ms;
    }
    world.refusal.discard_probability = 0.5;
    world.pass(16ms);
    CHECK(world.order == "a");
    world.pass(1ms);
    CHECK(world.order == "a");
    world.room = 2;
    world.pass(16ms);
    CHECK(world.order == "aabc");
    world.room = 1;
    world.pass(16ms);
    CHECK(world.order == "aabcc");
    CHECK(world.queues.empty());
}

TEST_CASE("a queue without a chance rests a quarter of the time, within bounds") {
    World world;
    world.add("a", 1);
    world.refusal.discard_probability = 1;
    for (const auto& [wait, rest] :
         {std::pair<Duration, Duration>{200ms, 50ms}, {1ms, 4ms}, {1h, 250ms}}) {
        world.refusal.wait = wait;
        world.pass(250ms);
        world.order.clear();
        world.pass(rest - 1ms);
        CHECK(world.order.empty());
        world.pass(1ms);
        CHECK(world.order == "a");
    }
    world.queues.leave(world.requests.front());
}

TEST_CASE(
    "the smaller the chance, the longer a queue rests, and it is called before its time is over") {
    World world;
    world.add("a", 1);
    for (const auto& [refused, rest] :
         {std::pair<double, Duration>{0.5, 4ms}, {0.9, 36ms}, {0.999, 250ms}}) {
        world.refusal.discard_probability = refused;
        world.pass(250ms);
        world.order.clear();
        world.pass(rest - 1ms);
        CHECK(world.order.empty());
        world.pass(1ms + 1us);
        CHECK(world.order == "a");
    }
    world.last = world.now + 250ms + 50ms;
    world.pass(250ms);
    world.order.clear();
    world.pass(45ms);
    CHECK(world.order.empty());
    CHECK_FALSE(world.queues.is_due(world.requests.front(), world.now));
    CHECK(world.queues.is_due(world.requests.front(), world.now + 1ms));
    world.pass(1ms);
    CHECK(world.order == "a");
    world.queues.leave(world.requests.front());
}

TEST_CASE("who leaves without being admitted does not shorten the rest of the queue") {
    World world;
    Request& first = world.add("a", 1);
    world.add("b", 1);
    world.refusal.discard_probability = 0.9;
    world.pass(1ms);
    CHECK(world.order == "a");
    world.queues.leave(first);
    world.pass(35ms);
    CHECK(world.order == "a");
    world.room = 1;
    world.pass(1ms + 1us);
    CHECK(world.order == "ab");
}

TEST_CASE("queues do not hold each other up, and who leaves is not called") {
    World world;
    Request& first = world.add("a", 1);
    world.add("b", 2);
    world.add("c", 2);
    world.refusal.discard_probability = 0.5;
    world.queues.leave(first);
    world.pass(16ms);
    CHECK(world.order == "b");
    world.room = 5;
    world.pass(16ms);
    CHECK(world.order == "bbc");
    CHECK(world.queues.empty());
}

TEST_CASE("a request that comes from another queue goes before those that came later") {
    World world;
    Request& moved = world.add("m", 1);
    world.now += 1ms;
    world.add("a", 2);
    world.now += 1ms;
    world.add("b", 2);
    world.queues.leave(moved);
    world.queues.join(moved, 2, world.now - 2ms);
    CHECK(world.queues.is_first(moved));
    world.room = 3;
    world.pass(16ms);
    CHECK(world.order == "mab");
}

TEST_CASE("one pass calls a bounded number, and the next one goes on with the other queues") {
    World world;
    for (std::uint32_t slot = 1; slot <= 600; ++slot) {
        world.add("x", slot);
    }
    world.refusal.discard_probability = 0.5;
    world.pass(16ms);
    CHECK(world.order.size() == WaitQueues::kCallsPerPass);
    CHECK(world.more);
    world.room = 1000;
    world.pass(0ms);
    world.pass(0ms);
    CHECK(world.order.size() >= 600);
    for (int i = 0; i < 5; ++i) {
        world.pass(16ms);
    }
    CHECK(world.queues.empty());
}

TEST_CASE("one queue of ten thousand is served in order, some of it in each pass") {
    World world;
    for (int i = 0; i < 10'000; ++i) {
        world.add(std::string(1, static_cast<char>('a' + i / 400)), 9);
    }
    world.room = 10'000;
    int passes = 0;
    while (!world.queues.empty()) {
        world.pass(16ms);
        ++passes;
    }
    CHECK(passes == 40);
    CHECK(std::is_sorted(world.order.begin(), world.order.end()));
}
