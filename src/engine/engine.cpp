#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "definitions/exchange.h"
#include "definitions/store.h"
#include "definitions/stream.h"
#include "limiter/limiter.h"
#include "membership/transport.h"
#include "sync/delta_packets.h"
#include "sync/hot_table.h"
#include "sync/load_meter.h"
#include "sync/owner.h"
#include "sync/reporter.h"
#include "sync/silence.h"

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
/// Of hot limits in a ping: half of the 64 that are known; the other half is in the next.
constexpr std::size_t kHintBytes = 500;
constexpr std::uint64_t kSecond = 100;
constexpr Duration kLoadEvery = std::chrono::seconds(1);
/// So many changed definitions reach the limiter at once: a few milliseconds of work.
constexpr std::size_t kChangesPerTick = 4096;

}  // namespace

class Engine::Implementation final : public sync::DeltaSink, public sync::OwnerSink {
  public:
    Implementation(Options options, limiter::Limiter& limiter, std::uint64_t seed);

    void start(Instant now);
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    void refused(const Endpoint& address, Instant now);
    void tick(Instant now);
    void goodbye(Instant now);
    [[nodiscard]] std::vector<Outgoing> take_outgoing();
    [[nodiscard]] std::vector<PeerStatus> peers(Instant now) const;
    [[nodiscard]] std::optional<QuotaStatus> quota_status(std::string_view name, Instant now);
    [[nodiscard]] Statistics statistics() const;
    [[nodiscard]] SealStatus seal_status(Instant now) const;

    // DeltaSink and OwnerSink: what is for ourselves goes there at once, without the network.
    void send_delta(const gossip::MemberId& owner, const sync::DeltaEntry& entry) override;
    void send_total(const gossip::MemberId& to, const sync::TotalEntry& entry) override;
    void send_handover(const gossip::MemberId& to, const sync::HandoverEntry& entry) override;
    void ask_name(const gossip::MemberId& to, const sync::LimitKey& key) override;
    void ask_owner(const gossip::MemberId& to, std::uint16_t shards) override;

    [[nodiscard]] std::unique_ptr<definitions::DefinitionPull> take_pull();
    void end_pull(definitions::DefinitionPull& pull, Instant now);
    [[nodiscard]] std::unique_ptr<definitions::DefinitionServe> serve_pull();
    void set_keys(const std::vector<GossipKey>& keys) {
        transport_.set_keys(keys);
        bulk_sealer_.set_keys(keys);
    }

    [[nodiscard]] definitions::DefinitionExchange& definition_sync() {
        return definition_exchange_;
    }
    [[nodiscard]] const definitions::DefinitionExchange& definition_sync() const {
        return definition_exchange_;
    }
    [[nodiscard]] membership::Transport& transport() { return transport_; }
    [[nodiscard]] const membership::Transport& transport() const { return transport_; }
    [[nodiscard]] const sync::Reporter& reporter() const { return reporter_; }
    [[nodiscard]] definitions::DefinitionStore& store() { return store_; }
    [[nodiscard]] bool clustered() const { return options_.clustered; }
    [[nodiscard]] Instant next_tick() const { return last_tick_ + kTickInterval; }

  private:
    [[nodiscard]] definitions::BulkContext bulk_context();
    [[nodiscard]] PeerStatus::Definitions describe(const definitions::PeerDefinitions& said,
                                                   Instant now) const;
    void receive_message(const membership::Received& message);
    void receive_counters(const membership::Received& message, sync::MemberNumber sender);
    void receive_deltas(ByteReader& reader, const gossip::MemberId& from,
                        sync::MemberNumber sender);
    void receive_answers(ByteReader& reader, const gossip::MemberId& from,
                         sync::MemberNumber sender);
    void receive_total(ByteReader& reader, const gossip::MemberId& from, sync::MemberNumber sender);
    void take_total(const sync::TotalEntry& entry, const gossip::MemberId& from,
                    sync::MemberNumber sender);
    void receive_handover(ByteReader& reader, sync::MemberNumber sender);
    void receive_name_ask(ByteReader& reader, const gossip::MemberId& from);
    void receive_name_tell(ByteReader& reader, sync::MemberNumber sender);
    void receive_hint(ByteReader& reader, sync::MemberNumber sender);
    void follow_membership();
    void follow(const membership::MembershipEvent& event);
    void follow_owners();
    void fill_from_views(membership::Shard shard);
    void notice_stop(bool late);
    [[nodiscard]] bool discarding() const { return now_ < discard_until_; }
    void stopped();
    void tick_cluster();
    void tick_definitions();
    void apply_definitions();
    void renew_hints();
    void note_load();
    void flush();
    [[nodiscard]] bool resolve(const sync::LimitKey& key, std::string& name,
                               limiter::LimitParameters& parameters,
                               limiter::IsolationMode& when_isolated) const;
    template <class Entry>
    void send_entry(const gossip::MemberId& to, gossip::MessageType type, const Entry& entry);
    void refuse_values(sync::MemberNumber sender);
    void refuse_leap(sync::MemberNumber sender);

    Options options_;
    limiter::Limiter& limiter_;
    Random random_;
    gossip::SystemNonces system_nonces_;
    sync::SyncStatistics counters_;
    sync::Silence silence_;
    sync::Reporter reporter_;
    sync::Owner owner_;
    sync::HotTable hot_;
    membership::Transport transport_;
    definitions::DefinitionStore store_;
    definitions::DefinitionExchange definition_exchange_;
    sync::DeltaPackets packets_;
    sync::AnswerPacket* answering_ = nullptr;  // while the deltas of one message are taken in
    gossip::Sealer bulk_sealer_;
    definitions::BulkCounters bulk_counters_;

    gossip::MemberId self_;
    sync::MemberNumber self_number_ = 0;
    std::vector<gossip::MemberId> peers_;
    bool peers_changed_ = true;
    Instant now_{};
    Instant last_tick_{};
    Instant discard_until_{};
    bool left_ = false;
    bool refresh_due_ = false;
    bool was_stopped_ = false;
    std::uint64_t ticks_ = 0;
    sync::LoadMeter load_;
    std::uint64_t edits_seen_ = 0;
    std::uint64_t cleared_seen_ = 0;  // by the limiter: records that mean another limit now
    std::size_t hint_offset_ = 0;
    std::vector<Outgoing> outgoing_;
};

namespace {

membership::TransportSettings transport_settings(const Options& options) {
    membership::TransportSettings settings;
    settings.cluster_name = options.cluster_name;
    settings.self = options.advertise;
    settings.flags.anchor = options.anchor;
    settings.membership = options.membership;
    settings.membership_budget.bytes_per_second *= options.membership_bytes_share;
    settings.membership_budget.burst *= options.membership_bytes_share;
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
          [this](const sync::LimitKey& key, std::string& name, limiter::LimitParameters& parameters,
                 limiter::IsolationMode& when_isolated) {
              return resolve(key, name, parameters, when_isolated);
          },
          counters_),
      hot_(options_.sync.hot_limits),
      transport_(transport_settings(options_), options_.keys,
                 options_.nonces != nullptr ? *options_.nonces : system_nonces_, random_.fork()),
      store_(random_.next()),
      definition_exchange_(store_, random_.fork()),
      packets_(transport_, counters_.dropped_entries),
      bulk_sealer_(options_.keys, options_.nonces != nullptr ? *options_.nonces : system_nonces_) {}

void Engine::Implementation::start(Instant now) {
    now_ = last_tick_ = now;
    load_.start(now);
    transport_.start(now);
    self_ = transport_.self();
    self_number_ = silence_.number(self_, now);
    silence_.set_self(self_.address);
    reporter_.set_self(self_);
    owner_.set_self(self_);
    owner_.start(transport_.owners(), now);
    if (options_.clustered) {
        flush();
    }
}

void Engine::Implementation::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    if (!options_.clustered || left_) {
        return;
    }
    // Written to a process that was stopped: what it says was true then.
    if (now - last_tick_ > options_.sync.stop_threshold + kTickInterval || now < discard_until_) {
        ++counters_.discarded_after_stop;
        return;
    }
    now_ = now;
    const auto messages = transport_.receive(datagram, from, now);
    follow_membership();
    const membership::Received* answered = nullptr;
    for (const membership::Received& message : messages) {
        receive_message(message);
        if (message.type == gossip::MessageType::delta) {
            answered = &message;
        }
    }
    // The answer has room for what waited for its like.
    if (answered != nullptr) {
        owner_.pay(silence_.number(answered->sender, now_), now_, *this);
    }
    flush();
}

void Engine::Implementation::receive_message(const membership::Received& message) {
    const sync::MemberNumber sender = silence_.number(message.sender, now_);
    silence_.heard(sender, now_);
    if (gossip::lane_of(message.type) == gossip::Lane::definitions) {
        const std::uint64_t epochs = store_.counters().refused_epochs;
        const bool good = definition_exchange_.receive(message.sender, message.type,
                                                       message.payload, now_, transport_);
        if (!good || store_.counters().refused_epochs != epochs) {
            silence_.refused(sender);
        }
        return;
    }
    receive_counters(message, sender);
}

void Engine::Implementation::receive_counters(const membership::Received& message,
                                              sync::MemberNumber sender) {
    ByteReader reader(message.payload);
    if (message.type == gossip::MessageType::owner_ask) {
        owner_.owner_asked(message.sender, reader.u16(), now_, *this);
        return;
    }
    if (message.type == gossip::MessageType::delta) {
        receive_deltas(reader, message.sender, sender);
    } else if (message.type == gossip::MessageType::delta_answer) {
        receive_answers(reader, message.sender, sender);
    }
    while (reader.ok() && reader.remaining() > 0) {
        switch (message.type) {
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
    if (!reader.ok()) {
        refuse_values(sender);
    }
}

void Engine::Implementation::refuse_values(sync::MemberNumber sender) {
    ++counters_.refused_values;
    silence_.refused(sender);
}

void Engine::Implementation::refuse_leap(sync::MemberNumber sender) {
    ++counters_.refused_leaps;
    silence_.refused(sender);
}

void Engine::Implementation::receive_deltas(ByteReader& reader, const gossip::MemberId& from,
                                            sync::MemberNumber sender) {
    const std::uint16_t tag = reader.u16();
    if (!reader.ok()) {
        return;
    }
    sync::AnswerPacket answer(transport_, from, tag, counters_.dropped_entries);
    while (reader.remaining() > 0) {
        const sync::DeltaEntry entry = sync::decode_delta(reader);
        if (!reader.ok()) {
            break;
        }
        ++counters_.deltas_received;
        answer.expect(entry);
        answering_ = &answer;
        owner_.receive(from, sender, entry, now_, *this);
        answering_ = nullptr;
        answer.next();
    }
    answer.send();
}

void Engine::Implementation::receive_answers(ByteReader& reader, const gossip::MemberId& from,
                                             sync::MemberNumber sender) {
    const std::uint16_t tag = reader.u16();
    const std::uint64_t first = reader.varint();
    const std::vector<sync::SaidCounts>* known = packets_.find(from, tag);
    if (!reader.ok()) {
        return;
    }
    if (known == nullptr || first >= known->size()) {
        ++counters_.refused_unknown;
        reader.bytes(reader.remaining());
        return;
    }
    // Copied: what is taken in may make us send.
    const std::vector<sync::SaidCounts> said(known->begin() + static_cast<std::ptrdiff_t>(first),
                                             known->end());
    for (const sync::SaidCounts& each : said) {
        if (reader.remaining() == 0) {
            return;  // the rest comes in another message
        }
        const auto entry = decode_answer(reader, each);
        if (!reader.ok()) {
            return;
        }
        if (entry) {
            take_total(*entry, from, sender);
        }
    }
    if (reader.remaining() > 0) {
        reader.fail();
    }
}

void Engine::Implementation::receive_total(ByteReader& reader, const gossip::MemberId& from,
                                           sync::MemberNumber sender) {
    const sync::TotalEntry entry = sync::decode_total(reader);
    if (reader.ok()) {
        take_total(entry, from, sender);
    }
}

void Engine::Implementation::take_total(const sync::TotalEntry& entry, const gossip::MemberId& from,
                                        sync::MemberNumber sender) {
    if (!sync::plausible(entry)) {
        return refuse_values(sender);
    }
    switch (reporter_.receive(from, entry, now_)) {
        case sync::Reporter::Verdict::taken:
            break;
        case sync::Reporter::Verdict::doubted:
            silence_.refused(sender);  // named, though its word is taken
            break;
        case sync::Reporter::Verdict::refused:
            refuse_leap(sender);
            break;
    }
}

void Engine::Implementation::receive_handover(ByteReader& reader, sync::MemberNumber sender) {
    const sync::HandoverEntry entry = sync::decode_handover(reader);
    if (!reader.ok()) {
        return;
    }
    if (!sync::plausible(entry)) {
        return refuse_values(sender);
    }
    const membership::Shard shard = membership::shard_of(entry.key.quota);
    const gossip::MemberId& from = silence_.id(sender);
    if (!transport_.owners().owns(from, shard) && !owner_.was_owner(from, shard)) {
        // Nobody is named for it: after a split heals we may be the one who does not know yet.
        ++counters_.refused_not_owner;
        return;
    }
    ++counters_.handovers_received;
    if (!owner_.receive(sender, entry, now_, *this)) {
        refuse_leap(sender);
    }
}

void Engine::Implementation::receive_name_ask(ByteReader& reader, const gossip::MemberId& from) {
    const sync::LimitKey key = sync::decode_key(reader);
    if (!reader.ok()) {
        return;
    }
    sync::NameEntry entry;
    limiter::LimitParameters parameters;
    limiter::IsolationMode when_isolated{};
    entry.key = key;
    if (!resolve(key, entry.name, parameters, when_isolated)) {
        const sync::OwnedLimit* limit = owner_.find(key);
        if (limit == nullptr || limit->name.empty() || !limit->parameters) {
            return;
        }
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

void Engine::Implementation::receive_name_tell(ByteReader& reader, sync::MemberNumber sender) {
    const sync::NameEntry entry = sync::decode_name(reader);
    if (!reader.ok()) {
        return;
    }
    if (!sync::plausible(entry)) {
        return refuse_values(sender);
    }
    owner_.name_told(sender, entry, now_);
}

void Engine::Implementation::receive_hint(ByteReader& reader, sync::MemberNumber sender) {
    const sync::HotEntry entry = sync::decode_hot(reader);
    if (!reader.ok()) {
        return;
    }
    if (!sync::plausible(entry)) {
        return refuse_values(sender);
    }
    // It may tell on what others told it: nobody is to blame.
    if (hot_.note(entry, now_) && !reporter_.rumour(entry, now_)) {
        ++counters_.refused_leaps;
    }
}

/// By name if the limit is used here; else by the name that was told and our own definitions.
bool Engine::Implementation::resolve(const sync::LimitKey& key, std::string& name,
                                     limiter::LimitParameters& parameters,
                                     limiter::IsolationMode& when_isolated) const {
    if (const sync::SyncedLimit* synced = reporter_.find(key)) {
        name = synced->name;
        parameters = synced->parameters;
        when_isolated = synced->when_isolated;
        return true;
    }
    if (name.empty() || key.unit >= limiter::kUnits) {
        return false;
    }
    const auto found = limiter_.resolve_parameters(name, static_cast<limiter::Unit>(key.unit),
                                                   std::chrono::milliseconds(key.period_ms));
    if (found) {
        parameters = *found;
        when_isolated = limiter_.isolation_of(name);
    }
    return found.has_value();
}

template <class Entry>
void Engine::Implementation::send_entry(const gossip::MemberId& to, gossip::MessageType type,
                                        const Entry& entry) {
    std::array<std::byte, gossip::kMaximumPayload> buffer;
    ByteWriter writer(buffer);
    encode(writer, entry);
    if (!writer.ok() || !transport_.send(to, type, writer.written())) {
        ++counters_.dropped_entries;
    }
}

void Engine::Implementation::send_delta(const gossip::MemberId& owner,
                                        const sync::DeltaEntry& entry) {
    if (owner == self_) {
        owner_.receive(self_, self_number_, entry, now_, *this);
    } else {
        packets_.add(owner, entry);
    }
}

void Engine::Implementation::send_total(const gossip::MemberId& to, const sync::TotalEntry& entry) {
    ++counters_.totals_sent;
    if (to == self_) {
        reporter_.receive(self_, entry, now_);
    } else if (answering_ == nullptr || !answering_->add(to, entry)) {
        send_entry(to, gossip::MessageType::total, entry);
    }
}

void Engine::Implementation::send_handover(const gossip::MemberId& to,
                                           const sync::HandoverEntry& entry) {
    if (to != self_) {
        send_entry(to, gossip::MessageType::handover, entry);
    }
}

void Engine::Implementation::ask_name(const gossip::MemberId& to, const sync::LimitKey& key) {
    if (to != self_) {
        send_entry(to, gossip::MessageType::name_ask, key);
    }
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
    for (const membership::MembershipEvent& event : transport_.take_events()) {
        follow(event);
    }
    follow_owners();
}

void Engine::Implementation::follow(const membership::MembershipEvent& event) {
    using Kind = membership::MembershipEvent::Kind;
    peers_changed_ = true;
    switch (event.kind) {
        case Kind::left:
        case Kind::replaced:
            silence_.gone(event.member, now_);
            packets_.forget(event.member);
            break;
        case Kind::dead:
            packets_.forget(event.member);
            reporter_.lost(event.member);
            break;
        case Kind::renewed:
            packets_.clear();  // answers to our former incarnation do not come
            self_ = event.member;
            self_number_ = silence_.number(self_, now_);
            reporter_.set_self(self_);
            owner_.set_self(self_);
            // What is under way to those who had given us up will not be answered.
            reporter_.ask_anew();
            break;
        case Kind::joined:
            silence_.heard(silence_.number(event.member, now_), now_);
            silence_.joined(event.member);
            break;
        default:
            break;
    }
}

void Engine::Implementation::follow_owners() {
    for (const membership::OwnerChange& change : transport_.take_owner_changes()) {
        const bool owned = owner_.owns(change.shard);
        owner_.shard_changed(change, now_, *this);
        if (!owned && owner_.owns(change.shard)) {
            fill_from_views(change.shard);
        }
        reporter_.shard_changed(change.shard, change.after, now_);
    }
}

/// A shard is ours now: what our own views believe is better than nothing. The others' rates are
/// those of former owners' knowledge; if all of these are silent, it is a split, and they are held.
void Engine::Implementation::fill_from_views(membership::Shard shard) {
    reporter_.for_each_in_shard(shard, [&](const sync::SyncedLimit& limit) {
        const sync::View* view = limit.believed(options_.sync, now_);
        if (view == nullptr || !view->filled()) {
            return;
        }
        sync::HandoverEntry entry;
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

/// Nobody is asked before what waited in the socket is thrown away: the answers would go with it,
/// and who was given up meanwhile would let its share pass unseen until it asks again.
void Engine::Implementation::notice_stop(bool late) {
    if (late) {
        ++counters_.stops;
        was_stopped_ = true;
        discard_until_ = now_ + kDiscardTime;
    }
    if (!was_stopped_ || discarding()) {
        return;
    }
    was_stopped_ = false;
    stopped();
}

void Engine::Implementation::stopped() {
    silence_.restart(now_);
    reporter_.ask_anew();
    owner_.stopped(now_, transport_.owners(), *this);
}

void Engine::Implementation::refused(const Endpoint& address, Instant now) {
    if (!options_.clustered || left_) {
        return;
    }
    now_ = now;
    const membership::Member* member = transport_.membership().find(address);
    if (member == nullptr) {
        return;
    }
    const gossip::MemberId id = member->id;
    switch (silence_.nobody_there(silence_.number(id, now), now)) {
        case sync::Silence::Hint::ask:
            transport_.question(id, now);
            flush();
            break;
        case sync::Silence::Hint::given_up:
            reporter_.distrust(id, now);
            break;
        case sync::Silence::Hint::known:
            break;
    }
}

void Engine::Implementation::tick(Instant now) {
    now_ = now;
    if (left_) {
        return;
    }
    ++ticks_;
    const bool late = now - last_tick_ > options_.sync.stop_threshold + kTickInterval;
    last_tick_ = now;
    store_.tick(now);
    if (options_.clustered) {
        notice_stop(late);
        if (!discarding()) {
            tick_cluster();
        }
    } else {
        // Nobody is told of edits.
        (void)store_.take_edited();
        (void)store_.take_overtaken();
    }
    apply_definitions();
}

void Engine::Implementation::tick_cluster() {
    if (now_ >= transport_.next_tick()) {
        transport_.tick(now_);
    }
    follow_membership();
    reporter_.tick(now_, transport_.owners(), hot_, *this);
    packets_.send_all();
    owner_.tick(now_, *this);
    if (ticks_ % kHintsEvery == 0) {
        renew_hints();
    }
    if (now_ - load_.noted() >= kLoadEvery) {
        note_load();
    }
    silence_.heard(self_number_, now_);  // nobody else says that we live
    if (ticks_ % (10 * kSecond) == 0) {
        silence_.forget_old(now_);
    }
    if (ticks_ % kDefinitionsEvery == 0) {
        tick_definitions();
    }
    flush();
}

void Engine::Implementation::tick_definitions() {
    const std::uint64_t edits = store_.counters().edits;
    const bool large = transport_.membership().live_count() > kLargeFleet;
    if (large && edits == edits_seen_ && definition_exchange_.settled() &&
        ticks_ % kDefinitionsEveryInLargeFleet != 0) {
        return;
    }
    edits_seen_ = edits;
    if (peers_changed_) {
        peers_.clear();
        for (const membership::Member& member : transport_.membership().live()) {
            peers_.push_back(member.id);
        }
        peers_changed_ = false;
    }
    definition_exchange_.tick(now_, peers_, transport_);
}

void Engine::Implementation::apply_definitions() {
    const std::vector<limiter::DefinitionChange> changes = store_.take_changes(kChangesPerTick);
    if (!changes.empty()) {
        // The store has validated them; what the limiter refuses nevertheless is shown as such.
        std::vector<limiter::DefinitionError> refused;
        limiter_.change(changes, now_, &refused);
        counters_.refused_definitions += refused.size();
        store_.note_refused(refused);
        if (limiter_.counters().cleared != cleared_seen_) {
            cleared_seen_ = limiter_.counters().cleared;
            reporter_.drop_changed(now_);
        }
        refresh_due_ = true;
    }
    // While very many come, what is in use is looked at now and then and at their end.
    const bool more = changes.size() == kChangesPerTick && ticks_ % kDefinitionsEvery != 0;
    if (!refresh_due_ || more) {
        return;
    }
    refresh_due_ = false;
    reporter_.refresh_parameters(now_);
    owner_.refresh_parameters();
}

definitions::BulkContext Engine::Implementation::bulk_context() {
    definitions::BulkContext context;
    context.store = &store_;
    context.sealer = &bulk_sealer_;
    context.counters = &bulk_counters_;
    context.cluster = gossip::cluster_tag(options_.cluster_name);
    context.self = self_;
    // Never to be guessed: it is what makes captured frames useless.
    std::array<std::byte, 8> number{};
    (options_.nonces != nullptr ? *options_.nonces : system_nonces_).fill(number);
    context.number = ByteReader(number).u64() | 1U;
    context.is_member = [this](const gossip::MemberId& member) {
        return transport_.membership().find(member) != nullptr;
    };
    return context;
}

std::unique_ptr<definitions::DefinitionPull> Engine::Implementation::take_pull() {
    auto wish = definition_exchange_.take_wish();
    if (!wish) {
        return nullptr;
    }
    ++bulk_counters_.pulls_begun;
    return std::make_unique<definitions::DefinitionPull>(bulk_context(), std::move(*wish));
}

void Engine::Implementation::end_pull(definitions::DefinitionPull& pull, Instant now) {
    ++(pull.good() ? bulk_counters_.pulls_done : bulk_counters_.pulls_failed);
    definition_exchange_.end_wish(pull.wish(), pull.good(), pull.take_document(), now);
}

std::unique_ptr<definitions::DefinitionServe> Engine::Implementation::serve_pull() {
    return std::make_unique<definitions::DefinitionServe>(bulk_context());
}

void Engine::Implementation::renew_hints() {
    hot_.forget_old(now_);
    owner_.note_hot(hot_, now_);
    transport_.set_hints(hot_.encode(now_, kHintBytes, hint_offset_));
    if (hot_.size() > 0) {
        hint_offset_ = (hint_offset_ + hot_.size() / 2 + 1) % hot_.size();
    }
}

void Engine::Implementation::note_load() {
    const membership::TransportCounters& counters = transport_.counters();
    const double load = load_.per_second(counters.datagrams_in, counters.datagrams_out, now_);
    owner_.note_load(static_cast<std::uint64_t>(load));
}

void Engine::Implementation::flush() {
    for (membership::OutgoingDatagram& datagram : transport_.flush(now_)) {
        outgoing_.push_back({datagram.to, std::move(datagram.bytes)});
    }
}

std::vector<Outgoing> Engine::Implementation::take_outgoing() {
    return std::exchange(outgoing_, {});
}

void Engine::Implementation::goodbye(Instant now) {
    if (left_ || !options_.clustered) {
        return;
    }
    now_ = now;
    reporter_.tick(now, transport_.owners(), hot_, *this);
    packets_.send_all();
    transport_.begin_leaving(now);
    owner_.leave(transport_.owners(), now, *this);
    flush();
    transport_.goodbye(now);
    flush();
    left_ = true;
}

/// What a peer said it has, beside what is here.
PeerStatus::Definitions Engine::Implementation::describe(const definitions::PeerDefinitions& said,
                                                         Instant now) const {
    PeerStatus::Definitions result;
    result.age = now - said.at;
    result.overrides_hash = said.overrides;
    result.same = said.overrides == store_.overrides().root_hash();
    std::size_t own = 0;
    for (const definitions::SetStatus& set : store_.sets()) {
        if (set.generation) {
            ++own;
        }
    }
    result.same = result.same && own == said.sets.size();
    for (const definitions::PeerDefinitions::Set& set : said.sets) {
        result.sets.push_back({set.name, set.generation, set.content});
        bool equal = false;
        for (const definitions::SetStatus& here : store_.sets()) {
            equal = equal || (here.set == set.name && here.generation == set.generation &&
                              here.content_hash == set.content);
        }
        result.same = result.same && equal;
    }
    return result;
}

std::vector<PeerStatus> Engine::Implementation::peers(Instant now) const {
    std::vector<PeerStatus> peers;
    const auto add = [&](const membership::Member& member, Instant heard) -> PeerStatus& {
        PeerStatus peer;
        peer.address = member.id.address;
        peer.incarnation = member.id.incarnation;
        peer.state = membership::to_string(member.state);
        peer.silence = now - heard;
        peer.refused_values = silence_.refusals(member.id);
        return peers.emplace_back(peer);
    };
    const std::vector<gossip::KeyId> keys = transport_.key_ids();
    PeerStatus& self = add({self_, {}, {}, 0, {}, {}, {}}, now);
    self.self = true;
    self.key = keys.empty() ? 0 : keys.front();
    for (const membership::Member& member : transport_.membership().live()) {
        PeerStatus& peer = add(member, member.last_heard);
        peer.key = transport_.key_of(member.id);
        if (member.round_trip > Duration::zero()) {
            peer.round_trip = member.round_trip;
        }
        if (const definitions::PeerDefinitions* said = definition_exchange_.said(member.id)) {
            peer.definitions = describe(*said, now);
        }
    }
    for (const membership::Member& member : transport_.membership().recently_gone(now)) {
        add(member, member.since);
    }
    return peers;
}

SealStatus Engine::Implementation::seal_status(Instant now) const {
    SealStatus status{transport_.key_ids(), {}};
    for (const gossip::Stranger& stranger : transport_.strangers().recent(now)) {
        status.strangers.push_back({stranger.from, gossip::to_string(stranger.reason), stranger.key,
                                    stranger.datagrams, now - stranger.last});
    }
    return status;
}

std::optional<QuotaStatus> Engine::Implementation::quota_status(std::string_view name,
                                                                Instant now) {
    const std::vector<limiter::LimitStatus> limits = limiter_.inspect(name, now);
    if (limits.empty()) {
        return std::nullopt;
    }
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
        sync::LimitKey key;
        key.quota = sync::quota_hash(name);
        key.unit = static_cast<std::uint8_t>(each.limit.unit);
        key.period_ms = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(each.limit.period).count());
        const sync::SyncedLimit* synced = status.fleet_wide ? reporter_.find(key) : nullptr;
        if (synced != nullptr) {
            status.origins = synced->origins();
            status.isolated = synced->isolated;
            for (const sync::View& view : synced->views) {
                status.owners.push_back(view.owner().address);
                if (view.fresh(options_.sync, now)) {
                    status.heard.push_back(view.owner().address);
                }
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
    statistics.isolated_limits = reporter_.isolated();
    const membership::TransportCounters& counters = transport_.counters();
    statistics.datagrams_in = counters.datagrams_in;
    statistics.datagrams_out = counters.datagrams_out;
    statistics.bytes_in = counters.bytes_in;
    statistics.bytes_out = counters.bytes_out;
    for (std::size_t i = 0; i < counters.messages_in.size(); ++i) {
        const std::string type(gossip::to_string(static_cast<gossip::MessageType>(i)));
        if (counters.messages_in[i] > 0) {
            statistics.messages_in[type] += counters.messages_in[i];
        }
        if (counters.messages_out[i] > 0) {
            statistics.messages_out[type] += counters.messages_out[i];
        }
    }
    for (std::size_t i = 0; i < gossip::kRejections; ++i) {
        const auto reason = static_cast<gossip::Rejection>(i);
        // Zeros too: an alert on the increase would miss a series that begins above 0.
        statistics.rejected[std::string(gossip::to_string(reason))] = counters.rejected[reason];
    }
    statistics.opened_with_second_key = counters.opened_with_second_key;
    for (const membership::Member& member : transport_.membership().live()) {
        ++statistics.peers_by_state[std::string(membership::to_string(member.state))];
    }
    for (const membership::Member& member : transport_.membership().recently_gone(now_)) {
        ++statistics.peers_by_state[std::string(membership::to_string(member.state))];
    }
    statistics.refused_by_peer = silence_.refusals();
    statistics.definitions = definition_exchange_.counters();
    statistics.definition_store = store_.counters();
    statistics.bulk = bulk_counters_;
    statistics.staleness = reporter_.staleness(owner_, now_);
    statistics.pace_asked = 1 + 0.1 * owner_.pace();
    statistics.pace_followed = 1 + 0.1 * reporter_.pace();
    return statistics;
}

Engine::Engine(Options options, limiter::Limiter& limiter, std::uint64_t seed)
    : implementation_(std::make_unique<Implementation>(std::move(options), limiter, seed)) {}
Engine::~Engine() = default;

void Engine::start(Instant now) { implementation_->start(now); }
void Engine::receive(ByteSpan datagram, const Endpoint& from, Instant now) {
    implementation_->receive(datagram, from, now);
}
void Engine::refused(const Endpoint& address, Instant now) {
    implementation_->refused(address, now);
}
void Engine::tick(Instant now) { implementation_->tick(now); }
Instant Engine::next_tick() const { return implementation_->next_tick(); }
std::vector<Outgoing> Engine::take_outgoing() { return implementation_->take_outgoing(); }
void Engine::set_seeds(std::vector<Endpoint> seeds) {
    implementation_->transport().set_seeds(std::move(seeds));
}
void Engine::set_keys(const std::vector<GossipKey>& keys) { implementation_->set_keys(keys); }
void Engine::goodbye(Instant now) { implementation_->goodbye(now); }
std::vector<PeerStatus> Engine::peers(Instant now) const { return implementation_->peers(now); }
std::optional<QuotaStatus> Engine::quota_status(std::string_view name, Instant now) {
    return implementation_->quota_status(name, now);
}
Statistics Engine::statistics() const { return implementation_->statistics(); }
SealStatus Engine::seal_status(Instant now) const { return implementation_->seal_status(now); }
std::vector<sync::LimitSilence> Engine::silences(std::size_t most, Instant now) const {
    return implementation_->reporter().silences(most, now);
}
std::vector<std::uint32_t> Engine::key_ids() const {
    return implementation_->transport().key_ids();
}
std::uint64_t Engine::incarnation() const {
    return implementation_->transport().self().incarnation;
}
void Engine::set_bulk(bool possible) { implementation_->definition_sync().set_bulk(possible); }
std::unique_ptr<definitions::DefinitionPull> Engine::take_pull() {
    return implementation_->take_pull();
}
void Engine::end_pull(definitions::DefinitionPull& pull, Instant now) {
    implementation_->end_pull(pull, now);
}
std::unique_ptr<definitions::DefinitionServe> Engine::serve_pull() {
    return implementation_->serve_pull();
}
definitions::DefinitionStore& Engine::definitions() { return implementation_->store(); }

}  // namespace weir::engine
