// When an owner answers delta messages whose answers may wait, and what it answers to entries that
// it has refused.

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <vector>

#include "sync/messages.h"
#include "two_members.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using gossip::MessageType;
using sync::DeltaEntry;
using sync::TotalEntry;

limiter::QuotaDefinition hot() {
    limiter::QuotaDefinition definition;
    definition.name = "q";
    definition.limits = {{.amount = 100, .period = 1s}};
    return definition;
}

struct DeltaPair : test::TwoMembers {
    static constexpr std::uint16_t kFirstTag = 0x7777;

    DeltaPair() : TwoMembers(hot()) {
        run(3s);
        for (int i = 0; i < 100; ++i) {
            static_cast<void>(use("q"));
            static_cast<void>(use("q"));
            run(10ms);
        }
        run(8s);  // by then the second member tells nothing of it any more
        REQUIRE(known.run != 0);
    }
    void invent(const std::vector<DeltaEntry>& entries) {
        const auto tag = static_cast<std::uint16_t>(kFirstTag + said.size());
        said.push_back(entries);
        answers.emplace_back();
        std::array<std::byte, gossip::kMaximumDatagram> bytes{};
        ByteWriter payload(bytes);
        sync::write_delta_head(payload, tag);
        for (const DeltaEntry& entry : entries) {
            sync::encode(payload, entry);
        }
        TwoMembers::invent(MessageType::delta, payload.written());
    }
    void read(std::size_t from, const gossip::Message& message) override {
        ByteReader payload(message.payload);
        if (from == 1 && message.type == MessageType::delta) {
            static_cast<void>(sync::read_delta_head(payload));
            known = sync::decode_delta(payload);
        } else if (from == 0 && message.type == MessageType::delta_answer) {
            read_answer(payload);
        }
    }
    void read_answer(ByteReader& payload) {
        const sync::AnswerHead head = sync::read_answer_head(payload);
        const std::size_t number = head.tag - std::size_t{kFirstTag};
        if (head.tag < kFirstTag || number >= said.size()) {
            return;
        }
        CHECK(answers[number].empty());
        for (const DeltaEntry& each : said[number]) {
            answers[number].push_back(sync::decode_answer(payload, sync::said_in(each)));
        }
        CHECK(payload.ok());
        CHECK(payload.remaining() == 0);
    }

    DeltaEntry known;                           // the last one that the second member told
    std::vector<std::vector<DeltaEntry>> said;  // by each message that was invented
    std::vector<std::vector<std::optional<TotalEntry>>> answers;
};

TEST_CASE("an answer that may wait does, and says nothing of what was refused") {
    DeltaPair fleet;
    DeltaEntry good = fleet.known;
    good.answer_may_wait = true;
    DeltaEntry impossible = good;
    impossible.run = 0;
    fleet.invent({good, impossible});
    fleet.run(sync::kAnswerMayWait - 20ms);
    CHECK(fleet.answers[0].empty());
    fleet.run(40ms);
    REQUIRE(fleet.answers[0].size() == 2);
    REQUIRE(fleet.answers[0][0].has_value());
    CHECK(fleet.answers[0][0]->admitted == good.admitted);
    CHECK_FALSE(fleet.answers[0][1].has_value());
}

TEST_CASE("a message is answered at once if one of its deltas does not let the answer wait") {
    DeltaPair fleet;
    DeltaEntry patient = fleet.known;
    patient.answer_may_wait = true;
    const DeltaEntry urgent = fleet.known;
    fleet.invent({patient});
    CHECK(fleet.answers[0].empty());
    fleet.invent({patient, urgent});
    REQUIRE(fleet.answers[1].size() == 2);
    CHECK(fleet.answers[1][0].has_value());
    CHECK(fleet.answers[1][1].has_value());
    CHECK(fleet.answers[0].size() == 1);  // it goes along
}

}  // namespace
}  // namespace weir::engine
