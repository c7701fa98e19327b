#include "engine/engine.h"

#include <utility>

#include "definitions/exchange.h"
#include "definitions/store.h"
#include "definitions/stream.h"
#include "engine/bulk_definitions.h"
#include "engine/definition_feed.h"
#include "engine/definition_peers.h"
#include "engine/generators.h"
#include "engine/stop_detector.h"
#include "engine/tick_pace.h"
#include "engine/transport_settings.h"
#include "limiter/limiter.h"
#include "membership/transport.h"
#include "sync/counter_exchange.h"

namespace weir::engine {

class Engine::Implementation {
  public:
    Implementation(EngineOptions options, limiter::Limiter& limiter, const Generators& generators);

    void start(Instant now);
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    void refused(const Endpoint& address, Instant now);
    void tick(Instant now);
    bool apply_definitions(Instant now);
    void goodbye(Instant now);
    void set_seeds(std::vector<Endpoint> seeds, bool looked_up, Instant now);
    void set_keys(const std::vector<gossip::Key>& keys);
    [[nodiscard]] std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }
    [[nodiscard]] Duration take_clock_lag() { return std::exchange(clock_lag_, Duration::zero()); }
    [[nodiscard]] EngineStatistics statistics() const;

    [[nodiscard]] ReportSources sources() const {
        return {transport_, counters_, options_.sync, store_, exchange_};
    }
    [[nodiscard]] limiter::Limiter& limiter() { return limiter_; }
    [[nodiscard]] membership::Transport& transport() { return transport_; }
    [[nodiscard]] sync::CounterExchange& counters() { return counters_; }
    [[nodiscard]] definitions::DefinitionStore& store() { return store_; }
    [[nodiscard]] definitions::DefinitionExchange& exchange() { return exchange_; }
    [[nodiscard]] BulkDefinitions& bulk() { return bulk_; }
    [[nodiscard]] Instant next_tick() const { return pace_.next(); }

  private:
    void receive_message(const membership::Received& message);
    void receive_definitions(const membership::Received& message);
    void follow_membership();
    void notice_stop();
    void tick_cluster();
    void flush();

    EngineOptions options_;
    limiter::Limiter& limiter_;
    gossip::SystemNonces system_nonces_;
    gossip::NonceSource& nonces_;
    membership::Transport transport_;
    sync::CounterExchange counters_;
    definitions::DefinitionStore store_;
    definitions::DefinitionExchange exchange_;
    BulkDefinitions bulk_;
    DefinitionPeers definition_peers_;
    DefinitionFeed feed_;
    TickPace pace_;
    StopDetector stops_;

    Instant now_{};
    Duration clock_lag_{};
    bool left_ = false;
    std::vector<Outgoing> outgoing_;
};

Engine::Implementation::Implementation(EngineOptions options, limiter::Limiter& limiter,
                                       const Generators& generators)
    : options_(std::move(options)),
      limiter_(limiter),
      nonces_(options_.nonces != nullptr ? *options_.nonces : system_nonces_),
      transport_(transport_settings(options_), options_.keys, nonces_, generators.transport),
      counters_(options_.sync, limiter, transport_, generators.reporter, generators.owner,
                options_.ledger),
      store_(generators.store),
      exchange_(store_, generators.exchange),
      bulk_(options_.cluster_name, options_.keys, nonces_, transport_, store_, exchange_),
      definition_peers_(exchange_, transport_),
      feed_(store_, limiter_, counters_),
      stops_(options_.sync.stop_threshold) {
    exchange_.set_agree_after(options_.agree_after);
    counters_.set_alone(!options_.clustered);
}

void Engine::Implementation::start(Instant now) {
    now_ = now;
    pace_.start(now);
    stops_.expect(pace_.next());
    transport_.start(now);
    counters_.start(now);
    if (options_.clustered) {
        flush();
    }
}

void Engine::Implementation::set_seeds(std::vector<Endpoint> seeds, bool looked_up, Instant now) {
    transport_.set_seeds(seeds);
    counters_.set_seeds(std::move(seeds), looked_up, now);
}

void Engine::Implementation::set_keys(const std::vector<gossip::Key>& keys) {
    transport_.set_keys(keys);
    bulk_.set_keys(keys);
}

void Engine::Implementation::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    if (!options_.clustered || left_) {
        return;
    }
    if (stops_.discards(now)) {
        ++counters_.counters().discarded_after_stop;
        return;
    }
    now_ = now;
    const auto messages = transport_.receive(datagram, from, now);
    follow_membership();
    if (stops_.lags(transport_.clock_behind(now), now)) {
        ++counters_.counters().discarded_after_stop;
        return;
    }
    const membership::Received* answered = nullptr;
    for (const membership::Received& message : messages) {
        receive_message(message);
        if (message.type == gossip::MessageType::delta) {
            answered = &message;
        }
    }
    if (answered != nullptr) {
        counters_.answered(answered->sender, now_);
    }
    flush();
}

void Engine::Implementation::receive_message(const membership::Received& message) {
    counters_.heard(message.sender, now_);
    if (gossip::lane_of(message.type) == gossip::Lane::definitions) {
        receive_definitions(message);
    } else {
        pace_.note_work(gossip::lane_of(message.type) == gossip::Lane::counters, now_);
        counters_.receive(message, now_);
    }
}

void Engine::Implementation::receive_definitions(const membership::Received& message) {
    const std::uint64_t epochs = store_.counters().refused_epochs;
    const bool good =
        exchange_.receive(message.sender, message.type, message.payload, now_, transport_);
    if (!good || store_.counters().refused_epochs != epochs) {
        counters_.blame(message.sender, now_);
    }
}

void Engine::Implementation::follow_membership() {
    const std::vector<membership::MembershipEvent> events = transport_.take_events();
    if (!events.empty()) {
        definition_peers_.members_changed();
        pace_.note_work(true, now_);
    }
    for (const membership::MembershipEvent& event : events) {
        using enum membership::MembershipEvent::Kind;
        if (event.kind == left || event.kind == replaced) {
            exchange_.note_gone(event.member);
        }
    }
    counters_.follow(events, now_);
}

void Engine::Implementation::refused(const Endpoint& address, Instant now) {
    if (!options_.clustered || left_) {
        return;
    }
    now_ = now;
    if (const membership::Member* member = transport_.membership().find(address)) {
        const gossip::MemberId id = member->id;
        if (counters_.nobody_there(id, now)) {
            transport_.question(id, now);
            flush();
        }
    }
}

void Engine::Implementation::tick(Instant now) {
    now_ = now;
    if (left_) {
        return;
    }
    if (const Duration lag = stops_.take_lag(now); lag > Duration::zero()) {
        transport_.caught_up(lag, now);
        clock_lag_ = lag;
        return;
    }
    pace_.tick(now);
    store_.tick(now);
    if (options_.clustered) {
        notice_stop();
        if (!stops_.discarding(now_)) {
            tick_cluster();
        }
    } else {
        // There are no peers to which edits could be sent.
        (void)store_.take_edited();
        (void)store_.take_overtaken();
        counters_.tick_alone(now_);
    }
    pace_.note_work(feed_.tick(now_, pace_.is_tenth()), now_);
    stops_.expect(pace_.next());
}

bool Engine::Implementation::apply_definitions(Instant now) {
    now_ = std::max(now_, now);
    return feed_.take_changes(now_);
}

/// The peers are asked only when the datagrams that waited in the socket have been discarded:
/// earlier the answers would be discarded, too, and a member that was given up meanwhile would
/// admit its share unnoticed until it asks again.
void Engine::Implementation::notice_stop() {
    if (stops_.is_late(now_)) {
        ++counters_.counters().stops;
        pace_.note_work(true, now_);
        stops_.begin_discarding(now_);
    }
    if (stops_.take_recovered(now_)) {
        counters_.stopped(now_);
    }
}

void Engine::Implementation::tick_cluster() {
    if (now_ >= transport_.next_tick()) {
        transport_.tick(now_);
    }
    follow_membership();
    counters_.tick(now_, pace_.number());
    if (pace_.is_tenth()) {
        definition_peers_.tick(now_);
    }
    pace_.note_work(counters_.is_at_work(), now_);
    pace_.hurry(transport_.is_at_work());
    flush();
}

void Engine::Implementation::flush() {
    for (membership::OutgoingDatagram& datagram : transport_.flush(now_)) {
        outgoing_.push_back({datagram.to, std::move(datagram.bytes)});
    }
}

void Engine::Implementation::goodbye(Instant now) {
    if (left_) {
        return;
    }
    now_ = now;
    if (!options_.clustered) {
        counters_.leave_alone(now);
        return;
    }
    transport_.grant_last_words();
    counters_.begin_leaving(now);
    transport_.begin_leaving();
    counters_.leave(now);
    flush();
    transport_.goodbye();
    flush();
    left_ = true;
}

EngineStatistics Engine::Implementation::statistics() const {
    EngineStatistics statistics = report_statistics(sources(), now_);
    statistics.bulk = bulk_.counters();
    return statistics;
}

Engine::Engine(EngineOptions options, limiter::Limiter& limiter, std::uint64_t seed)
    : implementation_(
          std::make_unique<Implementation>(std::move(options), limiter, Generators(seed))) {}
Engine::~Engine() = default;

void Engine::start(Instant now) { implementation_->start(now); }
void Engine::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    implementation_->receive(datagram, from, now);
}
void Engine::refused(const Endpoint& address, Instant now) {
    implementation_->refused(address, now);
}
void Engine::tick(Instant now) { implementation_->tick(now); }
void Engine::set_wall_clock(Duration ahead) { implementation_->counters().set_wall_clock(ahead); }
bool Engine::apply_definitions(Instant now) { return implementation_->apply_definitions(now); }
Instant Engine::next_tick() const { return implementation_->next_tick(); }
Duration Engine::take_clock_lag() { return implementation_->take_clock_lag(); }
std::vector<Outgoing> Engine::take_outgoing() { return implementation_->take_outgoing(); }
void Engine::set_seeds(std::vector<Endpoint> seeds, bool looked_up, Instant now) {
    implementation_->set_seeds(std::move(seeds), looked_up, now);
}
void Engine::set_keys(const std::vector<gossip::Key>& keys) { implementation_->set_keys(keys); }
void Engine::goodbye(Instant now) { implementation_->goodbye(now); }
std::vector<PeerReport> Engine::peers(Instant now) const {
    return report_peers(implementation_->sources(), now);
}
std::optional<InstanceReport> Engine::quota_status(std::string_view name, Instant now) {
    return report_quota(implementation_->sources(), implementation_->limiter(), name, now);
}
EngineStatistics Engine::statistics() const { return implementation_->statistics(); }
SealStatus Engine::seal_status(Instant now) const {
    return report_seal(implementation_->transport(), now);
}
std::vector<sync::LimitSilence> Engine::silences(std::size_t most, Instant now) const {
    return implementation_->counters().reporter().silences(most, now);
}
std::vector<sync::LaterKind> Engine::later_kinds(Instant now) const {
    return implementation_->counters().later_kinds(now);
}
std::size_t Engine::uncertain_windows() const {
    return implementation_->counters().uncertain_windows();
}
std::vector<std::uint32_t> Engine::key_ids() const {
    return implementation_->transport().key_ids();
}
std::uint64_t Engine::incarnation() const {
    return implementation_->transport().self().incarnation;
}
void Engine::set_bulk(bool possible) { implementation_->exchange().set_bulk(possible); }
std::unique_ptr<definitions::DefinitionPull> Engine::take_pull() {
    return implementation_->bulk().take_pull();
}
void Engine::end_pull(definitions::DefinitionPull& pull, Instant now) {
    implementation_->bulk().end_pull(pull, now);
}
std::unique_ptr<definitions::DefinitionServe> Engine::serve_pull() {
    return implementation_->bulk().serve_pull();
}
sync::KeptCounts& Engine::kept_counts() { return implementation_->counters().kept_counts(); }
sync::KeptLevels& Engine::kept_levels() { return implementation_->counters().kept_levels(); }
const sync::CounterExchange& Engine::counters() const { return implementation_->counters(); }
std::vector<definitions::FileDifference> Engine::file_differences() const {
    return implementation_->exchange().differences();
}
definitions::DefinitionStore& Engine::definitions() { return implementation_->store(); }

}  // namespace weir::engine
