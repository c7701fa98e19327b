#pragma once
// The counter synchronisation of one member, put together: the reporter tells owners what was
// admitted here, the owner adds up what all report about the limits of its shards, and both speak
// through the transport. Messages about counters go in; messages to other members go out through
// the transport. What one half says to the other half of the same process goes there at once,
// without the network.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns reporter, owner and their
// tables; borrows settings, limiter and transport, which must outlive it.
// Invariant: every method that takes `now` is called with instants that never fall.

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/instant.h"
#include "base/random.h"
#include "membership/transport.h"
#include "sync/delta_packets.h"
#include "sync/hot_table.h"
#include "sync/load_meter.h"
#include "sync/owner.h"
#include "sync/reporter.h"
#include "sync/silence.h"
#include "sync/statistics.h"

namespace weir::sync {

class CounterExchange final : public DeltaSink, public OwnerSink {
  public:
    CounterExchange(const SyncSettings& settings, limiter::Limiter& limiter,
                    membership::Transport& transport, Random for_reporter, Random for_owner);

    /// After the transport has started.
    void start(Instant now);
    /// A message of the counters' lane, or hints.
    void receive(const membership::Received& message, Instant now);
    /// Any message of the member was opened: it lives.
    void heard(const gossip::MemberId& member, Instant now);
    /// Something that the member sent was refused: its name is shown with its refusals.
    void blame(const gossip::MemberId& member, Instant now);
    /// All messages of a datagram with deltas of this member have been received: what waited for
    /// an answer to share its datagram goes with it.
    void answered(const gossip::MemberId& member, Instant now);
    /// A host says that nobody listens at the member's address. True: ask the member itself.
    [[nodiscard]] bool nobody_there(const gossip::MemberId& member, Instant now);
    /// `number` counts all ticks of the process: what is done seldom goes by it.
    void tick(Instant now, std::uint64_t number);
    /// What membership noticed since the last call; takes the changes of owners by itself.
    void follow(std::span<const membership::MembershipEvent> events, Instant now);
    /// The process had been stopped, and what waited in its socket has been thrown away.
    void stopped(Instant now);
    /// Definitions changed: parameters of limits in use are read again.
    void definitions_changed(Instant now);
    /// Records of the limiter were given to other limits: what was kept for the former ones goes.
    void records_changed(Instant now) { reporter_.drop_changed(now); }
    /// The last report; to be called before the transport begins to leave.
    void begin_leaving(Instant now);
    /// Hands over what is owned here to the owners that remain.
    void leave(Instant now);

    [[nodiscard]] SyncStatistics& counters() { return counters_; }
    [[nodiscard]] const SyncStatistics& counters() const { return counters_; }
    [[nodiscard]] const Reporter& reporter() const { return reporter_; }
    [[nodiscard]] const Owner& owner() const { return owner_; }
    [[nodiscard]] const Silence& silence() const { return silence_; }
    [[nodiscard]] const HotTable& hot() const { return hot_; }
    [[nodiscard]] const gossip::MemberId& self() const { return self_; }

    // DeltaSink and OwnerSink, for reporter and owner.
    void send_delta(const gossip::MemberId& owner, const DeltaEntry& entry) override;
    void send_total(const gossip::MemberId& to, const TotalEntry& entry) override;
    void send_handover(const gossip::MemberId& to, const HandoverEntry& entry) override;
    void ask_name(const gossip::MemberId& to, const LimitKey& key) override;
    void ask_owner(const gossip::MemberId& to, std::uint16_t shards) override;

  private:
    // counter_receiver.cpp: what comes in
    [[nodiscard]] bool receive_entry(const membership::Received& message, ByteReader& reader,
                                     MemberNumber sender);
    void receive_deltas(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_answers(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_total(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void take_total(const TotalEntry& entry, const gossip::MemberId& from, MemberNumber sender);
    void receive_handover(ByteReader& reader, MemberNumber sender);
    void receive_name_ask(ByteReader& reader, const gossip::MemberId& from);
    void receive_name_tell(ByteReader& reader, MemberNumber sender);
    void receive_hint(ByteReader& reader, MemberNumber sender);
    void refuse_values(MemberNumber sender);
    void refuse_leap(MemberNumber sender);

    void report();
    void follow(const membership::MembershipEvent& event);
    void follow_owners();
    void fill_from_views(membership::Shard shard);
    void renew_hints();
    void note_load();
    [[nodiscard]] bool resolve(const LimitKey& key, std::string& name,
                               limiter::LimitParameters& parameters,
                               limiter::IsolationMode& when_isolated) const;
    void send_name(const gossip::MemberId& to, const NameEntry& entry);
    template <class Entry>
    void send_entry(const gossip::MemberId& to, gossip::MessageType type, const Entry& entry);

    const SyncSettings& settings_;
    limiter::Limiter& limiter_;
    membership::Transport& transport_;
    SyncStatistics counters_;
    Silence silence_;
    Reporter reporter_;
    Owner owner_;
    HotTable hot_;
    DeltaPackets packets_;
    AnswerPacket* answering_ = nullptr;  // while the deltas of one message are taken in
    gossip::MemberId self_;
    MemberNumber self_number_ = 0;
    LoadMeter load_;
    Instant now_{};
    std::size_t hint_offset_ = 0;
};

}  // namespace weir::sync
