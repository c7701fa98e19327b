#include "sim/world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hash.h"
#include "definitions/store.h"

namespace weir::sim {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(10);
/// How many datagrams the kernel keeps in the socket of a stopped process.
constexpr std::size_t kSocketBuffer = 256;
constexpr std::uint32_t kSeeds = 3;
/// How often it is checked whether all sidecars know each other.
constexpr Duration kMeetingStep = std::chrono::milliseconds(500);
constexpr Instant kBegin = Instant(std::chrono::seconds(1000));
constexpr Duration kSecond = std::chrono::seconds(1);
/// Owners must have existed for more than a second when a story begins.
constexpr Duration kAfterMeeting = std::chrono::milliseconds(1500);
/// The first second of 2026, in which a minute, an hour, a day and a month of the calendar begin.
constexpr Duration kStoriesBegin = std::chrono::seconds(1'767'225'600);

/// The settings of membership in a star: members do not tell of others, and the thousands that know
/// only three members probe them rarely.
membership::MembershipSettings membership_of_star(double budgets) {
    membership::MembershipSettings settings;
    settings.probe_period = std::chrono::seconds(3);
    settings.lists = false;
    settings.answers_per_second *= budgets;
    settings.open_answers_per_second *= budgets;
    settings.open_answers_limit *= budgets;
    return settings;
}

/// Whether sidecars can be expected to agree in such a network.
bool disturbs(const NetworkFaults& faults) {
    constexpr Duration kFar = std::chrono::milliseconds(5);
    return faults.loss > 0 || faults.duplication > 0 || faults.reordering > 0 ||
           faults.delay > kFar;
}

std::uint64_t hash_of(std::uint64_t before, ByteSpan bytes) {
    return mix(before ^ keyed_hash(as_text(bytes), HashKey{}));
}

}  // namespace

World::World(WorldPlan plan)
    : plan_(std::move(plan)),
      random_(plan_.seed),
      network_(plan_.faults, random_.fork()),
      load_(plan_.load, plan_.sidecars, random_.fork()),
      recorder_(plan_.record ? plan_.load.quotas.size() : 0, plan_.seconds),
      running_(plan_.load.takes, plan_.sidecars, Random(mix(plan_.seed))),
      keys_(plan_.sidecars, {key_of_fleet(0)}),
      wall_errors_(plan_.sidecars),
      now_(kBegin),
      began_(kBegin) {
    plan_.sync.datagrams_per_second =
        static_cast<std::uint32_t>(std::lround(plan_.sync.datagrams_per_second * plan_.budgets));
    for (std::uint32_t i = 0; i < plan_.sidecars; ++i) {
        sidecars_.emplace_back(i);
    }
}

void World::at(double seconds, Action action) { actions_.emplace_back(seconds, std::move(action)); }

std::vector<Endpoint> World::seeds() const {
    std::vector<Endpoint> seeds;
    for (std::uint32_t i = 0; i < std::min(kSeeds, plan_.sidecars); ++i) {
        seeds.push_back(SimulatedSidecar::address_of(i));
    }
    return seeds;
}

SidecarSettings World::settings_of(std::uint32_t number) const {
    SidecarSettings settings{plan_.definitions, plan_.sync, plan_.clock_drift};
    settings.rests = plan_.rests;
    settings.keys = keys_[number];
    if (plan_.star) {
        settings.membership = membership_of_star(plan_.budgets);
        settings.membership_bytes_share = plan_.budgets;
        settings.anchor = number < kSeeds;
        settings.sync.anchors_serve = true;  // they have load like all others
    }
    return settings;
}

void World::start(std::uint32_t number) {
    SimulatedSidecar& sidecar = sidecars_[number];
    sidecar.start(settings_of(number), seeds(), now_, random_.fork());
    if (watcher_ != nullptr) {
        watcher_->started(*this, number);
    }
    const auto phase = from_seconds(to_seconds(kTick) * random_.unit());
    queue_.push(now_ + phase, EventKind::tick, number, sidecar.epoch());
    collect(number);
}

bool World::everybody_met() {
    for (std::uint32_t i = 0; i < plan_.sidecars; ++i) {
        const bool few = plan_.star && i >= kSeeds;
        const auto states = sidecars_[i].engine().statistics().peers_by_state;
        const auto alive = states.find("alive");
        const std::uint64_t known = alive != states.end() ? alive->second : 0;
        if (known != (few ? kSeeds : plan_.sidecars - 1)) {
            return false;
        }
    }
    return true;
}

bool World::has_windows() const {
    return std::any_of(plan_.definitions.begin(), plan_.definitions.end(), [](const auto& each) {
        return std::any_of(each.limits.begin(), each.limits.end(),
                           [](const auto& limit) { return limit.is_window(); });
    });
}

Duration World::wall_clock() const { return kStoriesBegin + (now_ - planned_begin_); }

Duration World::wall_ahead(Duration error) const {
    return kStoriesBegin + error - planned_begin_.time_since_epoch();
}

void World::set_wall_error(std::uint32_t number, Duration error) {
    wall_errors_[number] = error;
    if (has_windows()) {
        sidecars_[number].set_wall_clock(wall_ahead(error));
    }
}

bool World::run(double longest_meeting) {
    planned_begin_ = now_ + from_seconds(longest_meeting) + kAfterMeeting;
    for (std::uint32_t i = 0; i < plan_.sidecars; ++i) {
        set_wall_error(i, wall_errors_[i]);
    }
    for (std::uint32_t i = 0; i < plan_.sidecars; ++i) {
        start(i);
    }
    // The sidecars meet in a network without faults, so that the story begins with the situation
    // that it is about.
    network_.set_faults(NetworkFaults{});
    const Instant latest = now_ + from_seconds(longest_meeting);
    bool met = false;
    while (!met && now_ < latest) {
        run_until(now_ + kMeetingStep);
        met = everybody_met();
    }
    // The windows of the calendar begin with the story, however soon all have met.
    run_until(has_windows() ? planned_begin_ : now_ + kAfterMeeting);
    network_.set_faults(plan_.faults);
    disturbed_always_ = disturbs(plan_.faults);
    began_ = disturbed_until_ = disconnected_until_ = now_;
    next_second_ = now_ + kSecond;
    for (std::uint32_t i = 0; i < actions_.size(); ++i) {
        queue_.push(began_ + from_seconds(actions_[i].first), EventKind::action, i, 0);
    }
    schedule_arrival();
    run_until(began_ + from_seconds(plan_.seconds));
    return met;
}

void World::settle(double seconds) {
    network_.set_faults(NetworkFaults{});
    network_.end_cuts();
    disturbed_always_ = false;
    note_fault(0);
    run_until(now_ + from_seconds(seconds));
}

void World::run_until(Instant end) {
    while (!queue_.empty() && queue_.next().at <= end) {
        watch_until(queue_.next().at);
        const ScheduledEvent event = queue_.pop();
        now_ = event.at;
        handle(event);
    }
    watch_until(end);
    now_ = end;
}

/// Calls the watcher between events, so that it does not change any event.
void World::watch_until(Instant end) {
    while (watcher_ != nullptr && next_second_ && *next_second_ <= end) {
        now_ = *next_second_;
        *next_second_ += kSecond;
        watcher_->second(*this);
    }
}

double World::calm_for() const {
    return disturbed_always_ ? -1 : to_seconds(now_ - disturbed_until_);
}

double World::connected_for() const {
    return disturbed_always_ ? -1 : to_seconds(now_ - disconnected_until_);
}

void World::note_fault(double seconds) {
    disturbed_until_ = std::max(disturbed_until_, now_ + from_seconds(seconds));
    if (seconds > 0) {
        disconnected_until_ = disturbed_until_;
    }
}

void World::handle(const ScheduledEvent& event) {
    switch (event.kind) {
        case EventKind::tick:
            handle_tick(event);
            break;
        case EventKind::datagram:
            handle_datagram(event);
            break;
        case EventKind::arrival:
            handle_arrival();
            break;
        case EventKind::end:
            handle_end(event.subject);
            break;
        case EventKind::action: {
            // The action is moved out first, because it may add other actions.
            const Action action = std::move(actions_[event.subject].second);
            action(*this);
            break;
        }
    }
}

void World::handle_tick(const ScheduledEvent& event) {
    SimulatedSidecar& sidecar = sidecars_[event.subject];
    if (event.epoch != sidecar.epoch() || !sidecar.running()) {
        return;
    }
    if (sidecar.stopped_until) {
        if (now_ < *sidecar.stopped_until) {
            queue_.push(*sidecar.stopped_until, EventKind::tick, event.subject, event.epoch);
            return;
        }
        resume(event.subject);
    }
    sidecar.tick(now_);
    collect(event.subject);
    for (DecidedRequest& request : sidecar.serve_waiting(now_)) {
        note_decision(now(), event.subject, std::move(request));
    }
    // Real timers are never exact.
    const auto late = from_seconds(to_seconds(kTick) * 0.02 * random_.unit());
    queue_.push(now_ + kTick + late, EventKind::tick, event.subject, event.epoch);
}

void World::resume(std::uint32_t number) {
    SimulatedSidecar& sidecar = sidecars_[number];
    sidecar.stopped_until.reset();
    // A real event loop may read its socket before or after the timer.
    if (random_.unit() < 0.5) {
        sidecar.tick(now_);
    }
    for (const SimulatedSidecar::WaitingPacket& waiting : std::exchange(sidecar.socket, {})) {
        sidecar.receive(waiting.bytes, waiting.from, now_);
        collect(number);
    }
    for (const SimulatedSidecar::Request& request : std::exchange(sidecar.requests, {})) {
        offer({now(), number, request.quota}, number);
    }
}

void World::handle_datagram(const ScheduledEvent& event) {
    const Flight flight = std::move(flights_[event.subject]);
    free_flights_.push_back(event.subject);
    if (!flight.refusal) {
        deliver(flight.to, flight.from, flight.bytes);
    } else if (SimulatedSidecar& sidecar = sidecars_[flight.to];
               sidecar.running() && !sidecar.stopped_until) {
        sidecar.refused(flight.from, now_);
        collect(flight.to);
    }
}

void World::deliver(std::uint32_t to, const Endpoint& from, ByteSpan bytes) {
    if (clone_ && clone_->number == to && random_.unit() < clone_->share) {
        clone_->sidecar.receive(bytes, from, now_);
        send(to, clone_->sidecar.engine().take_outgoing());
        return;
    }
    SimulatedSidecar& sidecar = sidecars_[to];
    if (!sidecar.running()) {
        return refuse(from, to);
    }
    if (sidecar.stopped_until) {
        if (sidecar.socket.size() < kSocketBuffer) {
            sidecar.socket.push_back({{bytes.begin(), bytes.end()}, from});
        }
        return;
    }
    if (const auto sender = SimulatedSidecar::number_of(from); delivered_ && sender) {
        delivered_(*sender, to, bytes);
    }
    sidecar.receive(bytes, from, now_);
    collect(to);
}

void World::collect(std::uint32_t from) { send(from, sidecars_[from].engine().take_outgoing()); }

void World::send(std::uint32_t from, std::vector<engine::Outgoing> datagrams) {
    for (engine::Outgoing& outgoing : datagrams) {
        ++sent_;
        bytes_ += outgoing.bytes.size();
        fingerprint_ = hash_of(fingerprint_, outgoing.bytes);
        const auto to = SimulatedSidecar::number_of(outgoing.to);
        if (!to || *to >= plan_.sidecars) {
            if (stranger_) {
                stranger_(from, outgoing.to, outgoing.bytes);
            }
            continue;
        }
        if (tap_) {
            tap_(from, *to, outgoing.bytes);
        }
        for (const Instant at : network_.deliveries(from, *to, now_)) {
            launch({*to, SimulatedSidecar::address_of(from), outgoing.bytes, false}, at);
        }
    }
}

void World::launch(Flight flight, Instant at) {
    if (free_flights_.empty()) {
        free_flights_.push_back(static_cast<std::uint32_t>(flights_.size()));
        flights_.emplace_back();
    }
    const std::uint32_t place = free_flights_.back();
    free_flights_.pop_back();
    flights_[place] = std::move(flight);
    queue_.push(at, EventKind::datagram, place, 0);
}

/// Lets the host of a process that has ended answer that nobody listens, if the network delivers
/// it.
void World::refuse(const Endpoint& to, std::uint32_t by) {
    const auto sender = SimulatedSidecar::number_of(to);
    if (!plan_.faults.refusals || !sender || *sender >= plan_.sidecars) {
        return;
    }
    for (const Instant at : network_.deliveries(by, *sender, now_)) {
        launch({*sender, SimulatedSidecar::address_of(by), {}, true}, at);
    }
}

void World::inject(std::uint32_t to, const Endpoint& from, std::vector<std::byte> bytes) {
    deliver(to, from, bytes);
}

void World::clone(std::uint32_t number, double seconds, double share) {
    clone_ = std::make_unique<Clone>(
        Clone{number, now_ + from_seconds(seconds), share, SimulatedSidecar(number)});
    if (has_windows()) {
        clone_->sidecar.set_wall_clock(wall_ahead(wall_errors_[number]));
    }
    clone_->sidecar.start(settings_of(number), seeds(), now_, random_.fork());
    note_fault(seconds);
    turn_clone();
}

void World::turn_clone() {
    if (!clone_ || now_ >= clone_->until) {
        clone_.reset();
        return;
    }
    clone_->sidecar.tick(now_);
    send(clone_->number, clone_->sidecar.engine().take_outgoing());
    action_at(now() + to_seconds(kTick), [](World& world) { world.turn_clone(); });
}

}  // namespace weir::sim
