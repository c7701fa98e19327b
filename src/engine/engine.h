#pragma once
// One member of the fleet: the limiter composed with membership, the counter synchronisation of the
// fleet (reporter and owner) and the exchange of quota definitions. Datagrams, instants and a seed
// go in; datagrams to send come out. No socket, no clock, no thread.
//
// Thread-safety: none; everything here belongs to one control thread. Only the Limiter is shared
// with the workers; it is thread-safe. Ownership: the engine borrows the Limiter, which must
// outlive it, and owns everything else.
//
// How to drive it: call start() once; receive() for every datagram; and tick() at next_tick(),
// after all datagrams that wait in the socket. That is every 10 ms, or every 50 ms while there is
// nothing to do; receive() may make it earlier. After each of these calls send the datagrams of
// take_outgoing(). Before the end call goodbye() and send its datagrams. A tick that is more than
// 0.5 s late means that the process was stopped: the engine then discards the datagrams that waited
// meanwhile and asks its peers anew.

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
#include "gossip/seal.h"
#include "membership/settings.h"
#include "sync/settings.h"

namespace weir::limiter {
class Limiter;
}

namespace weir::definitions {
class DefinitionPull;
class DefinitionServe;
class DefinitionStore;
struct FileDifference;
}  // namespace weir::definitions

namespace weir::sync {
class CounterExchange;
class KeptCounts;
class KeptLevels;
class WeightLedger;
}  // namespace weir::sync

namespace weir::engine {

/// A datagram to be sent.
struct Outgoing {
    Endpoint to;
    std::vector<std::byte> bytes;
};

struct EngineOptions {
    /// Datagrams of clusters with another name are refused.
    std::string cluster_name;
    /// The address under which the peers reach this member. With a random incarnation it is the
    /// member's identity.
    Endpoint advertise;
    /// The keys that are accepted, at most two; the first one seals. Without keys datagrams are not
    /// sealed (`insecure: true`).
    std::vector<gossip::Key> keys;
    /// False: there is no cluster, every limit is local and nothing is ever sent.
    bool clustered = true;
    /// This member is preferred as an owner and serves no requests, so the others do not count it
    /// among those that share a limit.
    bool anchor = false;
    /// The source of the nonces for sealing; it must outlive the engine. nullptr means the system's
    /// generator, which real traffic must use; the simulator has a seeded one.
    gossip::NonceSource* nonces = nullptr;
    /// Notes what becomes of the weight that this member is told of as an owner; it must outlive
    /// the engine. Only the simulator has one, for its checkers.
    sync::WeightLedger* ledger = nullptr;
    sync::SyncSettings sync;
    /// For how long the files of more than half must have agreed before the fleet turns.
    Duration agree_after = std::chrono::seconds(10);
    membership::MembershipSettings membership{};
    /// The share of membership's usual bytes a second that may be used. Below 1 in simulations in
    /// which a small fleet stands for a large one.
    double membership_bytes_share = 1;
};

class Engine {
  public:
    /// `seed` determines every random choice, also the incarnation. In a real process it must come
    /// from the system's entropy (net/entropy.h), in the simulator it comes from the run's seed.
    Engine(EngineOptions options, limiter::Limiter& limiter, std::uint64_t seed);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void start(Instant now);
    /// Takes a datagram in. One that is malformed or not acceptable is counted and never answered.
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    /// Takes a host's answer that no process listens at this address (ICMP port unreachable). It
    /// can be forged, so it is only a hint: the member at the address is asked, and is
    /// provisionally taken for dead if the question is refused as well.
    void refused(const Endpoint& address, Instant now);
    void tick(Instant now);
    /// Sets this machine's wall clock, by which windows begin and end: how much later the time
    /// since 1970 is than the monotonic time. To be called before each tick(). A fleet goes by the
    /// median of its members' clocks.
    void set_wall_clock(Duration ahead);
    /// Puts changes of definitions in force now, and not with the next tick: the limiter decides
    /// about the next request by them. Returns whether there are more than a tick takes; these wait
    /// for the ticks or the next call.
    bool apply_definitions(Instant now);
    [[nodiscard]] Instant next_tick() const;
    /// By how much the clock that gives `now` has to be moved forward, because the machine was
    /// paused and its clock stood still; zero nearly always. To be called after each tick().
    [[nodiscard]] Duration take_clock_lag();
    /// The datagrams to be sent that have come up since the last call, oldest first.
    [[nodiscard]] std::vector<Outgoing> take_outgoing();

    /// Sets the addresses of the configured seeds. The member's own may be among them. `looked_up`:
    /// names were looked up for them just now. A member that hears nobody decides by them whether
    /// it is cut off (sync/side.h).
    void set_seeds(std::vector<Endpoint> seeds, bool looked_up, Instant now);
    /// Replaces the keys, for a rotation. The first one seals; at most two are kept.
    void set_keys(const std::vector<gossip::Key>& keys);
    /// Says goodbye and hands over the limits that this member owns. Afterwards only
    /// take_outgoing() may be called.
    void goodbye(Instant now);

    [[nodiscard]] std::vector<PeerReport> peers(Instant now) const;
    /// The limits of a quota; nothing when there is no instance of that name here.
    [[nodiscard]] std::optional<InstanceReport> quota_status(std::string_view name, Instant now);
    [[nodiscard]] EngineStatistics statistics() const;
    [[nodiscard]] SealStatus seal_status(Instant now) const;
    /// The kinds of limits of later versions that members told of in the last minute.
    [[nodiscard]] std::vector<sync::LaterKind> later_kinds(Instant now) const;
    /// At most `most` limits in use, those first whose owners have been silent for longest.
    [[nodiscard]] std::vector<sync::LimitSilence> silences(std::size_t most, Instant now) const;
    /// Of how many limits counts of the present window may be missing, because all who knew what
    /// lost members had admitted were lost as well.
    [[nodiscard]] std::size_t uncertain_windows() const;
    /// The ids of the keys, first that of the key that seals.
    [[nodiscard]] std::vector<std::uint32_t> key_ids() const;
    [[nodiscard]] std::uint64_t incarnation() const;

    /// The exchange of definitions in bulk, over streams (definitions/stream.h). Whether it takes
    /// place depends on the caller, who opens the connections: set_bulk(true) says that it does.
    /// The caller owns the streams, calls their next() and receive(), and destroys them before the
    /// engine.
    void set_bulk(bool possible);
    /// The next stream that pulls definitions, to be connected to its wish().from; nullptr when
    /// there is none. end_pull() must follow.
    [[nodiscard]] std::unique_ptr<definitions::DefinitionPull> take_pull();
    void end_pull(definitions::DefinitionPull& pull, Instant now);
    /// A stream for a connection that another member has opened.
    [[nodiscard]] std::unique_ptr<definitions::DefinitionServe> serve_pull();

    /// The definitions of files and of the API. Changes that are made in this store spread to the
    /// fleet.
    [[nodiscard]] definitions::DefinitionStore& definitions();

    /// The automatic sets whose files differ among the members.
    [[nodiscard]] std::vector<definitions::FileDifference> file_differences() const;

    /// The counts that a snapshot keeps.
    [[nodiscard]] sync::KeptCounts& kept_counts();
    [[nodiscard]] sync::KeptLevels& kept_levels();

    /// The synchronisation of counters, for the simulator's checkers, which only read it.
    [[nodiscard]] const sync::CounterExchange& counters() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace weir::engine
