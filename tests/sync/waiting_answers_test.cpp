#include "sync/waiting_answers.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "base/endpoint.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongest = 80ms;

gossip::MemberId to(std::uint32_t number) { return {Endpoint::v4(number, 1), 1}; }

struct Fixture {
    std::vector<std::pair<gossip::MemberId, int>> sent;
    WaitingAnswers<int> answers{kLongest, 4, [this](const gossip::MemberId& member, int answer) {
                                    sent.emplace_back(member, answer);
                                }};
    Instant now{std::chrono::seconds(10)};

    void send_due() {
        answers.send_due(now, [](const gossip::MemberId&) { return false; });
    }
};

TEST_CASE_FIXTURE(Fixture,
                  "an answer waits for what is sent to the same member, and not for long") {
    answers.add(to(1), 3, now);
    answers.add(to(2), 4, now);
    send_due();
    CHECK(sent.empty());
    answers.send_due(now, [](const gossip::MemberId& member) { return member == to(2); });
    REQUIRE(sent.size() == 1);
    CHECK(sent[0] == std::pair(to(2), 4));
    now += kLongest - 1ms;
    send_due();
    CHECK(sent.size() == 1);
    CHECK_FALSE(answers.is_due(to(1), now));
    now += 1ms;
    CHECK(answers.is_due(to(1), now));
    CHECK_FALSE(answers.is_due(to(2), now));
    send_due();
    CHECK(sent.size() == 2);
    CHECK(answers.size() == 0);
    CHECK_FALSE(answers.is_due(to(1), now));
}

TEST_CASE_FIXTURE(Fixture, "members that are gone are not answered") {
    answers.add(to(1), 5, now);
    answers.add(to(2), 6, now);
    answers.forget(to(1));
    now += 1s;
    send_due();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].second == 6);
    answers.add(to(1), 7, now);
    answers.clear();
    now += 1s;
    send_due();
    CHECK(sent.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "so many to one member are worth a datagram, and do not wait") {
    answers.add(to(2), 0, now);
    for (int i = 0; i < 3; ++i) {
        answers.add(to(1), i, now);
    }
    CHECK(sent.empty());
    answers.add(to(1), 3, now);
    CHECK(sent.size() == 4);
    CHECK(answers.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "more answers than may wait are sent at once") {
    constexpr auto kMost = WaitingAnswers<int>::kMost;
    for (std::uint32_t i = 0; i <= kMost; ++i) {
        answers.add(to(i), 1, now);
    }
    CHECK(answers.size() == kMost);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].first == to(kMost));
}

}  // namespace
}  // namespace weir::sync
