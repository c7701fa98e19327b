// The lanes of a transport have budgets of their own.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "membership/transport.h"
#include "membership/virtual_network.h"

namespace weir::membership {
namespace {

using namespace test;

/// A transport with budgets of its own, which knows one member.
class Sender {
  public:
    explicit Sender(const std::function<void(TransportSettings&)>& adjust)
        : transport_(settings_with(adjust), world_.keys, nonces_, Random(2)) {
        world_.start(1, {address_of(0)});
        transport_.start(world_.now());
        world_.on_tick = [this](std::size_t, Node&) {
            transport_.tick(world_.now());
            for (OutgoingDatagram& datagram : flush()) {
                world_.inject(address_of(0), datagram.to, std::move(datagram.bytes));
            }
        };
        world_.tap = [this](const Endpoint& from, const Endpoint& to, ByteSpan bytes) {
            if (to == address_of(0)) {
                (void)transport_.receive(bytes, from, world_.now());
            }
        };
        world_.run(3s);
        REQUIRE(transport_.membership().live_count() == 1);
    }
    /// Ten messages that fill a datagram each.
    void queue(gossip::MessageType type) {
        const std::string large(1000, 'x');
        for (int i = 0; i < 10; ++i) {
            transport_.send(peer(), type, as_bytes(large));
        }
    }
    void ask_peer() { transport_.question(peer(), world_.now()); }
    /// The peer's ping arrives.
    void be_asked() {
        world_.at(1).question(transport_.self(), world_.now());
        for (const OutgoingDatagram& datagram : world_.at(1).flush(world_.now())) {
            (void)transport_.receive(datagram.bytes, address_of(1), world_.now());
        }
    }
    std::vector<OutgoingDatagram> flush() { return transport_.flush(world_.now()); }
    [[nodiscard]] std::uint64_t dropped(gossip::Lane lane) const {
        return transport_.counters().dropped[static_cast<std::size_t>(lane)];
    }
    [[nodiscard]] std::uint64_t sent(gossip::MessageType type) const {
        return transport_.counters().messages_out[static_cast<std::size_t>(type)];
    }

  private:
    static TransportSettings settings_with(const std::function<void(TransportSettings&)>& adjust) {
        TransportSettings settings;
        settings.cluster_name = "test";
        settings.self = address_of(0);
        adjust(settings);
        return settings;
    }
    [[nodiscard]] gossip::MemberId peer() { return world_.at(1).self(); }

    VirtualNetwork world_{9};
    gossip::SeededNonces nonces_{Random(1)};
    Transport transport_;
};

TEST_CASE("lanes have budgets of their own: definitions take nothing from counters") {
    Sender sender([](TransportSettings& settings) { settings.definition_budget = {1000, 3000}; });
    sender.queue(gossip::MessageType::document_page);
    sender.queue(gossip::MessageType::delta);
    CHECK(sender.flush().size() == 12);  // all deltas, and what the budget of definitions allows
    CHECK(sender.dropped(gossip::Lane::definitions) == 8);
    CHECK(sender.dropped(gossip::Lane::counters) == 0);
}

TEST_CASE("lanes have budgets of their own: chatter of members takes nothing from counters") {
    Sender sender([](TransportSettings& settings) { settings.membership_budget = {1, 10'000}; });
    for (int i = 0; i < 200 && sender.dropped(gossip::Lane::membership) == 0; ++i) {
        sender.ask_peer();
        (void)sender.flush();
    }
    REQUIRE(sender.dropped(gossip::Lane::membership) > 0);
    sender.queue(gossip::MessageType::delta);
    CHECK(sender.flush().size() == 10);
    CHECK(sender.dropped(gossip::Lane::counters) == 0);
}

TEST_CASE("lanes have budgets of their own: counters take nothing from membership") {
    Sender sender([](TransportSettings& settings) { settings.counter_budget = {1000, 3000}; });
    sender.queue(gossip::MessageType::delta);
    (void)sender.flush();
    REQUIRE(sender.dropped(gossip::Lane::counters) > 0);
    const std::uint64_t answers = sender.sent(gossip::MessageType::answer);
    sender.be_asked();
    CHECK_FALSE(sender.flush().empty());
    CHECK(sender.sent(gossip::MessageType::answer) == answers + 1);
    CHECK(sender.dropped(gossip::Lane::membership) == 0);
}

}  // namespace
}  // namespace weir::membership
