#pragma once
// A virtual fleet: sidecars with the limiter and engine of the product, a network with faults,
// load, and actions at given times, all driven by one seed. Every datagram is encoded, sealed,
// opened and decoded by the code of the product. The same seed gives the same run, byte for byte:
// fingerprint() hashes every datagram that was sent. Not thread-safe.
//
// Times of a story are in seconds from its beginning, the instant at which all sidecars know each
// other.

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
#include "sim/running_requests.h"
#include "sim/simulated_sidecar.h"
#include "sync/settings.h"

namespace weir::sim {

struct WorldPlan {
    std::uint32_t sidecars = 3;
    std::vector<limiter::QuotaDefinition> definitions;
    LoadPlan load;
    NetworkFaults faults;
    sync::SyncSettings sync;
    /// The first three sidecars own all limits and know all others. The others know only these
    /// three and probe one of them every 3 s. This is for fleets so large that one machine has no
    /// memory for a complete table of members in each sidecar. Such a world tests membership only
    /// between the three and the others.
    bool star = false;
    /// The share of its usual budgets that a sidecar has, for datagrams of counters and for bytes
    /// and answers of membership. For an owner with a tenth of its budgets, 500 sidecars are as
    /// heavy a load as 5,000 for a usual one.
    double budgets = 1;
    double clock_drift = 0;
    /// Whether engines without work tick as seldom as they ask for (engine/tick_pace.h). Else they
    /// tick every 10 ms, so that what they do does not depend on how a story begins.
    bool rests = false;
    double seconds = 40;
    /// Whether requests are counted in bins of 10 ms (Recorder). Stories of hours would need too
    /// much memory for that.
    bool record = true;
    std::uint64_t seed = 1;
};

class World;

/// Observes a story while it runs. A watcher must not change anything: the run and its fingerprint
/// are the same without it.
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void started(World& world, std::uint32_t sidecar) = 0;
    /// Called while the process still exists.
    virtual void ending(World& world, std::uint32_t sidecar) = 0;
    /// `takes`: for how many seconds the request is in flight if it is admitted; 0: no time.
    virtual void offered(World& world, std::uint32_t sidecar, const DecidedRequest& request,
                         double takes) = 0;
    /// An admitted request has ended, of a process that is still running.
    virtual void finished(World& world, std::uint32_t sidecar, std::uint32_t quota) = 0;
    /// Called at every full second of the story.
    virtual void second(World& world) = 0;
};

class World {
  public:
    using Action = std::function<void(World&)>;
    /// Sees each request: (time, sidecar, quota, admitted).
    using Observer = std::function<void(double, std::uint32_t, std::uint32_t, bool)>;

    explicit World(WorldPlan plan);

    /// Schedules the action for this time of the story, before run().
    void at(double seconds, Action action);
    /// The same, for an action that schedules another one while the story runs.
    void action_at(double seconds, Action action);
    void observe(Observer observer) { observer_ = std::move(observer); }
    /// Lets the members find each other, for at most `longest_meeting` seconds, then runs the
    /// story. False when they did not find each other.
    bool run(double longest_meeting);
    /// After run(): goes on for `seconds` without faults and without load.
    void settle(double seconds);
    void watch(Watcher* watcher) { watcher_ = watcher; }

    // --- for actions -----------------------------------------------------------------------------
    void stop(std::uint32_t sidecar, double seconds);
    /// Acts like a pod that has used up its processor quota: until the given time of the story it
    /// is stopped for `stopped` of every `period` seconds. Its requests wait until it runs again.
    void throttle(std::uint32_t sidecar, double stopped, double period, double until);
    void kill(std::uint32_t sidecar);
    void restart(std::uint32_t sidecar);
    /// The sidecar gets no requests any more. When those in flight have ended, after 20 s at most,
    /// the process says goodbye and ends.
    void say_goodbye(std::uint32_t sidecar);
    /// From now on the wall clock of the sidecar's machine is wrong by so much.
    void set_wall_error(std::uint32_t sidecar, Duration error);
    /// For this time no datagram passes between the sides.
    void cut(std::vector<bool> side, double seconds, bool one_way);
    /// For this time the network has these faults, then those of the story again.
    void disturb(const NetworkFaults& faults, double seconds);
    /// The sidecar's monotonic clock leaps forward.
    void leap_clock(std::uint32_t sidecar, double seconds);
    /// Pauses the sidecar's whole machine: nothing runs, and its clock stands still.
    void pause(std::uint32_t sidecar, double seconds);
    /// For this time there is a second machine with the sidecar's address. It gets this share of
    /// the datagrams that go there, and no load.
    void clone(std::uint32_t sidecar, double seconds, double share);
    /// Sets the keys of the sidecar, also of processes that are started there later.
    void set_keys(std::uint32_t sidecar, const std::vector<gossip::Key>& keys);
    /// Changes a definition through the API of one sidecar. False when it was refused.
    bool edit(std::uint32_t sidecar, const limiter::QuotaDefinition& definition);
    /// Delivers a datagram that none of the sidecars has sent.
    void inject(std::uint32_t to, const Endpoint& from, std::vector<std::byte> bytes);
    /// Gets the datagrams that are sent to addresses of no sidecar.
    using SendAsStranger =
        std::function<void(std::uint32_t from, const Endpoint& to, ByteSpan bytes)>;
    void strangers(SendAsStranger stranger) { stranger_ = std::move(stranger); }
    /// Sees every datagram as it is sent.
    using Tap = std::function<void(std::uint32_t from, std::uint32_t to, ByteSpan bytes)>;
    void tap(Tap tap) { tap_ = std::move(tap); }
    /// Sees every datagram that a sidecar reads, as it reads it.
    void delivered(Tap tap) { delivered_ = std::move(tap); }

    [[nodiscard]] double now() const { return to_seconds(now_ - began_); }
    [[nodiscard]] SimulatedSidecar& sidecar(std::uint32_t number) { return sidecars_[number]; }
    [[nodiscard]] std::uint32_t size() const { return plan_.sidecars; }
    /// The sidecars that own the quota, as far as a sidecar that uses it knows.
    [[nodiscard]] std::vector<std::uint32_t> owners_of(std::string_view quota);
    [[nodiscard]] Instant instant() const { return now_; }
    /// The time since 1970 by a wall clock that is right. A story begins with the year 2026.
    [[nodiscard]] Duration wall_clock() const;
    /// Whether some limit has windows. Only then sidecars have wall clocks and tell each other of
    /// them.
    [[nodiscard]] bool has_windows() const;
    /// Seconds since the last fault ended; negative during a fault.
    [[nodiscard]] double calm_for() const;
    /// The same of faults that keep sidecars from hearing each other for some time.
    [[nodiscard]] double connected_for() const;
    /// The plan that the world was made from.
    [[nodiscard]] const WorldPlan& plan() const { return plan_; }

    [[nodiscard]] const Recorder& recorder() const { return recorder_; }
    [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
    [[nodiscard]] std::uint64_t datagrams() const { return sent_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Requests that nobody answered, because their sidecar was stopped or ended while they waited.
    [[nodiscard]] std::uint64_t lost_requests() const { return lost_requests_; }

  private:
    struct Flight {
        std::uint32_t to = 0;
        Endpoint from;
        std::vector<std::byte> bytes;
        bool refusal = false;  // an answer that nobody listens at `from`
    };
    void start(std::uint32_t sidecar);
    [[nodiscard]] SidecarSettings settings_of(std::uint32_t sidecar) const;
    [[nodiscard]] std::vector<Endpoint> seeds() const;
    [[nodiscard]] bool everybody_met();
    void run_until(Instant end);
    void watch_until(Instant end);
    void end_process(std::uint32_t sidecar);
    void note_fault(double seconds);
    void handle(const ScheduledEvent& event);
    void handle_tick(const ScheduledEvent& event);
    void handle_datagram(const ScheduledEvent& event);
    void handle_arrival();
    void schedule_arrival();
    void collect(std::uint32_t from);
    void resume(std::uint32_t sidecar);
    void offer(const Arrival& arrival, std::uint32_t sidecar);
    void note_decision(double at, std::uint32_t sidecar, DecidedRequest request);
    void handle_end(std::uint32_t request);
    void leave(std::uint32_t sidecar);
    /// How much later a machine's wall clock is than the instants of the world.
    [[nodiscard]] Duration wall_ahead(Duration error) const;
    [[nodiscard]] std::vector<std::uint32_t> owners_of_counts(std::string_view quota);
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
    RunningRequests running_;
    std::vector<SimulatedSidecar> sidecars_;
    std::vector<std::vector<gossip::Key>> keys_;  // by sidecar
    std::vector<Duration> wall_errors_;           // by sidecar
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
    SendAsStranger stranger_;
    Watcher* watcher_ = nullptr;
    std::optional<Instant> next_second_;  // nothing before the story begins
    Instant disturbed_until_{};
    Instant disconnected_until_{};
    bool disturbed_always_ = false;
    Instant now_{};
    Instant began_{};
    Instant planned_begin_{};  // when everybody must have met
    std::uint64_t fingerprint_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t lost_requests_ = 0;
};

}  // namespace weir::sim
