#pragma once
// A fleet whose members only exchange definitions and vote about their files, with virtual time.
// Not thread-safe.

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "definitions/codec.h"
#include "definitions/exchange.h"
#include "definitions/file_votes.h"
#include "definitions/quota.h"
#include "definitions/store.h"

namespace weir::definitions::test {

using gossip::MemberId;
using gossip::MessageSink;
using gossip::MessageType;

inline const std::string kVotedSet = "limits";

/// A fleet whose members know of each other at once. What membership would tell is given here.
class VotingFleet {
  public:
    explicit VotingFleet(std::size_t size, std::uint64_t seed = 1) : random_(seed) {
        for (std::size_t i = 0; i < size; ++i) {
            start(i);
        }
    }

    struct Member final : MessageSink {
        Member(VotingFleet& owner, std::size_t place, std::uint64_t incarnation)
            : fleet(owner),
              number(place),
              id{Endpoint::v4(0x0a000001 + static_cast<std::uint32_t>(place), 7946), incarnation},
              store(incarnation),
              exchange(store, Random(incarnation)) {
            exchange.set_self(id);
        }
        bool send(const MemberId& to, MessageType type, ByteSpan payload) override {
            ++fleet.messages;
            fleet.bytes += payload.size();
            fleet.queue_.push_back(
                {fleet.now + kDelay, id, to, type, {payload.begin(), payload.end()}});
            return true;
        }
        VotingFleet& fleet;
        std::size_t number;
        MemberId id;
        DefinitionStore store;
        DefinitionExchange exchange;
    };

    /// A process begins at this address, in place of the one that was there.
    Member& start(std::size_t number) {
        const bool replaces = members.contains(number);
        const MemberId before = replaces ? members.at(number)->id : MemberId{};
        members[number] = std::make_unique<Member>(*this, number, ++incarnations_);
        for (auto& [other, member] : members) {
            if (replaces) {
                member->exchange.note_gone(before);
            }
        }
        return *members[number];
    }
    void kill(std::size_t number) { members.erase(number); }
    void leave(std::size_t number) {
        const MemberId id = members.at(number)->id;
        members.erase(number);
        for (auto& [other, member] : members) {
            member->exchange.note_gone(id);
        }
    }

    /// The file of the member has a quota with this rate.
    void write(std::size_t number, double rate) { write(number, {quota("q", rate)}); }
    void write(std::size_t number, const std::vector<limiter::QuotaDefinition>& quotas,
               std::optional<std::uint64_t> generation = std::nullopt,
               const std::string& set = kVotedSet) {
        DefinitionStore& store = members.at(number)->store;
        auto encoded = encode_document(quotas);
        REQUIRE(encoded.has_value());
        const std::uint64_t content = document_hash(*encoded);
        store.files().note_bad(false);
        store.files().put(
            set, {generation, content, std::make_shared<const std::vector<std::byte>>(*encoded)});
        static_cast<void>(
            store.apply_document({set, generation.value_or(kUndecided), quotas}, now));
    }
    void write_all(double rate) {
        for (auto& [number, member] : members) {
            write(number, rate);
        }
    }
    void run(Duration time) {
        const Instant end = now + time;
        while (now < end) {
            step();
        }
    }
    bool run_until(Duration most, const std::function<bool()>& done) {
        const Instant end = now + most;
        while (now < end && !done()) {
            step();
        }
        return done();
    }

    [[nodiscard]] double rate(std::size_t number) const {
        const auto found = members.at(number)->store.find("q", now);
        return found && found->definition ? found->definition->limits[0].amount : 0;
    }
    /// How many members have this rate in force.
    [[nodiscard]] std::size_t with(double wanted) const {
        return static_cast<std::size_t>(
            std::count_if(members.begin(), members.end(),
                          [&](const auto& one) { return rate(one.first) == wanted; }));
    }
    [[nodiscard]] bool all(double wanted) const { return with(wanted) == members.size(); }
    [[nodiscard]] std::uint64_t epoch(std::size_t number) const {
        for (const SetStatus& set : members.at(number)->store.sets()) {
            if (set.set == kVotedSet) {
                return epoch_of(*set.generation);
            }
        }
        return 0;
    }
    /// The numbers of the members that do not count the votes.
    [[nodiscard]] std::vector<std::size_t> without_count() const {
        std::vector<MemberId> ids;
        for (const auto& [number, member] : members) {
            ids.push_back(member->id);
        }
        const auto collectors = collectors_of(std::span(ids).subspan(1), ids.front());
        std::vector<std::size_t> found;
        for (const auto& [number, member] : members) {
            if (std::find(collectors.begin(), collectors.end(), member->id) == collectors.end()) {
                found.push_back(number);
            }
        }
        return found;
    }
    [[nodiscard]] bool differ(std::size_t number) const {
        return !members.at(number)->exchange.differences().empty();
    }
    [[nodiscard]] std::uint64_t counts_sent() const {
        std::uint64_t sum = 0;
        for (const auto& [number, member] : members) {
            sum += member->exchange.counters().set_counts_sent;
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t decisions() const {
        std::uint64_t sum = 0;
        for (const auto& [number, member] : members) {
            sum += member->exchange.counters().sets_decided;
        }
        return sum;
    }

    Instant now{std::chrono::hours(1)};
    std::map<std::size_t, std::unique_ptr<Member>> members;
    double loss = 0;
    std::function<bool(std::size_t, std::size_t)> passes = [](auto, auto) { return true; };
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;

  private:
    static constexpr Duration kTick = std::chrono::milliseconds(100);
    static constexpr Duration kDelay = std::chrono::milliseconds(5);

    struct Datagram {
        Instant at;
        MemberId from;
        MemberId to;
        MessageType type{};
        std::vector<std::byte> bytes;
    };

    void step() {
        now += kTick / 4;
        while (!queue_.empty() && queue_.front().at <= now) {
            const Datagram datagram = std::move(queue_.front());
            queue_.pop_front();
            deliver(datagram);
        }
        if (++steps_ % 4 == 0) {
            tick();
        }
    }
    void deliver(const Datagram& datagram) {
        const std::size_t to = number_of(datagram.to);
        const auto receiver = members.find(to);
        const std::size_t from = number_of(datagram.from);
        if (receiver == members.end() || receiver->second->id != datagram.to || !passes(from, to) ||
            random_.unit() < loss) {
            return;
        }
        const bool live = members.contains(from) && members.at(from)->id == datagram.from;
        if (live && !receiver->second->exchange.receive(datagram.from, datagram.type,
                                                        datagram.bytes, now, *receiver->second)) {
            FAIL("a message does not decode");  // a check for each would take most of the time
        }
    }
    void tick() {
        for (auto& [number, member] : members) {
            // As in a fleet of more than 64, where the exchange has its turn less often.
            if (members.size() > 64 && (steps_ / 4 + number) % 5 != 0) {
                continue;
            }
            std::vector<MemberId> peers;
            for (const auto& [other, peer] : members) {
                if (other != number && passes(number, other)) {
                    peers.push_back(peer->id);
                }
            }
            member->store.tick(now);
            member->exchange.tick(now, peers, *member);
        }
    }
    static std::size_t number_of(const MemberId& id) {
        const auto& octets = id.address.address;
        return (std::size_t{octets[13]} << 16U | std::size_t{octets[14]} << 8U | octets[15]) - 1;
    }

    Random random_;
    std::uint64_t incarnations_ = 0;
    std::uint64_t steps_ = 0;
    std::deque<Datagram> queue_;
};

/// All have had a file with this rate for so long that the fleet has decided.
inline void settle(VotingFleet& fleet, double rate) {
    fleet.write_all(rate);
    REQUIRE(fleet.all(rate));  // nothing was in force, so nobody waits
    fleet.run(std::chrono::seconds(25));
    REQUIRE(fleet.all(rate));
    REQUIRE(fleet.epoch(0) == 1);
}

}  // namespace weir::definitions::test
