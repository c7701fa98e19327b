// The bounded tables of membership: the dead, rumours, suspicions, budgets.
#include <doctest/doctest.h>

#include <set>

#include "base/records.h"
#include "gossip/budget.h"
#include "gossip/strangers.h"
#include "membership/dead_table.h"
#include "membership/member_table.h"
#include "membership/rumours.h"
#include "membership/sessions.h"
#include "membership/suspicion.h"
#include "membership/virtual_network.h"

namespace weir::membership {
namespace {

using namespace test;

constexpr Instant kStart{1h};

DeadMember dead(std::size_t number, gossip::Incarnation incarnation, Duration after = 0s,
                MemberState cause = MemberState::dead) {
    return {{address_of(number), incarnation}, cause, kStart + after};
}

TEST_CASE("the dead are remembered for an hour, the first cause is kept") {
    DeadTable table;
    CHECK(table.add(dead(1, 1, 0s, MemberState::left)));
    CHECK_FALSE(table.add(dead(1, 1, 5s)));
    CHECK(table.find({address_of(1), 1})->cause == MemberState::left);
    CHECK(table.add(dead(2, 1, 10min)));
    table.forget_old(kStart + 1h - 1s);
    CHECK(table.size() == 2);
    table.forget_old(kStart + 1h);
    CHECK(table.size() == 1);
    CHECK(table.find({address_of(1), 1}) == nullptr);
}

TEST_CASE("strangers are told apart by address, reason and key, and forgotten when silent") {
    gossip::Strangers strangers;
    strangers.note(address_of(1), gossip::DatagramRejection::unknown_key, 7, kStart);
    strangers.note(address_of(2), gossip::DatagramRejection::unknown_key, 7, kStart);
    strangers.note(address_of(2), gossip::DatagramRejection::unknown_key, 7, kStart + 1s);
    strangers.note(address_of(2), gossip::DatagramRejection::unsealed, 0, kStart + 20s);
    const auto all = strangers.recent(kStart + 20s);
    REQUIRE(all.size() == 3);
    CHECK(all[0].from == address_of(2));
    CHECK(all[0].datagrams == 2);
    CHECK(all[0].first == kStart);
    CHECK(all[0].last == kStart + 1s);
    CHECK(strangers.recent(kStart + 1s + gossip::Strangers::kMemory).size() == 2);
    CHECK(strangers.recent(kStart + 21s + gossip::Strangers::kMemory).empty());
}

TEST_CASE("a flood of invented senders does not push out one that goes on") {
    gossip::Strangers strangers;
    for (std::size_t i = 0; i < 10'000; ++i) {
        const Instant now = kStart + std::chrono::milliseconds(i);
        strangers.note(address_of(1000 + i), gossip::DatagramRejection::forged, 0, now);
        if (i % 100 == 0) {
            strangers.note(address_of(1), gossip::DatagramRejection::unknown_key, 7, now);
        }
    }
    const auto all = strangers.recent(kStart + 10s);
    CHECK(all.size() == gossip::Strangers::kCapacity);
    CHECK(all[0].from == address_of(1));
    CHECK(all[0].datagrams == 100);
    strangers.note(address_of(2), gossip::DatagramRejection::unknown_key, 7, kStart + 1h);
    CHECK(strangers.recent(kStart + 1h).size() == 1);
}

TEST_CASE("each address keeps its newest dead, the table its newest of all") {
    DeadTable table;
    for (gossip::Incarnation i = 1; i <= 20; ++i) {
        table.add(dead(1, 1000 - i, std::chrono::seconds(i)));
    }
    CHECK(table.size() == DeadTable::kPerAddress);
    CHECK(table.find({address_of(1), 980}) != nullptr);
    CHECK(table.find({address_of(1), 999}) == nullptr);
    for (std::size_t i = 0; i < DeadTable::kCapacity + 100; ++i) {
        table.add(dead(100 + i, 1, 1min));
    }
    CHECK(table.size() == DeadTable::kCapacity);
    CHECK(table.find({address_of(1), 980}) == nullptr);
    CHECK(table.since(kStart).size() == DeadTable::kCapacity);
    CHECK(table.since(kStart + 2min).empty());
}

TEST_CASE("anchors are counted while they live, whatever else is told of them") {
    MemberTable table;
    table.add({address_of(1), 1}, {.anchor = true}, 0, kStart);
    table.add({address_of(2), 1}, {}, 0, kStart);
    CHECK(table.anchors() == 1);
    table.set_flags({address_of(1), 1}, {.anchor = true, .leaving = true});
    CHECK(table.anchors() == 1);
    table.set_flags({address_of(2), 1}, {.anchor = true});
    CHECK(table.anchors() == 2);
    table.remove({address_of(1), 1});
    table.remove({address_of(2), 1});
    CHECK(table.anchors() == 0);
}

TEST_CASE("only the silent are forgotten by a renewal") {
    DeadTable table;
    table.add(dead(1, 1));
    table.add(dead(2, 2, 0s, MemberState::left));
    table.add(dead(3, 3));
    table.add(dead(4, 4, 0s, MemberState::replaced));
    table.forget_silent();
    CHECK(table.size() == 2);
    CHECK(table.find({address_of(2), 2}) != nullptr);
    CHECK(table.since(kStart).size() == 2);
}

MemberUpdate about(std::size_t number, std::uint64_t counter) {
    return {{address_of(number), 1}, MemberState::alive, {}, counter, 0};
}

std::vector<MemberUpdate> told(Rumours& rumours, std::size_t room, std::uint32_t limit) {
    std::array<std::byte, gossip::kMaximumBody> buffer{};
    ByteWriter writer(buffer);
    rumours.write(writer, room, limit);
    CHECK(writer.size() <= room);
    std::vector<MemberUpdate> updates;
    ByteReader reader(writer.written());
    while (const auto message = gossip::next_message(reader)) {
        ByteReader payload(message->payload);
        skip_head(payload);
        while (payload.remaining() > 0) {
            updates.push_back(decode_member_update(payload));
        }
    }
    return updates;
}

TEST_CASE("a rumour is told a limited number of times, and newer news replaces it") {
    Rumours rumours;
    rumours.add(about(1, 1));
    CHECK(told(rumours, 500, 3).size() == 1);
    CHECK(told(rumours, 500, 3).size() == 1);
    rumours.add(about(1, 2));
    for (int i = 0; i < 3; ++i) {
        const auto updates = told(rumours, 500, 3);
        REQUIRE(updates.size() == 1);
        CHECK(updates[0].counter == 2);
    }
    CHECK(rumours.empty());
}

TEST_CASE("the least told come first, within the room") {
    Rumours rumours;
    for (std::size_t i = 0; i < 50; ++i) {
        rumours.add(about(i, 0));
    }
    std::set<gossip::MemberId> first;
    const std::size_t room = 500;
    while (first.size() < 50) {
        const auto updates = told(rumours, room, 10);
        REQUIRE_FALSE(updates.empty());
        const std::size_t before = first.size();
        for (const MemberUpdate& update : updates) {
            first.insert(update.id);
        }
        CHECK(first.size() > before);
    }
    CHECK(told(rumours, 0, 10).empty());
    CHECK(told(rumours, gossip::kMessageOverhead, 10).empty());
}

TEST_CASE("past their number the most told rumour makes room") {
    Rumours rumours;
    rumours.add(about(0, 0));
    CHECK(told(rumours, 500, 10).size() == 1);
    for (std::size_t i = 1; i < Rumours::kCapacity; ++i) {
        CHECK_FALSE(rumours.add(about(i, 0)));
    }
    CHECK(rumours.add(about(9999, 0)));
    CHECK(rumours.size() == Rumours::kCapacity);
    for (const MemberUpdate& update : told(rumours, gossip::kMaximumBody, 10)) {
        CHECK(update.id.address != address_of(0));
    }
}

TEST_CASE("a suspicion shortens with independent confirmations, never below its least") {
    const MembershipSettings settings;
    Suspicion suspicion(settings, 10, 1, kStart);
    const Duration least = least_suspicion(settings, 10);
    CHECK(least == 1500ms);
    CHECK(suspicion.deadline() == kStart + 4 * least);
    CHECK_FALSE(suspicion.confirm(1));
    Instant last = suspicion.deadline();
    for (gossip::Incarnation by = 2; by <= 4; ++by) {
        CHECK(suspicion.confirm(by));
        CHECK_FALSE(suspicion.confirm(by));
        CHECK(suspicion.deadline() < last);
        last = suspicion.deadline();
    }
    CHECK(last == kStart + least);
    CHECK_FALSE(suspicion.confirm(5));
    suspicion.restart(kStart + 1min);
    CHECK(suspicion.deadline() == kStart + 1min + least);
}

TEST_CASE("a death told by another ends it after the least time") {
    const MembershipSettings settings;
    Suspicion suspicion(settings, 10, 1, kStart);
    suspicion.confirm_death();
    CHECK(suspicion.deadline() == kStart + least_suspicion(settings, 10));
}

TEST_CASE("two members have nobody to confirm; a thousand take longer") {
    const MembershipSettings settings;
    CHECK(Suspicion(settings, 2, 1, kStart).deadline() == kStart + least_suspicion(settings, 2));
    CHECK(least_suspicion(settings, 1000) > 2 * least_suspicion(settings, 10));
}

TEST_CASE("a budget gives its burst, then its rate") {
    gossip::Budget budget({1000, 500});
    CHECK(budget.take(500, kStart));
    CHECK_FALSE(budget.take(1, kStart));
    CHECK_FALSE(budget.take(101, kStart + 100ms));
    CHECK(budget.take(100, kStart + 100ms));
    CHECK(budget.take(500, kStart + 1h));
    CHECK_FALSE(budget.take(1, kStart + 30min));  // time that ran backwards gives nothing
}

/// Sessions with so many members, all of which were heard twice in the last second.
class Heard {
  public:
    explicit Heard(std::size_t members) : members_(members), sequence_(members, 0) {
        for (const Duration at : {0ms, 600ms}) {
            for (std::size_t i = 0; i < members_; ++i) {
                hear(i, at, at);
            }
        }
    }
    /// One datagram of the member, sent and received at these times.
    void hear(std::size_t member, Duration sent, Duration received) {
        gossip::Envelope envelope;
        envelope.sender = {address_of(member), 1};
        envelope.sequence = ++sequence_[member];
        envelope.sent_at_us = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(sent + 5h).count());
        CHECK_FALSE(sessions.admit(envelope, 1, kStart + received).rejection);
    }
    [[nodiscard]] Duration behind() { return behind_of(members_); }
    [[nodiscard]] Duration behind_of(std::size_t members) {
        return sessions.clock_behind(members, kStart + 700ms);
    }
    Sessions sessions;

  private:
    std::size_t members_;
    std::vector<std::uint64_t> sequence_;
};

TEST_CASE("our clock stood still if more than half of those heard lately say so") {
    Heard three(3);
    CHECK(three.behind() == 0s);
    three.hear(0, 4700ms, 700ms);
    CHECK(three.behind() == 0s);  // one alone, of three
    three.hear(1, 3700ms, 700ms);
    CHECK(three.behind() == 3s);  // not what the one says who leaps further
    CHECK(three.behind() == 0s);  // nothing new has come
    three.sessions.caught_up(3s, kStart + 700ms);
    for (const Duration at : {5s, 6s, 7s}) {  // once is enough for a while
        three.hear(0, at + 10s, at);
        three.hear(1, at + 10s, at);
        CHECK(three.sessions.clock_behind(3, kStart + at) == 0s);
    }

    Heard two(2);
    two.hear(0, 4700ms, 700ms);
    CHECK(two.behind() == 0s);  // one of two may be wrong
    Heard one(1);
    one.hear(0, 4700ms, 700ms);
    CHECK(one.behind_of(1) == 4s);
    one.hear(0, 4800ms, 750ms);
    CHECK(one.behind_of(50) == 0s);  // others are only quiet
    Heard late(1);
    late.hear(0, 1299ms, 700ms);  // less than a stop has to last
    CHECK(late.behind() == 0s);
}

}  // namespace
}  // namespace weir::membership
