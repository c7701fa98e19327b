#include "sim/simulated_sidecar.h"

#include "engine/tick_pace.h"
#include "sim/central_bucket.h"
#include "sim/lists_of_names.h"

namespace weir::sim {
namespace {

constexpr std::uint16_t kPort = 7946;
constexpr std::uint32_t kNetwork = 0x0a00'0001;  // 10.0.0.1
constexpr std::uint64_t kMaintainTicks = 100;

}  // namespace

gossip::Key key_of_fleet(std::uint32_t number) {
    gossip::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) {
        key[i] = std::byte(i * 7 + 3 + number);
    }
    return key;
}

Endpoint SimulatedSidecar::address_of(std::uint32_t number) {
    return Endpoint::v4(kNetwork + number, kPort);
}

std::optional<std::uint32_t> SimulatedSidecar::number_of(const Endpoint& address) {
    std::uint32_t host = 0;
    for (std::size_t i = 12; i < 16; ++i) {
        host = host << 8 | address.address[i];
    }
    if (address.port != kPort || host < kNetwork) {
        return std::nullopt;
    }
    return host - kNetwork;
}

void SimulatedSidecar::start(const SidecarSettings& settings, std::vector<Endpoint> seeds,
                             Instant now, Random random) {
    kill();
    ++epoch_;
    stopped_until.reset();
    socket.clear();
    throttled = false;
    requests.clear();
    draining = false;
    began_ = now;
    offset_ = from_seconds(1 + random.unit() * 1e6);
    drift_ = (2 * random.unit() - 1) * settings.clock_drift;
    nonces_ = std::make_unique<gossip::SeededNonces>(random.fork());
    ledger_ = std::make_unique<ToldLedger>();
    limiter_ = make_limiter(settings.definitions, random.next(), local(now));
    thread_ = &limiter_->register_thread(random.next());
    engine::EngineOptions options;
    options.cluster_name = "simulated";
    options.advertise = address_of(number_);
    options.keys = settings.keys;
    options.sync = settings.sync;
    options.membership = settings.membership;
    options.membership_bytes_share = settings.membership_bytes_share;
    options.anchor = settings.anchor;
    options.nonces = nonces_.get();
    options.ledger = ledger_.get();
    engine_ = std::make_unique<engine::Engine>(std::move(options), *limiter_, random.next());
    engine_->set_seeds(std::move(seeds), false, local(now));
    rests_ = settings.rests;
    ticked_ = local(now);
    engine_->start(ticked_);
    show_wall_clock(now);
}

void SimulatedSidecar::kill() {
    engine_.reset();
    waiting_.reset();
    limiter_.reset();
    nonces_.reset();
    ledger_.reset();
    thread_ = nullptr;
}

Instant SimulatedSidecar::local(Instant now) const {
    const double drifted = to_seconds(now - began_) * drift_;
    return now + offset_ + from_seconds(drifted);
}

bool SimulatedSidecar::offer(std::string_view leaf, Instant now) {
    return offer_to(*limiter_, *thread_, leaf, local(now));
}

std::optional<DecidedRequest> SimulatedSidecar::offer_or_wait(std::string_view leaf,
                                                              std::uint32_t quota, Instant now) {
    const auto decision =
        decide_on(*limiter_, *thread_, leaf, local(now), limiter::CheckMode::charge_or_wait);
    bool waits = false;
    if (decision.can_wait) {
        if (!waiting_) {
            waiting_ = std::make_unique<WaitingRequests>(*limiter_, *thread_);
        }
        waits = waiting_->join(leaf, quota, decision, local(now));
        if (!waits) {
            limiter_->give_up(*thread_, decision);
        }
    }
    std::optional<DecidedRequest> request;
    if (!waits) {
        request = decided(quota, decision);
    }
    limiter_->quiescent(*thread_);
    return request;
}

std::vector<DecidedRequest> SimulatedSidecar::serve_waiting(Instant now) {
    return waiting_ ? waiting_->serve(local(now)) : std::vector<DecidedRequest>();
}

void SimulatedSidecar::finish(limiter::Charge charge) { limiter_->finish(*thread_, charge); }

/// Clocks drift and leap, so the difference between the two is found anew each time.
void SimulatedSidecar::show_wall_clock(Instant now) {
    if (wall_ahead_) {
        engine_->set_wall_clock(*wall_ahead_ + (now - local(now)));
    }
}

void SimulatedSidecar::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    engine_->receive(datagram, from, local(now));
}

void SimulatedSidecar::refused(const Endpoint& address, Instant now) {
    engine_->refused(address, local(now));
}

void SimulatedSidecar::tick(Instant now) {
    if (++ticks_ % kMaintainTicks == 0) {
        limiter_->maintain(local(now));
    }
    show_wall_clock(now);
    if (!is_resting(local(now))) {
        ticked_ = local(now);
        engine_->tick(ticked_);
        shift_clock(engine_->take_clock_lag());
    }
}

/// The World ticks in short intervals. The engine asks for longer ones while it has nothing to do.
bool SimulatedSidecar::is_resting(Instant now) const {
    constexpr Duration shortest = engine::TickPace::kInterval;
    const Instant next = engine_->next_tick();
    return rests_ && next - ticked_ > shortest && next - now > shortest / 2;
}

}  // namespace weir::sim
