#pragma once
// The counter synchronisation of one member, put together: the reporter tells owners what was
// admitted here, the owner adds up what all report about the limits of its shards, and both speak
// through the transport. Messages about counters go in; messages to other members go out through
// the transport. When this member owns a limit that it reports, its reporter and owner exchange
// these messages directly, without the network.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns reporter, owner and their
// tables; borrows settings, limiter, transport and the ledger (which only the simulator has, else
// it is nullptr). They must outlive it.
// Invariant: no call is given an earlier `now` than the calls before it.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "base/random.h"
#include "membership/transport.h"
#include "sync/allowance_origin.h"
#include "sync/allowance_owner.h"
#include "sync/fair_exchange.h"
#include "sync/fleet_clock.h"
#include "sync/hot_table.h"
#include "sync/kept_counts.h"
#include "sync/kept_levels.h"
#include "sync/load_meter.h"
#include "sync/lost_owners.h"
#include "sync/owner.h"
#include "sync/quiet_limits.h"
#include "sync/reporter.h"
#include "sync/silence.h"
#include "sync/statistics.h"
#include "sync/tagged_messages.h"
#include "sync/waiting_answers.h"
#include "sync/window_origin.h"
#include "sync/window_owner.h"

namespace weir::sync {

class CounterExchange final : public DeltaSink,
                              public QuietSink,
                              public OwnerSink,
                              public ChildSink,
                              public AllowanceSink,
                              public WindowSink {
  public:
    CounterExchange(const SyncSettings& settings, limiter::Limiter& limiter,
                    membership::Transport& transport, Random for_reporter, Random for_owner,
                    WeightLedger* ledger);

    /// To be called once, after the transport has started.
    void start(Instant now);
    /// Sets the addresses of the seeds. `looked_up`: names were looked up for them just now.
    void set_seeds(std::vector<Endpoint> seeds, bool looked_up, Instant now) {
        has_seeds_ = has_seeds_ || !seeds.empty();
        silence_.set_seeds(std::move(seeds), looked_up, now);
    }
    /// Sets this machine's wall clock: how much later the time since 1970 is than the monotonic
    /// time.
    void set_wall_clock(Duration ahead) {
        clock_.set_own(ahead);
        limiter_.set_wall_clock(clock_.ahead(now_));
    }
    [[nodiscard]] const FleetClock& clock() const { return clock_; }
    /// Takes a message about counters or hot limits in.
    void receive(const membership::Received& message, Instant now);
    /// The member lives: a message from it has come that is not one of membership's own.
    void heard(const gossip::MemberId& member, Instant now);
    /// Counts a refused message about definitions among the refused values of the member that sent
    /// it, which engine::PeerReport shows.
    void blame(const gossip::MemberId& member, Instant now);
    /// To be called when a datagram in which this member sent deltas has been received as a whole.
    /// If one of them was answered at once, everything goes to this member that has waited to share
    /// a datagram: publications, and answers that may wait.
    void answered(const gossip::MemberId& member, Instant now);
    /// Takes a host's answer that no process listens at the member's address, which can be forged.
    /// When the result is true, the caller has to ping the member.
    [[nodiscard]] bool nobody_there(const gossip::MemberId& member, Instant now);
    /// `number` counts all ticks of the process; some work is done only at every n-th of them.
    void tick(Instant now, std::uint64_t number);
    /// Whether the last tick found limits in use, or limits that have to be looked at in each tick.
    [[nodiscard]] bool is_at_work() const;
    /// Instead of tick() and leave(), where there is no fleet: counts what is to be kept in a
    /// snapshot.
    void tick_alone(Instant now);
    void leave_alone(Instant now);
    /// Follows the changes of membership since the last call, and the changes of owners, which it
    /// takes from the transport.
    void follow(std::span<const membership::MembershipEvent> events, Instant now);
    /// The process runs again after it was stopped (engine/stop_detector.h), and the datagrams that
    /// had waited have been discarded. Asks owners for totals, and the other owners for their sums.
    void stopped(Instant now);
    /// Definitions changed: parameters of limits in use are read again.
    void definitions_changed(Instant now);
    /// The limiter has reused records for other limits: what is kept for the earlier limits is
    /// dropped.
    void records_changed(Instant now) {
        reporter_.drop_changed(now);
        quiet_.drop_changed();
    }
    /// Sends the last deltas. To be called before the transport begins to leave.
    void begin_leaving(Instant now);
    /// Hands the limits that are owned here over to the owners that remain. To be called after the
    /// transport has begun to leave.
    void leave(Instant now);

    [[nodiscard]] SyncStatistics& counters() { return counters_; }
    [[nodiscard]] const SyncStatistics& counters() const { return counters_; }
    [[nodiscard]] const Reporter& reporter() const { return reporter_; }
    [[nodiscard]] const QuietLimits& quiet() const { return quiet_; }
    [[nodiscard]] const Owner& owner() const { return owner_; }
    [[nodiscard]] const FairExchange& fair() const { return fair_; }
    [[nodiscard]] const AllowanceOrigin& allowances() const { return allowance_origin_; }
    [[nodiscard]] const AllowanceOwner& divided() const { return allowance_owner_; }
    [[nodiscard]] const WindowOrigin& windows() const { return window_origin_; }
    [[nodiscard]] const WindowOwner& owned_windows() const { return window_owner_; }
    /// What of the counts of windows is kept in a snapshot.
    [[nodiscard]] KeptCounts& kept_counts() { return kept_counts_; }
    /// The same of long levels.
    [[nodiscard]] KeptLevels& kept_levels() { return kept_levels_; }
    /// Says whether there is no fleet.
    void set_alone(bool alone) {
        if (!alone) {
            window_origin_.listen();  // else what comes before the first tick is never told
        }
        kept_counts_.set_alone(alone);
        kept_levels_.set_alone(alone);
    }
    /// Of how many limits counts of members that are gone may be missing, as of five seconds ago at
    /// most.
    [[nodiscard]] std::size_t uncertain_windows() const { return uncertain_windows_; }
    [[nodiscard]] const Silence& silence() const { return silence_; }
    [[nodiscard]] const HotTable& hot() const { return hot_; }
    [[nodiscard]] const gossip::MemberId& self() const { return self_; }
    /// The kinds of limits of later versions that members told of in the last minute. What they
    /// tell of such limits is passed over and counted.
    [[nodiscard]] std::vector<LaterKind> later_kinds(Instant now) const;

    // DeltaSink and the other sinks, for the parts below.
    [[nodiscard]] bool has_room_for_delta(const gossip::MemberId& owner, bool urgent) override;
    [[nodiscard]] Duration delta_answer_wait(const gossip::MemberId& owner) override;
    [[nodiscard]] bool answer_goes_to(const gossip::MemberId& owner) override;
    [[nodiscard]] bool has_room_for_quiet(const gossip::MemberId& owner, bool urgent) override;
    [[nodiscard]] Duration quiet_answer_wait(const gossip::MemberId& owner) override;
    [[nodiscard]] bool has_room_to_publish(bool urgent) override;
    void send_quiet(const gossip::MemberId& owner, const QuietEntry& entry) override;
    void send_order(const gossip::MemberId& to, const QuietOrder& order) override;
    void send_delta(const gossip::MemberId& owner, const DeltaEntry& entry) override;
    void send_total(const gossip::MemberId& to, const TotalEntry& entry) override;
    void send_handover(const gossip::MemberId& to, const HandoverEntry& entry) override;
    void ask_name(const gossip::MemberId& to, const LimitKey& key) override;
    void ask_owner(const gossip::MemberId& to, std::uint16_t shards) override;
    void send_name(const gossip::MemberId& to, const NameEntry& entry) override;
    void send_children(const gossip::MemberId& to, bool answers, const ChildPart& part) override;
    void send_report(const gossip::MemberId& to, const AllowanceReport& report) override;
    void send_grant(const gossip::MemberId& to, const AllowanceGrant& grant) override;
    [[nodiscard]] bool has_room_for_windows(bool urgent) override;
    void send_window_report(const gossip::MemberId& to, const WindowReport& report) override;
    void send_window_grant(const gossip::MemberId& to, const WindowGrant& grant) override;

  private:
    using DeltaMessages = TaggedMessages<SaidCounts, gossip::MessageType::delta>;
    using QuietMessages = TaggedMessages<QuietSaid, gossip::MessageType::quiet>;
    /// A delta message that is not answered yet: what each of its entries said, but for those that
    /// were refused.
    struct Unanswered {
        std::uint16_t tag = 0;
        std::vector<std::optional<SaidCounts>> said;
    };
    /// So many confirmations of quiet messages, or answers to deltas, to one member go at once:
    /// they fill a datagram by themselves.
    static constexpr std::ptrdiff_t kQuietAnswers = 4;
    static constexpr std::ptrdiff_t kDeltaAnswers = 8;

    // In counter_receiver.cpp: messages that arrive.
    [[nodiscard]] bool receive_entry(const membership::Received& message, ByteReader& reader,
                                     MemberNumber sender);
    void receive_deltas(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void answer_deltas(const gossip::MemberId& to, const Unanswered& message);
    void send_quiet_answer(const gossip::MemberId& to, const QuietAnswer& answer);
    void receive_answers(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_quiet(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_quiet_answer(ByteReader& reader, const gossip::MemberId& from);
    void receive_order(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void take_order(const QuietOrder& order, const gossip::MemberId& from);
    void receive_children(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender,
                          bool answers);
    void receive_total(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void take_total(const TotalEntry& entry, const gossip::MemberId& from, MemberNumber sender);
    void receive_handover(ByteReader& reader, MemberNumber sender);
    void receive_name_ask(ByteReader& reader, const gossip::MemberId& from);
    void receive_name_tell(ByteReader& reader, MemberNumber sender);
    void receive_hint(ByteReader& reader, MemberNumber sender);
    void receive_allowance(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_grant(ByteReader& reader, const gossip::MemberId& from, MemberNumber sender);
    void receive_window_report(ByteReader& reader, const gossip::MemberId& from,
                               MemberNumber sender);
    void receive_window_grant(ByteReader& reader, const gossip::MemberId& from,
                              MemberNumber sender);
    template <class Entry>
    [[nodiscard]] bool takes_entry(const ByteReader& reader, const Entry& entry, bool of_kind,
                                   const gossip::MemberId& from, MemberNumber sender);
    [[nodiscard]] bool skips(const LimitKey& key, const gossip::MemberId& from);
    void skip(const LimitKey& key, const gossip::MemberId& from);
    void refuse_values(MemberNumber sender);
    void refuse_leap(MemberNumber sender);

    void report();
    /// Nothing is sent to this member any more, and nothing expected of it.
    void lose(const gossip::MemberId& member);
    void follow(const membership::MembershipEvent& event);
    void follow_owners();
    void fill_from_views(membership::Shard shard);
    void renew_hints();
    void note_load();
    [[nodiscard]] double publications_due_for_each_sent();
    [[nodiscard]] bool resolve(const LimitKey& key, std::string& name,
                               limiter::LimitParameters& parameters,
                               limiter::Isolation& isolation) const;
    [[nodiscard]] bool serves(membership::MemberFlags flags) const;
    [[nodiscard]] bool serves(const gossip::MemberId& member) const;
    [[nodiscard]] std::uint32_t serving_members() const;
    void share_counted();
    void share_in_flight(std::uint32_t members, std::uint32_t held);
    void share_windows(std::uint32_t members, bool others);
    [[nodiscard]] bool clock_is_known() const;
    [[nodiscard]] bool waits_for_others() const;
    void restore_levels();
    void watch_owners(std::int64_t second);
    void follow_clock();
    void greet_with_clock(const gossip::MemberId& joined);
    void tell_clock(const gossip::MemberId& to);
    [[nodiscard]] std::vector<gossip::MemberId> live_serving() const;
    void send_messages();
    [[nodiscard]] bool has_budget(bool urgent) const;
    [[nodiscard]] double room_left() const;
    template <class Entry>
    void send_entry(const gossip::MemberId& to, gossip::MessageType type, const Entry& entry);

    const SyncSettings& settings_;
    limiter::Limiter& limiter_;
    membership::Transport& transport_;
    SyncStatistics counters_;
    /// By kind; those without an address are none.
    std::array<LaterKind, kLimitKinds> later_kinds_{};
    Silence silence_;
    QuietLimits quiet_;
    Reporter reporter_;
    Owner owner_;
    FairExchange fair_;
    AllowanceOrigin allowance_origin_;
    AllowanceOwner allowance_owner_;
    WindowOrigin window_origin_;
    WindowOwner window_owner_;
    LostOwners lost_owners_;
    KeptCounts kept_counts_;
    KeptLevels kept_levels_;
    FleetClock clock_;
    std::size_t uncertain_windows_ = 0;
    Instant uncertain_counted_{};
    std::optional<Instant> clock_told_;
    std::size_t clock_hand_ = 0;  // who is told next
    Instant greeting_since_{};    // the second in which members that join are told
    std::size_t greeted_ = 0;     // so many of them
    bool has_seeds_ = false;
    std::optional<Instant> started_;
    bool owners_moved_ = true;             // since windows followed them last
    std::vector<MemberNumber> lost_;       // by the events that are being followed
    std::optional<Instant> others_since_;  // when this member first had heard others
    HotTable hot_;
    DeltaMessages delta_messages_;
    QuietMessages quiet_messages_;
    WaitingAnswers<QuietAnswer> quiet_answers_;
    WaitingAnswers<Unanswered> delta_answers_;
    bool answered_at_once_ = false;      // a delta message of the datagram that is being received
    std::vector<LimitKey> has_to_wake_;  // only used within report()
    gossip::MemberId self_;
    MemberNumber self_number_ = 0;
    LoadMeter load_;
    LoadMeter bytes_load_;  // of the counters' lane
    bool leaving_ = false;
    std::uint64_t noted_publications_ = 0;
    std::uint64_t noted_put_off_ = 0;
    Instant now_{};
    std::size_t hint_offset_ = 0;
};

}  // namespace weir::sync
