// Deltas and their answers in packets: order, tags, and what each side may leave out.
#include "sync/delta_packets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

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

struct Fixture {
    Sink sink;
    std::uint64_t dropped = 0;
    DeltaPackets packets{sink, dropped};
};

TEST_CASE_FIXTURE(Fixture, "the deltas of a tick for one owner share messages, each with a tag") {
    for (std::uint32_t i = 0; i < 100; ++i) {
        packets.add(member(1), delta(i));
        if (i < 3) {
            packets.add(member(2), delta(i));
        }
    }
    packets.send_all();
    packets.send_all();
    std::vector<std::uint64_t> order;
    std::size_t to_second = 0;
    for (const Sink::Sent& sent : sink.sent) {
        CHECK(sent.type == MessageType::delta);
        to_second += sent.to == member(2) ? 1U : 0U;
        if (sent.to == member(2)) {
            continue;
        }
        ByteReader reader(sent.payload);
        const auto* said = packets.find(member(1), read_delta_head(reader));
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
    CHECK(packets.find(member(2), 1) == nullptr);
    CHECK(packets.find(member(3), 0) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "the oldest message is forgotten, and so is an owner that is gone") {
    for (std::uint32_t i = 0; i <= DeltaPackets::kRemembered; ++i) {
        packets.add(member(1), delta(i));
        packets.send_all();
    }
    CHECK(packets.find(member(1), 0) == nullptr);
    CHECK(packets.find(member(1), 1) != nullptr);
    packets.forget(member(1));
    CHECK(packets.find(member(1), 1) == nullptr);
    sink.full = true;
    packets.add(member(1), delta(1));
    packets.send_all();
    CHECK(dropped == 1);
}

TEST_CASE_FIXTURE(Fixture, "answers say nothing twice, say what differs, and may be none") {
    AnswerPacket answer(sink, member(9), 77, dropped);
    const auto first = delta(1);
    answer.expect(first);
    CHECK_FALSE(answer.add(member(8), total_for(first)));  // a publication to somebody else
    CHECK_FALSE(answer.add(member(9), total_for(delta(2))));
    CHECK(answer.add(member(9), total_for(first)));
    CHECK_FALSE(answer.add(member(9), total_for(first)));  // a second one goes by itself
    answer.next();
    const auto second = delta(2);
    answer.expect(second);
    answer.next();  // refused: no answer
    const auto third = delta(3);
    TotalEntry other = total_for(third);
    other.admitted = 99;
    answer.expect(third);
    CHECK(answer.add(member(9), other));
    answer.next();
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
        answer.expect(entry);
        CHECK(answer.add(member(9), total));
        answer.next();
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

}  // namespace
}  // namespace weir::sync
