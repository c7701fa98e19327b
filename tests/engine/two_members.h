#pragma once
// Two engines on a virtual clock, of which the second one uses limits. They have no key, so that
// their messages can be read, and the first one can be given some that the second has not sent.
// For tests. Owns its members; not thread-safe.

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "engine_member.h"
#include "gossip/wire.h"
#include "sim/quota_set.h"

namespace weir::engine::test {

using namespace std::chrono_literals;

class TwoMembers {
  public:
    explicit TwoMembers(const limiter::QuotaDefinition& definition) {
        for (std::uint32_t number = 0; number < 2; ++number) {
            members_.push_back(std::make_unique<EngineMember>(number, false, now, 0));
            REQUIRE(sim::put_quota(members_[number]->limiter, definition, now).empty());
            members_[number]->engine->start(now);
        }
    }
    virtual ~TwoMembers() = default;
    /// True if the request was admitted at the second member.
    bool use(std::string_view name) {
        EngineMember& origin = *members_[1];
        const auto leaf = origin.limiter.find(*origin.thread, name, now);
        const auto decision =
            origin.limiter.check(*origin.thread, leaf, {}, now, limiter::CheckMode::charge);
        origin.limiter.quiescent(*origin.thread);
        return decision.admitted;
    }
    void run(Duration time) {
        for (const Instant end = now + time; now < end; now += 10ms) {
            for (std::size_t from = 0; from < 2; ++from) {
                members_[from]->engine->set_wall_clock(Duration(1'700'000'000s));
                members_[from]->engine->tick(now);
                hand_over(from);
            }
        }
    }
    /// Gives the first member a message that the second one has not sent.
    void invent(gossip::MessageType type, ByteSpan payload) {
        std::array<std::byte, gossip::kMaximumDatagram> datagram{};
        ByteWriter writer(datagram);
        writer.bytes(clear_header_);
        gossip::Envelope envelope = of_second_;
        envelope.sequence = 1'000'000 + invented_++;
        encode(writer, envelope);
        gossip::write_message(writer, type, payload);
        members_[0]->engine->receive(writer.written(), members_[1]->address, now);
        hand_over(0);
    }
    /// Sees each message that the member with this number sends.
    virtual void read(std::size_t from, const gossip::Message& message) = 0;

    Instant now{1h};

  private:
    void hand_over(std::size_t from) {
        for (const Outgoing& one : members_[from]->engine->take_outgoing()) {
            read_all(from, one.bytes);
            members_[1 - from]->engine->receive(one.bytes, members_[from]->address, now);
            hand_over(1 - from);
        }
    }
    void read_all(std::size_t from, ByteSpan datagram) {
        ByteReader reader(datagram.subspan(gossip::kClearHeader));
        const gossip::Envelope envelope = gossip::decode_envelope(reader);
        if (from == 1 && envelope.receiver != 0) {
            of_second_ = envelope;
            clear_header_.assign(datagram.begin(), datagram.begin() + gossip::kClearHeader);
        }
        while (const auto message = gossip::next_message(reader)) {
            read(from, *message);
        }
    }

    std::vector<std::unique_ptr<EngineMember>> members_;
    std::vector<std::byte> clear_header_;
    gossip::Envelope of_second_;
    std::uint64_t invented_ = 0;
};

}  // namespace weir::engine::test
