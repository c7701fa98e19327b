// A peer that has the key and says whatever it likes: membership stays within its bounds, and none
// of its invariants (WEIR_ASSERT, which would end this program) breaks.
#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "membership/virtual_network.h"

namespace weir::membership {
namespace {

using namespace test;
using Type = gossip::MessageType;

constexpr std::array kTypes{Type::ping,
                            Type::answer,
                            Type::ping_request,
                            Type::indirect_answer,
                            Type::indirect_failure,
                            Type::member_updates,
                            Type::member_list_ask,
                            Type::member_list,
                            Type::obituary,
                            Type::hints};

/// Draws messages about few members, so that they contradict each other all the time.
class Liar {
  public:
    Liar(std::uint64_t seed, std::size_t addresses)
        : random_(seed),
          addresses_(addresses),
          membership_(MembershipSettings{}, address_of(0), {}, random_.fork()) {
        membership_.start(now_);
        membership_.set_seeds({address_of(1), address_of(2)});
    }

    void step() {
        now_ += step_time();
        if (random_.below(4) == 0) {
            membership_.tick(now_);
        }
        const gossip::MemberId sender = other(id());
        const MessageOrigin origin{sender, random_.below(8) == 0 ? address() : sender.address,
                                   random_.below(4) != 0, random_.below(gossip::kMaximumBody + 1)};
        switch (random_.below(6)) {
            case 0:
                membership_.met(origin, now_);
                break;
            case 1:
                membership_.heard(sender, now_);
                membership_.question(id(), now_);
                break;
            default:
                lie(origin);
        }
        listen();
    }

    [[nodiscard]] const Membership& membership() const { return membership_; }

  private:
    /// Mostly moments; sometimes a pause, and seldom more than the dead are remembered.
    Duration step_time() {
        const std::uint64_t drawn = random_.below(1000);
        return drawn == 0 ? 2h : drawn < 5 ? 1s : std::chrono::milliseconds(random_.below(30));
    }
    Endpoint address() { return address_of(random_.below(addresses_)); }
    gossip::MemberId id() {
        const std::uint64_t drawn = random_.below(8);
        return drawn == 0 ? membership_.self() : gossip::MemberId{address(), 1 + drawn % 3};
    }
    /// The transport drops what claims to be from our own incarnation.
    gossip::MemberId other(gossip::MemberId claimed) {
        claimed.incarnation += claimed.incarnation == membership_.self().incarnation ? 1U : 0U;
        return claimed;
    }
    std::uint64_t counter() {
        constexpr std::array<std::uint64_t, 6> values{
            0, 1, 2, 1ULL << 32, (1ULL << 32) + 2, std::numeric_limits<std::uint64_t>::max()};
        return values[random_.below(values.size())];
    }
    std::uint64_t nonce() {
        return nonces_.empty() || random_.below(4) == 0 ? random_.below(3)
                                                        : nonces_[random_.below(nonces_.size())];
    }
    MemberFlags flags() { return {random_.below(2) == 0, random_.below(2) == 0}; }
    MemberUpdate update() {
        return {id(), static_cast<MemberState>(random_.below(kMemberStates)), flags(), counter(),
                random_.below(4)};
    }

    void lie(const MessageOrigin& origin) {
        std::array<std::byte, gossip::kMaximumPayload> payload{};
        ByteWriter writer(payload);
        const Type type = kTypes[random_.below(kTypes.size())];
        write(type, writer);
        if (writer.size() > 0 && random_.below(16) == 0) {
            payload[random_.below(writer.size())] = static_cast<std::byte>(random_.below(256));
        }
        const std::size_t size =
            random_.below(16) == 0 ? random_.below(writer.size() + 1) : writer.size();
        (void)membership_.receive(origin, {type, ByteSpan(payload).first(size)}, now_);
    }
    void write(Type type, ByteWriter& writer) {
        switch (type) {
            case Type::ping:
                return encode(writer, Ping{nonce(), random_.below(3), 7});
            case Type::answer:
                return encode(writer, PingAnswer{nonce(), random_.below(3), flags(), counter()});
            case Type::ping_request:
                return encode(writer, PingRequest{nonce(), id()});
            case Type::indirect_answer:
            case Type::indirect_failure:
                return encode(writer, IndirectAnswer{nonce()});
            case Type::member_updates:
                for (std::uint64_t i = random_.below(20); i > 0; --i) {
                    encode(writer, update());
                }
                return;
            case Type::member_list_ask:
                return encode(writer,
                              MemberListAsk{random_.below(2) == 0 ? Endpoint{} : address()});
            case Type::member_list:
                return encode(writer, MemberList{random_.below(2) == 0, {update(), update()}});
            case Type::obituary:
                return encode(writer, Obituary{id().incarnation});
            default:
                return writer.u64(random_.next());
        }
    }

    /// Remembers the random numbers of pings, so that many answers and failures count.
    void listen() {
        for (const MembershipDatagram& datagram : membership_.take_datagrams()) {
            CHECK(!datagram.body.empty());
            CHECK(datagram.body.size() <= gossip::kMaximumBody);
            ByteReader reader(datagram.body);
            while (const auto message = gossip::next_message(reader)) {
                if (message->type == Type::ping || message->type == Type::ping_request) {
                    ByteReader inside(message->payload);
                    nonces_.push_back(inside.u64());
                }
            }
        }
        if (nonces_.size() > 32) {
            nonces_.erase(nonces_.begin(), nonces_.end() - 32);
        }
        (void)membership_.take_events();
    }

    Random random_;
    std::size_t addresses_;
    Instant now_{1h};
    std::vector<std::uint64_t> nonces_;
    Membership membership_;
};

TEST_CASE("whatever a peer with the key says, membership's invariants hold") {
    MembershipCounters all;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        Liar liar(seed, 6);
        for (int i = 0; i < 20'000; ++i) {
            liar.step();
        }
        CHECK(liar.membership().live_count() <= kMaximumMembers);
        CHECK(liar.membership().dead_table_size() <= DeadTable::kCapacity);
        const MembershipCounters& counters = liar.membership().counters();
        all.suspicions += counters.suspicions;
        all.refutations += counters.refutations;
        all.deaths += counters.deaths;
        all.renewals += counters.renewals;
        all.pauses += counters.pauses;
        all.conflicts += counters.conflicts;
        all.failed_probes += counters.failed_probes;
    }
    // The lies reached what they were to reach.
    CHECK(all.suspicions > 0);
    CHECK(all.refutations > 0);
    CHECK(all.deaths > 0);
    CHECK(all.renewals > 0);
    CHECK(all.pauses > 0);
    CHECK(all.conflicts > 0);
    CHECK(all.failed_probes > 0);
}

}  // namespace
}  // namespace weir::membership
