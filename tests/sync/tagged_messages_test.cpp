// Deltas and their answers in messages: order, tags, how many may be under way, and what each side
// may leave out.
#include "sync/tagged_messages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "sync/answer_packet.h"

namespace weir::sync {
namespace {

using gossip::MessageType;

gossip::MemberId member(std::uint32_t number) {
    return {Endpoint::v4(0x0a000000 + number, 7946), number + 1};
}

struct Sink final : gossip::MessageSink {
    struct Sent {
        gossip::MemberId to;
        MessageType type{};
        std::vector<std::byte> payload;
    };
    bool send(const gossip::MemberId& to, MessageType type, ByteSpan payload) override {
        if (full) {
            return false;
        }
        sent.push_back({to, type, {payload.begin(), payload.end()}});
        return true;
    }
    std::vector<Sent> sent;
    bool full = false;
};

DeltaEntry delta(std::uint32_t number) {
    DeltaEntry entry;
    entry.key.quota = 1000 + number;
    entry.key.period_ms = 1000;
    entry.run = 7;
    entry.admitted = number;
    entry.offered = 2 * number + 0.5;
    entry.keep_alive = std::chrono::seconds(1);
    return entry;
}

TotalEntry total_for(const DeltaEntry& entry) {
    TotalEntry total;
    total.key = entry.key;
    total.life = 3;
    total.level = 12;
    total.origins = 5;
    total.run = entry.run;
    total.admitted = entry.admitted;
    total.offered = entry.offered;
    return total;
}

using namespace std::chrono_literals;
using DeltaMessages = TaggedMessages<SaidCounts, MessageType::delta>;

struct Fixture {
    void add(std::uint32_t to, const DeltaEntry& entry) {
        std::array<std::byte, kMaximumEntrySize> buffer;
        ByteWriter writer(buffer);
        encode(writer, entry);
        messages.add(member(to), writer.written(), said_in(entry), now);
    }
    /// Sends one message; its tag is the number of messages to this member before it.
    void say(std::uint32_t to) {
        add(to, delta(1));
        messages.send_all(now);
    }

    Sink sink;
    std::uint64_t dropped = 0;
    Instant now{1h};
    DeltaMessages messages{sink, dropped};
};

TEST_CASE_FIXTURE(Fixture, "the deltas of a tick for one owner share messages, each with a tag") {
    for (std::uint32_t i = 0; i < 100; ++i) {
        add(1, delta(i));
        if (i < 3) {
            add(2, delta(i));
        }
    }
    messages.send_all(now);
    messages.send_all(now);
    std::vector<std::uint64_t> order;
    std::size_t to_second = 0;
    for (const Sink::Sent& sent : sink.sent) {
        CHECK(sent.type == MessageType::delta);
        to_second += sent.to == member(2) ? 1U : 0U;
        if (sent.to == member(2)) {
            continue;
        }
        ByteReader reader(sent.payload);
        const auto* said = messages.answered(member(1), read_delta_head(reader), now);
        REQUIRE(said != nullptr);
        for (const SaidCounts& each : *said) {
            CHECK(said_in(decode_delta(reader)) == each);
            order.push_back(each.key.quota);
        }
        CHECK(reader.ok());
        CHECK(reader.remaining() == 0);
    }
    CHECK(to_second == 1);
    CHECK(sink.sent.size() == 4);  // 100 deltas of about 25 bytes in three, and the other owner's
    REQUIRE(order.size() == 100);
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(messages.answered(member(2), 1, now) == nullptr);
    CHECK(messages.answered(member(3), 0, now) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "the oldest message is forgotten, and so is an owner that is gone") {
    for (std::uint32_t i = 0; i <= DeltaMessages::kRemembered; ++i) {
        add(1, delta(i));
        messages.send_all(now);
    }
    CHECK(messages.answered(member(1), 0, now) == nullptr);
    CHECK(messages.answered(member(1), 1, now) != nullptr);
    messages.forget(member(1));
    CHECK(messages.answered(member(1), 1, now) == nullptr);
    sink.full = true;
    add(1, delta(1));
    messages.send_all(now);
    CHECK(dropped == 1);
}

TEST_CASE_FIXTURE(Fixture, "no more messages are under way than an owner has answered for") {
    for (std::size_t i = 0; i < DeltaMessages::kWindow; ++i) {
        CHECK(messages.has_room(member(1), now));
        say(1);
    }
    CHECK_FALSE(messages.has_room(member(1), now));
    CHECK(messages.has_room(member(2), now));
    now += 10ms;
    CHECK_FALSE(messages.has_room(member(1), now));
    REQUIRE(messages.answered(member(1), 3, now) != nullptr);
    CHECK(messages.has_room(member(1), now));
    say(1);
    CHECK_FALSE(messages.has_room(member(1), now));
    REQUIRE(messages.answered(member(1), 3, now) != nullptr);  // the rest of the answer
    CHECK_FALSE(messages.has_room(member(1), now));
    // What is lost holds nobody up for ever.
    now += messages.answer_wait(member(1));
    CHECK(messages.has_room(member(1), now));
}

TEST_CASE_FIXTURE(Fixture, "who does not answer is waited for twice as long after each window") {
    Duration longest = messages.answer_wait(member(1));
    CHECK(longest == AnswerTime::kShortest);
    std::size_t sent = 0;
    for (const Instant end = now + 60s; now < end; now += 10ms) {
        while (messages.has_room(member(1), now)) {
            say(1);
            ++sent;
        }
        CHECK(messages.answer_wait(member(1)) >= longest);
        longest = messages.answer_wait(member(1));
    }
    CHECK(longest >= 16 * AnswerTime::kShortest);
    CHECK(sent < 70 * DeltaMessages::kWindow);
    now += longest;
    say(1);
    now += 2ms;
    REQUIRE(messages.answered(member(1), static_cast<std::uint16_t>(sent), now) != nullptr);
    CHECK(messages.answer_wait(member(1)) == AnswerTime::kShortest);
}

TEST_CASE("the wait follows what answers take") {
    AnswerTime time;
    for (int i = 0; i < 50; ++i) {
        time.note(2ms);
    }
    CHECK(time.wait() == AnswerTime::kShortest);
    for (int i = 0; i < 50; ++i) {
        time.note(300ms);
    }
    CHECK(time.wait() > 550ms);
    CHECK(time.wait() <= 600ms);
    time.note(20ms);
    CHECK(time.wait() == AnswerTime::kShortest);
    time.note(100ms);  // one that was held up
    CHECK(time.wait() == AnswerTime::kShortest);
    for (int i = 0; i < 50; ++i) {
        time.note(10s);
    }
    CHECK(time.wait() == AnswerTime::kLongest);
}

TEST_CASE_FIXTURE(Fixture, "answers say nothing twice, say what differs, and may be none") {
    AnswerPacket answer(sink, member(9), 77, dropped);
    const auto first = delta(1);
    answer.add(said_in(first), total_for(first));
    const auto second = delta(2);
    answer.add(said_in(second), std::nullopt);  // refused: no answer
    const auto third = delta(3);
    TotalEntry other = total_for(third);
    other.admitted = 99;
    answer.add(said_in(third), other);
    answer.send();
    REQUIRE(sink.sent.size() == 1);
    ByteReader reader(sink.sent[0].payload);
    const AnswerHead head = read_answer_head(reader);
    CHECK(head.tag == 77);
    CHECK(head.first == 0);
    CHECK(decode_answer(reader, said_in(first)) == total_for(first));
    CHECK_FALSE(decode_answer(reader, said_in(second)).has_value());
    CHECK(decode_answer(reader, said_in(third)) == other);
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
    CHECK(sink.sent[0].payload.size() < 50);
}

TEST_CASE_FIXTURE(Fixture, "an answer that is too long goes on in another message") {
    AnswerPacket answer(sink, member(9), 5, dropped);
    for (std::uint32_t i = 0; i < 100; ++i) {
        const auto entry = delta(i);
        TotalEntry total = total_for(entry);
        total.admitted += 1;  // every cell differs
        answer.add(said_in(entry), total);
    }
    answer.send();
    REQUIRE(sink.sent.size() > 1);
    std::uint32_t next = 0;
    for (const Sink::Sent& sent : sink.sent) {
        ByteReader reader(sent.payload);
        const AnswerHead head = read_answer_head(reader);
        CHECK(head.tag == 5);
        CHECK(head.first == next);
        while (reader.remaining() > 0) {
            const auto entry = delta(next++);
            const auto total = decode_answer(reader, said_in(entry));
            REQUIRE(total.has_value());
            CHECK(total->admitted == entry.admitted + 1);
        }
    }
    CHECK(next == 100);
}

TEST_CASE("for how long answers may be held back does not count as the time that they take") {
    Sink sink;
    std::uint64_t dropped = 0;
    TaggedMessages<int, MessageType::quiet> messages(sink, dropped, 80ms);
    Instant now{std::chrono::seconds(10)};
    const auto answered_after = [&](Duration time) {
        messages.add(member(1), as_bytes("x"), 1, now);
        messages.send_all(now);
        ByteReader reader(sink.sent.back().payload);
        const std::uint16_t tag = read_delta_head(reader);
        now += time;
        REQUIRE(messages.answered(member(1), tag, now) != nullptr);
        return messages.answer_wait(member(1));
    };
    CHECK(answered_after(90ms) == 90ms);  // it may have been held back for half of the time
    CHECK(answered_after(10ms) == AnswerTime::kShortest);
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(answered_after(280ms));
    }
    CHECK(answered_after(280ms) > 395ms);
    CHECK(answered_after(280ms) <= 400ms);
}

TEST_CASE("a message whose answer may wait counts as lost so much later") {
    Sink sink;
    std::uint64_t dropped = 0;
    using Deltas = TaggedMessages<int, MessageType::delta>;
    Deltas messages(sink, dropped);
    const Instant now{std::chrono::seconds(10)};
    for (std::size_t i = 0; i < Deltas::kWindow; ++i) {
        messages.add(member(1), as_bytes("x"), 1, now, true);
        messages.send_all(now);
    }
    const Instant lost = now + messages.answer_wait(member(1)) + kAnswerMayWait;
    CHECK_FALSE(messages.has_room(member(1), lost - 1ms));
    CHECK(messages.has_room(member(1), lost));
}

TEST_CASE("an answer that may wait says nothing about the time that answers take") {
    Sink sink;
    std::uint64_t dropped = 0;
    TaggedMessages<int, MessageType::delta> messages(sink, dropped);
    Instant now{std::chrono::seconds(10)};
    const auto wait_after = [&](bool first_may_wait, bool second_may_wait) {
        messages.add(member(1), as_bytes("x"), 1, now, first_may_wait);
        messages.add(member(1), as_bytes("y"), 2, now, second_may_wait);
        messages.send_all(now);
        ByteReader reader(sink.sent.back().payload);
        const std::uint16_t tag = read_delta_head(reader);
        now += 200ms;
        REQUIRE(messages.answered(member(1), tag, now) != nullptr);
        return messages.answer_wait(member(1));
    };
    CHECK(wait_after(true, true) == AnswerTime::kShortest);
    CHECK(wait_after(true, false) == 400ms);  // one that may not wait has the message answered
    CHECK(wait_after(true, true) == 400ms);
}

}  // namespace
}  // namespace weir::sync
