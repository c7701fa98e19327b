#include "sync/due_queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

std::vector<std::uint32_t> take_all(DueQueue& queue, Instant now) {
    std::vector<std::uint32_t> taken;
    while (const auto slot = queue.take(now)) {
        taken.push_back(*slot);
    }
    return taken;
}

TEST_CASE("slots are taken when they are due, the one that is due for longest first") {
    DueQueue queue;
    queue.add(3, kStart + 2s);
    queue.add(1, kStart + 1s);
    queue.add(2, kStart + 3s);
    CHECK(take_all(queue, kStart).empty());
    CHECK(take_all(queue, kStart + 2s) == std::vector<std::uint32_t>{1, 3});
    CHECK(take_all(queue, kStart + 1h) == std::vector<std::uint32_t>{2});
}

TEST_CASE("the soonest time of a slot counts, and it is taken once") {
    DueQueue queue;
    queue.add(1, kStart + 5s);
    queue.add(1, kStart + 2s);
    queue.add(1, kStart + 9s);
    CHECK(take_all(queue, kStart + 2s) == std::vector<std::uint32_t>{1});
    CHECK(take_all(queue, kStart + 1h).empty());
}

TEST_CASE("a slot that was removed is not due, and may be added again at a later time") {
    DueQueue queue;
    queue.add(1, kStart + 1s);
    queue.remove(1);
    queue.remove(77);
    CHECK(take_all(queue, kStart + 1s).empty());
    queue.add(1, kStart + 5s);
    CHECK(take_all(queue, kStart + 4s).empty());
    CHECK(take_all(queue, kStart + 5s) == std::vector<std::uint32_t>{1});
}

TEST_CASE("however often slots come and go, the queue is small and right") {
    constexpr std::uint32_t kSlots = 50;
    DueQueue queue;
    std::map<std::uint32_t, Instant> model;
    Random random(7);
    Instant now = kStart;
    for (int i = 0; i < 20'000; ++i) {
        const auto slot = static_cast<std::uint32_t>(random.below(kSlots));
        const Instant when = now + 1ms * static_cast<int>(random.below(100'000));
        if (random.below(3) == 0) {
            queue.remove(slot);
            model.erase(slot);
        } else {
            queue.add(slot, when);
            const auto [known, first] = model.try_emplace(slot, when);
            known->second = std::min(known->second, when);
        }
        CHECK(queue.size() <= 2 * kSlots + DueQueue::kSpare);
        now += 1ms;
        std::vector<std::uint32_t> due;
        std::erase_if(model, [&](const auto& each) {
            if (each.second <= now) {
                due.push_back(each.first);
            }
            return each.second <= now;
        });
        std::vector<std::uint32_t> taken = take_all(queue, now);
        std::sort(taken.begin(), taken.end());
        REQUIRE(taken == due);
    }
}

TEST_CASE("what is moved to another slot is due there when it was") {
    DueQueue queue;
    queue.add(9, kStart + 2s);
    queue.add(1, kStart + 1s);
    queue.move(9, 4);
    queue.move(7, 5);  // nothing is due for it
    queue.remove(1);
    queue.move(4, 1);
    CHECK(take_all(queue, kStart + 1s).empty());
    CHECK(take_all(queue, kStart + 1h) == std::vector<std::uint32_t>{1});
}

TEST_CASE("a queue that was large gives its memory back when there are fewer slots") {
    constexpr std::uint32_t kSlots = 100'000;
    DueQueue queue;
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
        queue.add(slot, kStart + 1ms * static_cast<int>(slot));
    }
    CHECK(queue.memory() >= kSlots * 24);
    for (std::uint32_t slots = kSlots; slots > 10; --slots) {
        queue.shrink(slots);
    }
    CHECK(queue.memory() <= 300'000);
    CHECK(queue.size() <= 20 + DueQueue::kSpare);
    queue.shrink(kSlots);  // there are not more of them by that
    queue.shrink(3);
    CHECK(take_all(queue, kStart + 1h) == std::vector<std::uint32_t>{0, 1, 2});
    queue.add(kSlots, kStart);
    CHECK(take_all(queue, kStart) == std::vector<std::uint32_t>{kSlots});
}

}  // namespace
}  // namespace weir::sync
