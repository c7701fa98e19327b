#pragma once
// One member of the fleet: the limiter composed with membership, the counter synchronisation of the
// fleet (reporter and owner) and the exchange of quota definitions. Datagrams, instants and a seed
// go in; datagrams to send come out. No socket, no clock, no thread.
//
// Thread-safety: none; everything here belongs to one control thread. Only the Limiter is shared
// with the workers, which it allows. Ownership: the engine borrows the Limiter, which must outlive
// it, and owns everything else.
//
// How to drive it: start() once; receive() for every datagram; tick() at next_tick() (every 10 ms),
// after reading what waits in the socket; after each of them send what take_outgoing() gives.
// goodbye() before the end, then send what it gave. A tick later than 0.5 s is taken for a stop of
// the process: the engine then discards datagrams which waited and asks its peers anew.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/instant.h"
#include "engine/reports.h"
#include "engine/statistics.h"
#include "membership/settings.h"
#include "sync/settings.h"

namespace weir::limiter {
class Limiter;
}
namespace weir::gossip {
class NonceSource;
}

namespace weir::definitions {
class DefinitionPull;
class DefinitionServe;
class DefinitionStore;
}  // namespace weir::definitions

namespace weir::sync {
class CounterExchange;
}

namespace weir::engine {

/// A datagram to be sent.
struct Outgoing {
    Endpoint to;
    std::vector<std::byte> bytes;
};

using GossipKey = std::array<std::byte, 32>;

struct Options {
    /// Datagrams of another cluster are refused.
    std::string cluster_name;
    /// The address under which the peers reach us; also our identity, with a random incarnation.
    Endpoint advertise;
    /// Keys that are accepted, at most two; the first one seals. None: unsealed (`insecure: true`).
    std::vector<GossipKey> keys;
    /// Without a cluster every limit is local, nothing is ever sent.
    bool clustered = true;
    /// Preferred as owner.
    bool anchor = false;
    /// Where the seal's nonces come from. nullptr: the system's generator, the only choice for real
    /// traffic; the simulator gives a seeded one. Must outlive the engine.
    gossip::NonceSource* nonces = nullptr;
    sync::SyncSettings sync;
    membership::MembershipSettings membership{};
    /// Of membership's usual bytes a second: for small fleets that stand for large ones.
    double membership_bytes_share = 1;
};

class Engine {
  public:
    /// `seed` feeds every random choice, the incarnation among them: at start-up it must come from
    /// the system's entropy (net does that), in the simulator from the run's seed.
    Engine(Options options, limiter::Limiter& limiter, std::uint64_t seed);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void start(Instant now);
    /// A datagram as it came from the socket; everything wrong with it is counted, never answered.
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    /// A host says that nobody listens at this address (an ICMP port unreachable). Only a hint: who
    /// is there is asked, and provisionally taken for dead if the question is refused too.
    void refused(const Endpoint& address, Instant now);
    void tick(Instant now);
    [[nodiscard]] Instant next_tick() const;
    /// What is to be sent since the last call, oldest first.
    [[nodiscard]] std::vector<Outgoing> take_outgoing();

    /// The addresses found by the latest look-up of the configured seeds; own address allowed.
    void set_seeds(std::vector<Endpoint> seeds);
    /// Keys of a rotation; the first one seals. At most two are kept.
    void set_keys(const std::vector<GossipKey>& keys);
    /// Says goodbye, hands over what it owns. After it only take_outgoing() is of use.
    void goodbye(Instant now);

    [[nodiscard]] std::vector<PeerReport> peers(Instant now) const;
    /// Nothing when this sidecar has no live instance of that name.
    [[nodiscard]] std::optional<QuotaReport> quota_status(std::string_view name, Instant now);
    [[nodiscard]] Statistics statistics() const;
    [[nodiscard]] SealStatus seal_status(Instant now) const;
    /// The limits in use of whose owners was heard longest ago, at most so many.
    [[nodiscard]] std::vector<sync::LimitSilence> silences(std::size_t most, Instant now) const;
    /// Of the keys in use, the one that seals first.
    [[nodiscard]] std::vector<std::uint32_t> key_ids() const;
    [[nodiscard]] std::uint64_t incarnation() const;

    /// Bulk exchange of definitions over streams (definitions/stream.h), if whoever drives the
    /// engine offers it: next() and receive() of these are called as long as they live, which must
    /// not be longer than the engine does.
    void set_bulk(bool possible);
    /// The next thing to be pulled: connect to its wish().from. end_pull() must follow.
    [[nodiscard]] std::unique_ptr<definitions::DefinitionPull> take_pull();
    void end_pull(definitions::DefinitionPull& pull, Instant now);
    /// For a connection that came in.
    [[nodiscard]] std::unique_ptr<definitions::DefinitionServe> serve_pull();

    /// The quota definitions of file and API layer; changes made here spread by themselves.
    [[nodiscard]] definitions::DefinitionStore& definitions();

    /// Owner, reporter and silence, for checkers, which read and change nothing.
    [[nodiscard]] const sync::CounterExchange& counters() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace weir::engine
