#include "gossip/session.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

namespace weir::gossip {
namespace {

using namespace std::chrono_literals;

std::uint64_t us(Duration duration) { return static_cast<std::uint64_t>(duration / 1us); }

TEST_CASE("the window accepts each number once, like a dumb model") {
    CHECK(rc::check([](const std::vector<std::uint16_t>& numbers, std::uint64_t base) {
        base = base / 2 + SequenceWindow::kSize;
        SequenceWindow window;
        std::set<std::uint64_t> seen;
        std::uint64_t highest = 0;
        for (std::uint16_t step : numbers) {
            const std::uint64_t sequence = base + step % 3000;
            highest = seen.empty() ? sequence : highest;
            const auto rejection = window.accept(sequence);
            if (sequence + SequenceWindow::kSize <= highest) {
                RC_ASSERT(rejection == DatagramRejection::too_old);
                continue;
            }
            RC_ASSERT(rejection.has_value() == seen.contains(sequence));
            seen.insert(sequence);
            highest = std::max(highest, sequence);
        }
    }));
}

TEST_CASE("the window's edges") {
    SequenceWindow window;
    CHECK_FALSE(window.accept(5000));
    CHECK(window.accept(5000) == DatagramRejection::duplicate);
    CHECK_FALSE(window.accept(5000 - 1023));
    CHECK(window.accept(5000 - 1024) == DatagramRejection::too_old);
    CHECK_FALSE(window.accept(~std::uint64_t{0}));  // a liar locks out itself only
    CHECK(window.accept(5001) == DatagramRejection::too_old);
}

TEST_CASE("age is the clock difference above the smallest") {
    PacketAge age;
    const Instant start{1h};
    CHECK(age.age(us(5h), start) == 0s);  // clocks of different processes have nothing in common
    CHECK(age.age(us(5h + 1s), start + 1s + 30ms) == 30ms);
    CHECK(age.age(us(5h + 2s), start + 2s - 10ms) == 0s);
    CHECK(age.age(us(5h + 3s), start + 3s) == 10ms);
}

TEST_CASE("clocks that drift do not make packets old") {
    PacketAge age;
    Duration worst{};
    for (int second = 0; second < 7200; ++second) {
        // The sender's clock loses 200 microseconds a second.
        const Duration sent = second * (1s - 200us);
        worst = std::max(worst, *age.age(us(sent), Instant{1h} + second * 1s));
    }
    CHECK(worst <= 20 * 200us);
}

TEST_CASE("after a pause of the receiver all smallest ones are forgotten") {
    PacketAge age;
    (void)age.age(us(1s), Instant{1h});
    CHECK(age.age(us(2s), Instant{1h} + 31s) == 0s);
}

TEST_CASE("a liar's clock harms itself for 20 seconds at most") {
    PacketAge age;
    const Instant start{1h};
    CHECK(age.age(us(1s), start) == 0s);
    CHECK(age.age((std::uint64_t{1} << 62) - 1, start + 1s) == 0s);
    CHECK(*age.age(us(3s), start + 2s) > 1s);
    CHECK_FALSE(age.age(std::uint64_t{1} << 62, start + 2s));
    CHECK_FALSE(age.age(~std::uint64_t{0}, start + 2s));
    (void)age.age(us(12s), start + 11s);
    CHECK(*age.age(us(23s), start + 22s) == 0s);
}

TEST_CASE("a sender's clock that ran on while ours stood still leads by that time") {
    ClockLead lead;
    const Instant start{1h};
    CHECK_FALSE(lead.lead(start));
    lead.note(us(5h), start);
    lead.note(us(5h + 400ms), start + 400ms);
    CHECK_FALSE(lead.lead(start + 400ms));  // nothing to compare with yet
    lead.note(us(5h + 600ms), start + 600ms);
    CHECK(lead.lead(start + 600ms) == 0s);
    // A pause of 4 s: what was sent meanwhile is read at once, in its order.
    for (int sent = 0; sent <= 40; ++sent) {
        lead.note(us(5h + 600ms + sent * 100ms), start + 600ms + sent * 10us);
    }
    CHECK(lead.lead(start + 601ms) == 4s - 400us);
    lead.caught_up();
    lead.note(us(5h + 4700ms), start + 4700ms);
    lead.note(us(5h + 5200ms), start + 5300ms);
    CHECK(lead.lead(start + 5300ms) == 0s);
}

TEST_CASE("of a sender that was not heard in the last second no lead is known") {
    ClockLead lead;
    const Instant start{1h};
    lead.note(us(1s), start);
    lead.note(us(3s), start + 1s);
    CHECK_FALSE(lead.lead(start + 1s));
    lead.note(us(3600ms), start + 1600ms);
    CHECK(lead.lead(start + 1600ms) == 0s);
    CHECK_FALSE(lead.lead(start + 2600ms));
}

TEST_CASE("a delay that ends is no lead, and a hostile clock has a bound") {
    ClockLead lead;
    const Instant start{1h};
    const auto at = [&](Duration sent, Duration received) {
        lead.note(us(5h + sent), start + received);
    };
    for (Duration time = 0ms; time < 3s; time += 300ms) {
        at(time, time);
    }
    for (Duration time = 3s; time < 9s; time += 300ms) {
        at(time, time + 700ms);
    }
    for (Duration time = 9900ms; time < 12s; time += 300ms) {
        at(time, time);
        CHECK(lead.lead(start + time) == 0s);
    }
    lead.note((std::uint64_t{1} << 62) - 1, start + 12s);
    CHECK(lead.lead(start + 12s) == 24h);
}

TEST_CASE("ages are those before after the clock was moved forward") {
    PacketAge age;
    const Instant start{1h};
    CHECK(age.age(us(5h), start) == 0s);
    CHECK(age.age(us(5h + 4s), start + 1ms) == 0s);  // our clock stood still
    age.caught_up(4s - 1ms);
    CHECK(age.age(us(5h + 5s), start + 5s + 30ms) == 30ms);
}

}  // namespace
}  // namespace weir::gossip
