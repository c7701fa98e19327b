#pragma once
// A virtual fleet: sidecars with production limiter and engine, a network with faults, load, and
// actions at given times, all driven from one seed. Every datagram is encoded, sealed, opened and
// decoded by the code that ships. The same seed gives the same run, byte for byte: fingerprint()
// hashes every datagram that was sent. Not thread-safe.
//
// Times of a story are in seconds from its beginning, which is when everybody knows everybody.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "limiter/definition.h"
#include "sim/event_queue.h"
#include "sim/load.h"
#include "sim/network.h"
#include "sim/recorder.h"
#include "sim/simulated_sidecar.h"
#include "sync/settings.h"

namespace weir::sim {

struct WorldPlan {
    std::uint32_t sidecars = 3;
    std::vector<limiter::QuotaDefinition> definitions;
    LoadPlan load;
    NetworkFaults faults;
    sync::SyncSettings sync;
    /// The first three own everything and know everybody; the others know nobody but them, and
    /// probe one of them every 3 s. For fleets so large that everybody's table of everybody is too
    /// much for one machine. Of membership such a world tells only how all meet the three.
    bool star = false;
    /// What an owner may send is so much of the usual (datagrams of counters, bytes and answers of
    /// membership): a fleet of 500 with a tenth presses its owners as 5,000 do.
    double budgets = 1;
    double clock_drift = 0;
    double seconds = 40;
    /// Whether requests are counted in bins of 10 ms (Recorder): for hours it would be too much.
    bool record = true;
    std::uint64_t seed = 1;
};

class World;

/// Looks on while a story runs, and changes nothing: what it is told does not depend on it, nor
/// does the fingerprint.
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void started(World& world, std::uint32_t sidecar) = 0;
    /// Called while the process is still there.
    virtual void ending(World& world, std::uint32_t sidecar) = 0;
    virtual void offered(World& world, std::uint32_t sidecar, std::uint32_t quota,
                         bool admitted) = 0;
    /// At every full second of the story.
    virtual void second(World& world) = 0;
};

class World {
  public:
    using Action = std::function<void(World&)>;
    /// Sees each request: (time, sidecar, quota, admitted).
    using Observer = std::function<void(double, std::uint32_t, std::uint32_t, bool)>;

    explicit World(WorldPlan plan);

    /// Runs the action at that time of the story.
    void at(double seconds, Action action);
    /// The same, for actions: the story has begun.
    void action_at(double seconds, Action action);
    void observe(Observer observer) { observer_ = std::move(observer); }
    /// Lets the members find each other (at most `longest` seconds), then runs the story.
    /// False when they did not find each other.
    bool run(double longest_meeting);
    /// After run(): the network is in order and nothing is offered for so long.
    void settle(double seconds);
    void watch(Watcher* watcher) { watcher_ = watcher; }

    // --- for actions -----------------------------------------------------------------------------
    void stop(std::uint32_t sidecar, double seconds);
    /// A pod out of its processor quota: stopped for `stopped` of every `period` seconds, until
    /// the given time of the story. Its requests wait until it runs again.
    void throttle(std::uint32_t sidecar, double stopped, double period, double until);
    void kill(std::uint32_t sidecar);
    void restart(std::uint32_t sidecar);
    void say_goodbye(std::uint32_t sidecar);
    /// Nothing passes between the sides for so long.
    void cut(std::vector<bool> side, double seconds, bool one_way);
    /// Another network for so long, then the story's own again.
    void disturb(const NetworkFaults& faults, double seconds);
    /// The sidecar's monotonic clock leaps forward.
    void leap_clock(std::uint32_t sidecar, double seconds);
    /// Its whole machine is paused: nothing runs, and its clock does not go on either.
    void pause(std::uint32_t sidecar, double seconds);
    /// A second machine comes up with the sidecar's address, for so long. It gets this share of the
    /// datagrams that go there, and no load.
    void clone(std::uint32_t sidecar, double seconds, double share);
    /// The sidecar's keys, and those of all processes that are started there later.
    void set_keys(std::uint32_t sidecar, const std::vector<engine::GossipKey>& keys);
    /// A change of a definition through the API of one sidecar. False when it was refused.
    bool edit(std::uint32_t sidecar, const limiter::QuotaDefinition& definition);
    /// A datagram that somebody else puts on the wire.
    void inject(std::uint32_t to, const Endpoint& from, std::vector<std::byte> bytes);
    /// Somebody else on the network: is given what is sent to addresses of no sidecar.
    using Stranger = std::function<void(std::uint32_t from, const Endpoint& to, ByteSpan bytes)>;
    void strangers(Stranger stranger) { stranger_ = std::move(stranger); }
    /// Sees every datagram as it is sent.
    using Tap = std::function<void(std::uint32_t from, std::uint32_t to, ByteSpan bytes)>;
    void tap(Tap tap) { tap_ = std::move(tap); }
    /// Sees every datagram that a sidecar reads, as it reads it.
    void delivered(Tap tap) { delivered_ = std::move(tap); }

    [[nodiscard]] double now() const { return to_seconds(now_ - began_); }
    [[nodiscard]] SimulatedSidecar& sidecar(std::uint32_t number) { return sidecars_[number]; }
    [[nodiscard]] std::uint32_t size() const { return plan_.sidecars; }
    /// The sidecars that own the quota, as a sidecar which uses it knows them.
    [[nodiscard]] std::vector<std::uint32_t> owners_of(std::string_view quota);
    [[nodiscard]] Instant instant() const { return now_; }
    /// Seconds since the last fault was over; negative while there is one.
    [[nodiscard]] double calm_for() const;
    /// What the story knows as its quotas and load.
    [[nodiscard]] const WorldPlan& plan() const { return plan_; }

    [[nodiscard]] const Recorder& recorder() const { return recorder_; }
    [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
    [[nodiscard]] std::uint64_t datagrams() const { return sent_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Requests that met nobody: their sidecar was stopped.
    [[nodiscard]] std::uint64_t lost_requests() const { return lost_requests_; }

  private:
    struct Flight {
        std::uint32_t to = 0;
        Endpoint from;
        std::vector<std::byte> bytes;
        bool refusal = false;  // nobody listens at `from`
    };
    void start(std::uint32_t sidecar);
    [[nodiscard]] SidecarSettings settings_of(std::uint32_t sidecar) const;
    [[nodiscard]] std::vector<Endpoint> seeds() const;
    [[nodiscard]] bool everybody_met();
    void run_until(Instant end);
    void watch_until(Instant end);
    void end_process(std::uint32_t sidecar);
    void note_fault(double seconds);
    void handle(const Event& event);
    void handle_tick(const Event& event);
    void handle_datagram(const Event& event);
    void handle_arrival();
    void schedule_arrival();
    void collect(std::uint32_t from);
    void resume(std::uint32_t sidecar);
    void offer(const Arrival& arrival, std::uint32_t sidecar);
    void launch(Flight flight, Instant at);
    void refuse(const Endpoint& to, std::uint32_t by);
    void deliver(std::uint32_t to, const Endpoint& from, ByteSpan bytes);
    void turn_clone();
    void send(std::uint32_t from, std::vector<engine::Outgoing> datagrams);

    WorldPlan plan_;
    Random random_;
    Network network_;
    Load load_;
    Recorder recorder_;
    EventQueue queue_;
    std::vector<SimulatedSidecar> sidecars_;
    std::vector<std::vector<engine::GossipKey>> keys_;  // by sidecar
    /// A second process at the address of a sidecar.
    struct Clone {
        std::uint32_t number = 0;
        Instant until{};
        double share = 0;
        SimulatedSidecar sidecar;
    };
    std::unique_ptr<Clone> clone_;
    std::vector<Flight> flights_;
    std::vector<std::uint32_t> free_flights_;
    std::vector<std::pair<double, Action>> actions_;
    Arrival arrival_;
    Observer observer_;
    Tap tap_;
    Tap delivered_;
    Stranger stranger_;
    Watcher* watcher_ = nullptr;
    std::optional<Instant> next_second_;  // nothing before the story begins
    Instant disturbed_until_{};
    bool disturbed_always_ = false;
    Instant now_{};
    Instant began_{};
    std::uint64_t fingerprint_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t lost_requests_ = 0;
};

}  // namespace weir::sim
