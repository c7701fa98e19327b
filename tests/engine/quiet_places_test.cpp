// What an origin and a first owner say to each other of quiet limits, as datagrams: which place the
// owner gives to which limit, and what it answers to a message of all kinds of entries.

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sync/messages.h"
#include "two_members.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using gossip::MessageType;
using sync::QuietAnswer;
using sync::QuietEntry;

struct QuietMessage {
    std::uint16_t tag = 0;
    std::vector<QuietEntry> entries;
};

limiter::QuotaDefinition users() {
    limiter::QuotaDefinition definition;
    definition.name = "user/{id}";
    definition.limits = {{.amount = 1000, .period = 1h}};
    return definition;
}

/// What two members say to each other of quiet limits.
struct QuietPair : test::TwoMembers {
    QuietPair() : TwoMembers(users()) { run(3s); }
    /// Gives the owner a message that the origin has not sent.
    void invent(const QuietMessage& message) {
        std::array<std::byte, gossip::kMaximumDatagram> bytes{};
        ByteWriter payload(bytes);
        sync::write_delta_head(payload, message.tag);
        for (const QuietEntry& entry : message.entries) {
            sync::encode(payload, entry);
        }
        TwoMembers::invent(MessageType::quiet, payload.written());
    }
    void read(std::size_t from, const gossip::Message& message) override {
        ByteReader payload(message.payload);
        if (from == 1 && message.type == MessageType::quiet) {
            QuietMessage quiet{sync::read_delta_head(payload), {}};
            while (payload.remaining() > 0) {
                quiet.entries.push_back(sync::decode_quiet(payload));
            }
            told.push_back(quiet);
        } else if (from == 0 && message.type == MessageType::quiet_answer) {
            answered.push_back(sync::decode_quiet_answer(payload));
        }
        CHECK(payload.ok());
    }

    std::vector<QuietMessage> told;     // by the origin
    std::vector<QuietAnswer> answered;  // by the owner
};

/// The place that the owner gave to each run, as the answers have them in order.
std::map<std::uint32_t, std::uint32_t> places_of_runs(const QuietPair& fleet) {
    std::map<std::uint32_t, std::uint32_t> places;
    for (const QuietMessage& message : fleet.told) {
        for (const QuietAnswer& answer : fleet.answered) {
            if (answer.tag != message.tag) {
                continue;
            }
            REQUIRE(answer.left.empty());
            REQUIRE(answer.places.size() == message.entries.size());
            for (std::size_t i = 0; i < message.entries.size(); ++i) {
                places[message.entries[i].run] = static_cast<std::uint32_t>(answer.places[i]);
            }
        }
    }
    return places;
}

TEST_CASE("an origin tells of each limit by the place that its owner gave to that limit") {
    QuietPair fleet;
    const auto use_all = [&fleet] {
        for (int name = 0; name < 40; ++name) {
            fleet.use("user/" + std::to_string(name));
        }
    };
    use_all();
    fleet.run(3s);
    const auto places = places_of_runs(fleet);
    CHECK(places.size() >= 10);  // the other limits are the origin's own as their first owner
    CHECK(places.size() < 40);
    fleet.run(14s);
    use_all();  // what is not used for half a minute is forgotten
    fleet.run(16s);
    fleet.told.clear();
    use_all();
    fleet.run(3s);
    std::size_t by_place = 0;
    for (const QuietMessage& message : fleet.told) {
        for (const QuietEntry& entry : message.entries) {
            REQUIRE(places.count(entry.run) == 1);
            CHECK(entry.place == places.at(entry.run));
            CHECK(entry.limit_rate == 0);
            ++by_place;
        }
    }
    CHECK(by_place == places.size());
}

TEST_CASE(
    "of a message with all kinds of entries those without a key have no place in the answer") {
    QuietPair fleet;
    for (int name = 0; name < 40; ++name) {
        fleet.use("user/" + std::to_string(name));
    }
    fleet.run(3s);
    REQUIRE_FALSE(fleet.told.empty());
    const auto places = places_of_runs(fleet);
    const QuietEntry known = fleet.told.front().entries.front();
    const std::uint32_t place = places.at(known.run);
    REQUIRE(place > 0);
    QuietEntry placed = known;
    placed.place = place;
    QuietEntry of_another_run = placed;
    of_another_run.run = known.run + 1000;
    QuietEntry of_a_later_kind = known;
    of_a_later_kind.key.kind = 5;
    QuietEntry impossible = known;
    impossible.fresh = impossible.untold + 1;
    fleet.answered.clear();
    fleet.invent({0x7777, {of_a_later_kind, placed, known, of_another_run, impossible}});
    fleet.run(40ms);  // what names an entry that was not taken in does not wait
    REQUIRE(fleet.answered.size() == 1);
    const QuietAnswer& answer = fleet.answered.front();
    CHECK(answer.tag == 0x7777);
    CHECK(answer.left == std::vector<std::uint64_t>{3});
    CHECK(answer.places == std::vector<std::uint64_t>{0, place, 0});
}

}  // namespace
}  // namespace weir::engine
