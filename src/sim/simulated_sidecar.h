#pragma once
// One simulated sidecar, whose process may be killed and started again. The process consists of the
// limiter and the engine that real sidecars have. It has a clock of its own, which begins at a
// random instant and may drift. Instants that are given to this class are those of the World,
// unless it says otherwise. Belongs to the World; not thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "base/random.h"
#include "engine/engine.h"
#include "gossip/seal.h"
#include "limiter/limiter.h"
#include "sim/told_weight.h"
#include "sim/waiting_requests.h"

namespace weir::sim {

/// One of the keys that a fleet uses in turn: it begins with key 0, and each rotation of the keys
/// goes on to the next number.
[[nodiscard]] gossip::Key key_of_fleet(std::uint32_t number);

struct SidecarSettings {
    std::span<const limiter::QuotaDefinition> definitions;
    sync::SyncSettings sync;
    double clock_drift = 0;  // the largest drift as a share: 1e-4 is 100 ppm
    membership::MembershipSettings membership{};
    double membership_bytes_share = 1;                  // as in engine::EngineOptions
    bool anchor = false;                                // as in engine::EngineOptions
    bool rests = false;                                 // as in WorldPlan
    std::vector<gossip::Key> keys = {key_of_fleet(0)};  // the first one seals
};

class SimulatedSidecar {
  public:
    /// Sidecars have addresses in a row, in the order of their numbers.
    static Endpoint address_of(std::uint32_t number);
    /// The number may be above those of all sidecars. Nothing for an earlier address or another
    /// port.
    static std::optional<std::uint32_t> number_of(const Endpoint& address);

    explicit SimulatedSidecar(std::uint32_t number) : number_(number) {}

    /// Starts a new process with empty counters, a new incarnation and another clock. One that is
    /// still running is killed first.
    void start(const SidecarSettings& settings, std::vector<Endpoint> seeds, Instant now,
               Random random);
    /// Ends the process at once, without a goodbye.
    void kill();
    /// Whether there is a process, even if it is stopped at present (`stopped_until`).
    [[nodiscard]] bool running() const { return engine_ != nullptr; }
    /// The number of the latest process of this sidecar, raised by each start(). Events for earlier
    /// processes have no effect.
    [[nodiscard]] std::uint32_t epoch() const { return epoch_; }

    /// The requests that wait for their turn; they are lost when the process ends.
    [[nodiscard]] std::size_t waiting() const { return waiting_ ? waiting_->size() : 0; }

    // The functions from offer_or_wait() to ledger() may be called only while the process is
    // running.

    /// Decides about a request of weight 1 under the leaf `quota` of the load, whose text must stay
    /// valid for as long as the request waits. Nothing: it waits for its turn, and serve_waiting()
    /// will say what became of it.
    [[nodiscard]] std::optional<DecidedRequest> offer_or_wait(std::string_view leaf,
                                                              std::uint32_t quota, Instant now);
    /// The same with a request that does not wait. True if it is admitted.
    [[nodiscard]] bool offer(std::string_view leaf, Instant now);
    /// Decides about requests whose turn it is, or whose time of waiting is over.
    [[nodiscard]] std::vector<DecidedRequest> serve_waiting(Instant now);
    /// An admitted request has ended.
    void finish(limiter::Charge charge);
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    /// The host at this address answers a datagram of this process with the message that nobody
    /// listens there (ICMP port unreachable).
    void refused(const Endpoint& address, Instant now);
    void tick(Instant now);
    [[nodiscard]] engine::Engine& engine() { return *engine_; }
    [[nodiscard]] limiter::Limiter& limiter() { return *limiter_; }
    /// What became of the weight that origins told this process of, in its part as an owner. It is
    /// lost when the process ends.
    [[nodiscard]] ToldLedger& ledger() { return *ledger_; }
    /// The instant that the process's own monotonic clock shows.
    [[nodiscard]] Instant local(Instant now) const;
    /// From now on that clock shows `by` more. `by` is negative for a machine that was paused.
    void shift_clock(Duration by) { offset_ += by; }

    /// Sets the wall clock of the machine: how much later the time since 1970 is than the instants
    /// of the World. The process sees it from its next start() or tick() on. Without one it has no
    /// wall clock, and tells the others of none.
    void set_wall_clock(Duration ahead) { wall_ahead_ = ahead; }

    // What the World keeps for each sidecar; this class only clears it in start().

    // Has a value while the process is stopped: it exists, but executes nothing until that instant.
    // Its socket then keeps datagrams, up to a bound, which the process receives when it goes on.
    std::optional<Instant> stopped_until;
    struct WaitingPacket {
        std::vector<std::byte> bytes;
        Endpoint from;
    };
    std::vector<WaitingPacket> socket;
    // Whether the process is throttled because its control group has used up its CPU time. Such a
    // process is stopped again and again, for such short times that its requests wait until it goes
    // on (`requests`). Requests to a stopped process that is not throttled are lost.
    bool throttled = false;
    struct Request {
        std::uint32_t quota = 0;
    };
    std::vector<Request> requests;
    // Whether it gets no requests any more, and says goodbye when those in flight have ended.
    bool draining = false;

  private:
    void show_wall_clock(Instant now);
    [[nodiscard]] bool is_resting(Instant now) const;

    std::uint32_t number_;
    std::uint32_t epoch_ = 0;
    Instant began_{};
    Duration offset_{};
    double drift_ = 0;
    std::optional<Duration> wall_ahead_;  // of the machine, so it outlives the process
    std::uint64_t ticks_ = 0;             // the limiter is maintained at every hundredth tick
    bool rests_ = false;
    Instant ticked_{};  // when the engine last ticked, by the process's own clock
    std::unique_ptr<gossip::SeededNonces> nonces_;
    std::unique_ptr<ToldLedger> ledger_;
    std::unique_ptr<limiter::Limiter> limiter_;
    limiter::ThreadContext* thread_ = nullptr;
    std::unique_ptr<WaitingRequests> waiting_;  // null until a request waits
    std::unique_ptr<engine::Engine> engine_;
};

}  // namespace weir::sim
