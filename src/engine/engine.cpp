#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "engine/definition_store.h"
#include "engine/definition_sync.h"
#include "engine/hot_table.h"
#include "engine/owner.h"
#include "engine/reporter.h"
#include "engine/silence.h"
#include "gossip/transport.h"
#include "limiter/limiter.h"

namespace weir::engine {
namespace {

constexpr Duration kTickInterval = std::chrono::milliseconds(10);
/// After a stop, what waited in the socket is read in this time.
constexpr Duration kDiscardTime = std::chrono::milliseconds(30);
constexpr std::uint64_t kDefinitionsEvery = 10;  // ticks
/// In a large fleet going through all peers costs: only edits are pushed at once.
constexpr std::size_t kLargeFleet = 64;
constexpr std::uint64_t kDefinitionsEveryInLargeFleet = 50;
constexpr std::uint64_t kHintsEvery = 25;
constexpr std::uint64_t kSecond = 100;
/// Up to so many changed definitions are applied one by one.
constexpr std::size_t kFewChanges = 64;

}  // namespace

class Engine::Implementation final : public DeltaSink, public OwnerSink {
  public:
    Implementation(Options options, limiter::Limiter& limiter, std::uint64_t seed);

    void start(Instant now);
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    void tick(Instant now);
    void goodbye(Instant now);
    [[nodiscard]] std::vector<Outgoing> take_outgoing();
    [[nodiscard]] std::vector<PeerStatus> peers(Instant now) const;
    [[nodiscard]] std::optional<QuotaStatus> quota_status(std::string_view name, Instant now);
    [[nodiscard]] Statistics statistics() const;

    // DeltaSink and OwnerSink: what is for ourselves goes there at once, without the network.
    void send_delta(const gossip::MemberId& owner, const gossip::DeltaEntry& entry) override;
    void send_total(const gossip::MemberId& to, const gossip::TotalEntry& entry) override;
    void send_handover(const gossip::MemberId& to, const gossip::HandoverEntry& entry) override;
    void ask_name(const gossip::MemberId& to, const gossip::LimitKey& key) override;
    void ask_owner(const gossip::MemberId& to, std::uint16_t shards) override;

    [[nodiscard]] gossip::Transport& transport() { return transport_; }
    [[nodiscard]] const gossip::Transport& transport() const { return transport_; }
    [[nodiscard]] DefinitionStore& store() { return store_; }
    [[nodiscard]] bool clustered() const { return options_.clustered; }
    [[nodiscard]] Instant next_tick() const { return last_tick_ + kTickInterval; }

  private:
    void receive_message(const gossip::Received& message);
    void receive_counters(const gossip::Received& message, MemberNumber sender);
    void receive_delta(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_total(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_handover(ByteReader& reader, MemberNumber sender);
    void receive_name_ask(ByteReader& reader, const gossip::MemberId& from);
    void receive_name_tell(ByteReader& reader, MemberNumber sender);
    void receive_hint(ByteReader& reader, MemberNumber sender);
    void follow_membership();
    void follow(const gossip::MembershipEvent& event);
    void follow_owners();
    void fill_from_views(gossip::Shard shard);
    void stopped();
    void tick_definitions();
    void apply_definitions();
    void renew_hints();
    void note_load();
    void flush();
    [[nodiscard]] bool resolve(const gossip::LimitKey& key, std::string& name,
                               limiter::LimitParameters& parameters) const;
    template <class Entry>
    void send_entry(const gossip::MemberId& to, gossip::MessageType type, const Entry& entry);
    void refuse_values(MemberNumber sender);

    Options options_;
    limiter::Limiter& limiter_;
    Random random_;
    gossip::SystemNonces system_nonces_;
    SyncStatistics counters_;
    Silence silence_;
    Reporter reporter_;
    Owner owner_;
    HotTable hot_;
    gossip::Transport transport_;
    DefinitionStore store_;
    DefinitionSync definition_sync_;

    gossip::MemberId self_;
    MemberNumber self_number_ = 0;
    std::vector<gossip::MemberId> peers_;
    bool peers_changed_ = true;
    Instant now_{};
    Instant last_tick_{};
    Instant discard_until_{};
    bool left_ = false;
    std::uint64_t ticks_ = 0;
    std::uint64_t load_at_ = 0;
    std::uint64_t edits_seen_ = 0;
    std::size_t hint_offset_ = 0;
    std::vector<Outgoing> outgoing_;
};

namespace {

gossip::TransportSettings transport_settings(const Options& options) {
    gossip::TransportSettings settings;
    settings.cluster_name = options.cluster_name;
    settings.self = options.advertise;
    settings.flags.anchor = options.anchor;
    return settings;
}

}  // namespace

Engine::Implementation::Implementation(Options options, limiter::Limiter& limiter,
                                       std::uint64_t seed)
    : options_(std::move(options)),
      limiter_(limiter),
      random_(seed),
      silence_(options_.sync, counters_),
      reporter_(options_.sync, limiter, random_.fork(), counters_),
      owner_(
          options_.sync, silence_, random_.fork(),
          [this](const gossip::LimitKey& key, std::string& name,
                 limiter::LimitParameters& parameters) { return resolve(key, name, parameters); },
          counters_),
      hot_(options_.sync.hot_limits),
      transport_(transport_settings(options_), options_.keys,
                 options_.nonces != nullptr ? *options_.nonces : system_nonces_, random_.fork()),
      store_(random_.next()),
      definition_sync_(store_, random_.fork()) {}

void Engine::Implementation::start(Instant now) {
    now_ = last_tick_ = now;
    transport_.start(now);
    self_ = transport_.self();
    self_number_ = silence_.number(self_, now);
    reporter_.set_self(self_);
    owner_.set_self(self_);
    owner_.start(transport_.owners(), now);
    if (options_.clustered) flush();
}

void Engine::Implementation::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    if (!options_.clustered || left_) return;
    // Written to a process that was stopped: what it says was true then.
    if (now - last_tick_ > options_.sync.stop_threshold + kTickInterval || now < discard_until_) {
        ++counters_.discarded_after_stop;
        return;
    }
    now_ = now;
    const auto messages = transport_.receive(datagram, from, now);
    follow_membership();
    for (const gossip::Received& message : messages) receive_message(message);
    flush();
}

void Engine::Implementation::receive_message(const gossip::Received& message) {
    const MemberNumber sender = silence_.number(message.sender, now_);
    silence_.heard(sender, now_);
    if (gossip::lane_of(message.type) == gossip::Lane::definitions) {
        if (!definition_sync_.receive(message.sender, message.type, message.payload, now_,
                                      transport_)) {
            silence_.refused(sender);
        }
        return;
    }
    receive_counters(message, sender);
}

void Engine::Implementation::receive_counters(const gossip::Received& message,
                                              MemberNumber sender) {
    ByteReader reader(message.payload);
    if (message.type == gossip::MessageType::owner_ask) {
        owner_.owner_asked(message.sender, reader.u16(), now_, *this);
        return;
    }
    while (reader.ok() && reader.remaining() > 0) {
        switch (message.type) {
            case gossip::MessageType::delta:
                receive_delta(reader, message.sender, sender);
                break;
            case gossip::MessageType::total:
                receive_total(reader, message.sender, sender);
                break;
            case gossip::MessageType::handover:
                receive_handover(reader, sender);
                break;
            case gossip::MessageType::name_ask:
                receive_name_ask(reader, message.sender);
                break;
            case gossip::MessageType::name_tell:
                receive_name_tell(reader, sender);
                break;
            case gossip::MessageType::hints:
                receive_hint(reader, sender);
                break;
            default:
                return;
        }
    }
    if (!reader.ok()) refuse_values(sender);
}

void Engine::Implementation::refuse_values(MemberNumber sender) {
    ++counters_.refused_values;
    silence_.refused(sender);
}

void Engine::Implementation::receive_delta(ByteReader& reader, const gossip::MemberId& from,
                                           MemberNumber sender) {
    const gossip::DeltaEntry entry = gossip::decode_delta(reader);
    if (!reader.ok()) return;
    ++counters_.deltas_received;
    owner_.receive(from, sender, entry, now_, *this);
}

void Engine::Implementation::receive_total(ByteReader& reader, const gossip::MemberId& from,
                                           MemberNumber sender) {
    const gossip::TotalEntry entry = gossip::decode_total(reader);
    if (!reader.ok()) return;
    if (!gossip::plausible(entry)) return refuse_values(sender);
    reporter_.receive(from, entry, now_);
}

void Engine::Implementation::receive_handover(ByteReader& reader, MemberNumber sender) {
    const gossip::HandoverEntry entry = gossip::decode_handover(reader);
    if (!reader.ok()) return;
    if (!gossip::plausible(entry)) return refuse_values(sender);
    ++counters_.handovers_received;
    owner_.receive(entry, now_);
    const OwnedLimit* limit = owner_.find(entry.key);
    if (limit != nullptr && !limit->parameters) ask_name(silence_.id(sender), entry.key);
}

void Engine::Implementation::receive_name_ask(ByteReader& reader, const gossip::MemberId& from) {
    const gossip::LimitKey key = gossip::decode_key(reader);
    if (!reader.ok()) return;
    gossip::NameEntry entry;
    limiter::LimitParameters parameters;
    entry.key = key;
    if (!resolve(key, entry.name, parameters)) {
        const OwnedLimit* limit = owner_.find(key);
        if (limit == nullptr || limit->name.empty() || !limit->parameters) return;
        entry.name = limit->name;
        parameters = *limit->parameters;
    }
    entry.rate = parameters.rate;
    entry.low = parameters.low;
    entry.high = parameters.high;
    entry.debt = limiter::debt(parameters, 1);
    entry.law = static_cast<std::uint8_t>(parameters.law);
    ++counters_.names_told;
    send_entry(from, gossip::MessageType::name_tell, entry);
}

void Engine::Implementation::receive_name_tell(ByteReader& reader, MemberNumber sender) {
    const gossip::NameEntry entry = gossip::decode_name(reader);
    if (!reader.ok()) return;
    if (!gossip::plausible(entry)) return refuse_values(sender);
    owner_.name_told(entry, now_);
}

void Engine::Implementation::receive_hint(ByteReader& reader, MemberNumber sender) {
    const gossip::HotEntry entry = gossip::decode_hot(reader);
    if (!reader.ok()) return;
    if (!gossip::plausible(entry)) return refuse_values(sender);
    if (hot_.note(entry, now_)) reporter_.rumour(entry, now_);
}

/// By name if the limit is used here; else by the name that was told and our own definitions.
bool Engine::Implementation::resolve(const gossip::LimitKey& key, std::string& name,
                                     limiter::LimitParameters& parameters) const {
    if (const SyncedLimit* synced = reporter_.find(key)) {
        name = synced->name;
        parameters = synced->parameters;
        return true;
    }
    if (name.empty() || key.unit >= limiter::kUnits) return false;
    const auto found = limiter_.resolve_parameters(name, static_cast<limiter::Unit>(key.unit),
                                                   std::chrono::milliseconds(key.period_ms));
    if (found) parameters = *found;
    return found.has_value();
}

template <class Entry>
void Engine::Implementation::send_entry(const gossip::MemberId& to, gossip::MessageType type,
                                        const Entry& entry) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    gossip::encode(writer, entry);
    if (!writer.ok() || !transport_.send(to, type, writer.written())) ++counters_.dropped_entries;
}

void Engine::Implementation::send_delta(const gossip::MemberId& owner,
                                        const gossip::DeltaEntry& entry) {
    if (owner == self_) {
        owner_.receive(self_, self_number_, entry, now_, *this);
    } else {
        send_entry(owner, gossip::MessageType::delta, entry);
    }
}

void Engine::Implementation::send_total(const gossip::MemberId& to,
                                        const gossip::TotalEntry& entry) {
    ++counters_.totals_sent;
    if (to == self_) {
        reporter_.receive(self_, entry, now_);
    } else {
        send_entry(to, gossip::MessageType::total, entry);
    }
}

void Engine::Implementation::send_handover(const gossip::MemberId& to,
                                           const gossip::HandoverEntry& entry) {
    if (to != self_) send_entry(to, gossip::MessageType::handover, entry);
}

void Engine::Implementation::ask_name(const gossip::MemberId& to, const gossip::LimitKey& key) {
    if (to != self_) send_entry(to, gossip::MessageType::name_ask, key);
}

void Engine::Implementation::ask_owner(const gossip::MemberId& to, std::uint16_t shards) {
    std::array<std::byte, 2> buffer;
    ByteWriter writer(buffer);
    writer.u16(shards);
    if (!transport_.send(to, gossip::MessageType::owner_ask, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void Engine::Implementation::follow_membership() {
    for (const gossip::MembershipEvent& event : transport_.take_events()) follow(event);
    follow_owners();
}

void Engine::Implementation::follow(const gossip::MembershipEvent& event) {
    using Kind = gossip::MembershipEvent::Kind;
    peers_changed_ = true;
    switch (event.kind) {
        case Kind::left:
        case Kind::replaced:
            silence_.gone(event.member, now_);
            break;
        case Kind::renewed:
            self_ = event.member;
            self_number_ = silence_.number(self_, now_);
            reporter_.set_self(self_);
            owner_.set_self(self_);
            break;
        case Kind::joined:
            silence_.heard(silence_.number(event.member, now_), now_);
            break;
        default:
            break;
    }
}

void Engine::Implementation::follow_owners() {
    for (const gossip::OwnerChange& change : transport_.take_owner_changes()) {
        const bool owned = owner_.owns(change.shard);
        owner_.shard_changed(change, now_, *this);
        if (!owned && owner_.owns(change.shard)) fill_from_views(change.shard);
        reporter_.shard_changed(change.shard, change.after, now_);
    }
}

/// A shard is ours now: what our own views believe is better than nothing. The others' rates are
/// those of former owners' knowledge; if all of these are silent, it is a split, and they are held.
void Engine::Implementation::fill_from_views(gossip::Shard shard) {
    reporter_.for_each_in_shard(shard, [&](const SyncedLimit& limit) {
        const View* view = limit.believed(options_.sync, now_);
        if (view == nullptr || !view->filled()) return;
        gossip::HandoverEntry entry;
        entry.key = limit.key;
        entry.level = std::max(0.0, view->bucket().level);
        entry.shedding = view->bucket().shedding;
        entry.heaviest = view->bucket().heaviest;
        entry.typical = limit.own.typical;
        const bool split = !view->fresh(options_.sync, now_);
        (split ? entry.held_rate : entry.rate) = view->others_rate();
        entry.hold_left =
            split ? options_.sync.split_hold - (now_ - *view->heard_at()) : Duration::zero();
        owner_.fill(entry, limit.name, limit.parameters, now_);
    });
}

void Engine::Implementation::stopped() {
    ++counters_.stops;
    discard_until_ = now_ + kDiscardTime;
    silence_.restart(now_);
    reporter_.stopped();
    owner_.stopped(now_, transport_.owners(), *this);
}

void Engine::Implementation::tick(Instant now) {
    now_ = now;
    if (left_) return;
    ++ticks_;
    const bool late = now - last_tick_ > options_.sync.stop_threshold + kTickInterval;
    last_tick_ = now;
    if (options_.clustered) {
        if (late) stopped();
        if (now >= transport_.next_tick()) transport_.tick(now);
        follow_membership();
        reporter_.tick(now, transport_.owners(), hot_, *this);
        owner_.tick(now, *this);
        if (ticks_ % kHintsEvery == 0) renew_hints();
        if (ticks_ % kSecond == 0) note_load();
        if (ticks_ % (10 * kSecond) == 0) silence_.forget_old(now);
        if (ticks_ % kDefinitionsEvery == 0) tick_definitions();
        flush();
    } else if (ticks_ % kDefinitionsEvery == 0) {
        store_.tick(now);
    }
    apply_definitions();
}

void Engine::Implementation::tick_definitions() {
    store_.tick(now_);
    const std::uint64_t edits = store_.counters().edits;
    const bool large = transport_.membership().live_count() > kLargeFleet;
    if (large && edits == edits_seen_ && definition_sync_.settled() &&
        ticks_ % kDefinitionsEveryInLargeFleet != 0) {
        return;
    }
    edits_seen_ = edits;
    if (peers_changed_) {
        peers_.clear();
        for (const gossip::Member& member : transport_.membership().live()) {
            peers_.push_back(member.id);
        }
        peers_changed_ = false;
    }
    definition_sync_.tick(now_, peers_, transport_);
}

void Engine::Implementation::apply_definitions() {
    const std::vector<DefinitionChange> changes = store_.take_changes();
    if (changes.empty()) return;
    if (changes.size() > kFewChanges) {
        static_cast<void>(limiter_.apply(store_.in_force(), now_));
    } else {
        // The store has validated them; were the limiter to object, it would keep what it has.
        for (const DefinitionChange& change : changes) {
            static_cast<void>(change.definition ? limiter_.upsert(*change.definition, now_)
                                                : limiter_.erase(change.name, now_));
        }
    }
    reporter_.refresh_parameters();
    owner_.refresh_parameters();
}

void Engine::Implementation::renew_hints() {
    hot_.forget_old(now_);
    owner_.note_hot(hot_, now_);
    transport_.set_hints(hot_.encode(now_, gossip::kMaximumHints, hint_offset_));
    if (hot_.size() > 0) hint_offset_ = (hint_offset_ + hot_.size() / 2 + 1) % hot_.size();
}

void Engine::Implementation::note_load() {
    const gossip::TransportCounters& counters = transport_.counters();
    const std::uint64_t load = std::max(counters.datagrams_in, counters.datagrams_out);
    owner_.note_load(load - load_at_);
    load_at_ = load;
}

void Engine::Implementation::flush() {
    for (gossip::OutgoingDatagram& datagram : transport_.flush(now_)) {
        outgoing_.push_back({datagram.to, std::move(datagram.bytes)});
    }
}

std::vector<Outgoing> Engine::Implementation::take_outgoing() {
    return std::exchange(outgoing_, {});
}

void Engine::Implementation::goodbye(Instant now) {
    if (left_ || !options_.clustered) return;
    now_ = now;
    reporter_.tick(now, transport_.owners(), hot_, *this);
    transport_.begin_leaving(now);
    owner_.leave(transport_.owners(), now, *this);
    flush();
    transport_.goodbye(now);
    flush();
    left_ = true;
}

std::vector<PeerStatus> Engine::Implementation::peers(Instant now) const {
    std::vector<PeerStatus> peers;
    peers.push_back({self_.address, self_.incarnation, "alive", Duration::zero(), true});
    const auto add = [&](const gossip::Member& member) {
        peers.push_back({member.id.address, member.id.incarnation, gossip::to_string(member.state),
                         now - member.last_heard, false});
    };
    for (const gossip::Member& member : transport_.membership().live()) add(member);
    for (const gossip::Member& member : transport_.membership().recently_gone(now)) add(member);
    return peers;
}

std::optional<QuotaStatus> Engine::Implementation::quota_status(std::string_view name,
                                                                Instant now) {
    const std::vector<limiter::LimitStatus> limits = limiter_.inspect(name, now);
    if (limits.empty()) return std::nullopt;
    QuotaStatus quota{std::string(name), {}};
    for (const limiter::LimitStatus& each : limits) {
        LimitStatus status;
        status.unit = limiter::to_string(each.limit.unit);
        status.period = each.limit.period;
        status.amount_per_second = each.parameters.rate;
        status.low = each.parameters.low;
        status.high = each.parameters.high;
        status.level = each.level;
        status.offered_rate = each.fleet_offered_rate;
        status.local_offered_rate = each.offered_rate;
        status.discard_probability = each.discard_probability;
        status.fleet_wide = each.limit.scope == limiter::Scope::fleet;
        gossip::LimitKey key;
        key.quota = gossip::quota_hash(name);
        key.unit = static_cast<std::uint8_t>(each.limit.unit);
        key.period_ms = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(each.limit.period).count());
        const SyncedLimit* synced = status.fleet_wide ? reporter_.find(key) : nullptr;
        if (synced != nullptr) {
            status.origins = synced->origins();
            for (const View& view : synced->views) {
                status.owners.push_back(view.owner().address);
                if (view.fresh(options_.sync, now)) status.heard.push_back(view.owner().address);
            }
        }
        quota.limits.push_back(std::move(status));
    }
    return quota;
}

Statistics Engine::Implementation::statistics() const {
    Statistics statistics;
    statistics.sync = counters_;
    statistics.synced_limits = reporter_.size();
    statistics.owned_limits = owner_.size();
    statistics.cells = owner_.cells();
    statistics.hot_limits = hot_.size();
    const gossip::TransportCounters& counters = transport_.counters();
    statistics.datagrams_in = counters.datagrams_in;
    statistics.datagrams_out = counters.datagrams_out;
    statistics.bytes_in = counters.bytes_in;
    statistics.bytes_out = counters.bytes_out;
    for (std::size_t i = 0; i < counters.messages_in.size(); ++i) {
        const std::string type(gossip::to_string(static_cast<gossip::MessageType>(i)));
        if (counters.messages_in[i] > 0) statistics.messages_in[type] += counters.messages_in[i];
        if (counters.messages_out[i] > 0) statistics.messages_out[type] += counters.messages_out[i];
    }
    for (std::size_t i = 0; i < gossip::kRejections; ++i) {
        const auto reason = static_cast<gossip::Rejection>(i);
        if (counters.rejected[reason] > 0) {
            statistics.rejected[std::string(gossip::to_string(reason))] = counters.rejected[reason];
        }
    }
    for (const gossip::Member& member : transport_.membership().live()) {
        ++statistics.peers_by_state[std::string(gossip::to_string(member.state))];
    }
    for (const gossip::Member& member : transport_.membership().recently_gone(now_)) {
        ++statistics.peers_by_state[std::string(gossip::to_string(member.state))];
    }
    if (const auto* worst = silence_.most_refused(statistics.most_refused_count)) {
        statistics.most_refused_peer = worst->address;
    }
    statistics.staleness = reporter_.staleness(now_);
    return statistics;
}

Engine::Engine(Options options, limiter::Limiter& limiter, std::uint64_t seed)
    : implementation_(std::make_unique<Implementation>(std::move(options), limiter, seed)) {}
Engine::~Engine() = default;

void Engine::start(Instant now) { implementation_->start(now); }
void Engine::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    implementation_->receive(datagram, from, now);
}
void Engine::tick(Instant now) { implementation_->tick(now); }
Instant Engine::next_tick() const { return implementation_->next_tick(); }
std::vector<Outgoing> Engine::take_outgoing() { return implementation_->take_outgoing(); }
void Engine::set_seeds(std::vector<Endpoint> seeds) {
    implementation_->transport().set_seeds(std::move(seeds));
}
void Engine::set_keys(const std::vector<GossipKey>& keys) {
    implementation_->transport().set_keys(keys);
}
void Engine::goodbye(Instant now) { implementation_->goodbye(now); }
std::vector<PeerStatus> Engine::peers(Instant now) const { return implementation_->peers(now); }
std::optional<QuotaStatus> Engine::quota_status(std::string_view name, Instant now) {
    return implementation_->quota_status(name, now);
}
Statistics Engine::statistics() const { return implementation_->statistics(); }
std::uint64_t Engine::incarnation() const {
    return implementation_->transport().self().incarnation;
}
DefinitionStore& Engine::definitions() { return implementation_->store(); }

}  // namespace weir::engine
