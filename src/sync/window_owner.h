#pragma once
// The owner's side of limits of windows (window_origin.h). Every owner keeps for each limit what
// each run of a member has admitted in the present window, until that has ended: counts only grow,
// and those of members that are gone stay. The first owner divides what is left among the members
// that want more. For each member it counts the most that the member may admit by now: the largest
// of the allowance that it last reported, what was granted to it since, and what it has admitted.
// An allowance that shrinks counts in full until the origin has confirmed the smaller one. Members
// that have said nothing may use an equal part, as they may since the window began; the owner asks
// for it when others want more. So together the members admit no more than the limit says, but in
// the cases that docs/cluster.md names: a split, a window of fewer requests than there are members,
// and counts that were lost with all owners (docs/decisions/0169-windows-are-counted-by-run.md).
//
// An owner tells every other owner what members that are gone had admitted, and repeats it until
// that owner has noted it.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns its table; borrows silence
// and statistics.
// Invariants: the table has at most kMostLimits limits, and of all limits together kMostRows rows
// of members and kMostGone counts of runs of members that are gone. A member that has just become
// the first owner of a shard grants nothing until the origins that it knows of have told it what
// they may admit, for kLearn at most. One that has just found the others grants nothing for all of
// kLearn, and one that was stopped for twice as long. Either time is prolonged while others tell of
// members that are gone, or while a snapshot has still to be read.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "membership/owners.h"
#include "sync/due_queue.h"
#include "sync/gone_runs.h"
#include "sync/limit_table.h"
#include "sync/lost_owners.h"
#include "sync/silence.h"
#include "sync/window_messages.h"
#include "sync/window_origin.h"

namespace weir::sync {

class WindowOwner {
  public:
    static constexpr std::size_t kMostLimits = std::size_t{1} << 17;
    static constexpr std::size_t kMostRows = std::size_t{1} << 19;
    static constexpr std::size_t kMostGone = std::size_t{1} << 21;
    static constexpr std::size_t kLooksEachTick = 500;
    /// Clocks of members differ by less than this many seconds.
    static constexpr std::int64_t kClocksDiffer = 1;
    /// The share of a member that cannot be heard is kept for so long at least, unless it said
    /// goodbye: members of the other side of a split are not given up all at once, and until they
    /// are, each side may take itself for the larger one.
    static constexpr Duration kKeepShare = std::chrono::milliseconds(2500);
    static constexpr Duration kLearn = std::chrono::seconds(1);
    /// While some members have said nothing, it grants nothing for at least so long.
    static constexpr Duration kLearnAtLeast = std::chrono::milliseconds(300);
    /// News of members that are gone prolong it only within so long after it began.
    static constexpr Duration kLearnAtMost = std::chrono::seconds(3);
    /// A smaller grant that was not confirmed is sent again after so long.
    static constexpr Duration kGrantAgain = std::chrono::milliseconds(200);

    /// `live` returns all live members that share limits. This member is one of them if it is a
    /// sidecar; an anchor shares none.
    WindowOwner(Silence& silence, std::function<std::vector<gossip::MemberId>()> live,
                SyncStatistics& statistics)
        : silence_(silence), live_(std::move(live)), statistics_(statistics) {}

    /// Who there is besides this member.
    struct Sharing {
        std::uint32_t members;  // how many share the limits, this one included if it does
        bool others;            // others may know what was admitted, also if they share no limit
    };
    /// Looks at the limits for which something is due. `second` and `moved`: as for
    /// WindowOrigin::tick().
    void tick(Instant now, std::int64_t second, const Sharing& fleet, const gossip::MemberId& self,
              const membership::Owners& owners, WindowSink& sink, bool moved = true);
    /// An origin reports, or an owner tells of a member that is gone. Only for shards that this
    /// member owns.
    void receive(const gossip::MemberId& from, MemberNumber number, const WindowReport& report,
                 Instant now, WindowSink& sink);
    /// Another owner has noted what it was told of a member that is gone.
    void noted(const gossip::MemberId& from, const WindowGrant& grant);
    /// This process was stopped: what it knows is old.
    void stopped(Instant now);
    /// Grants nothing for a while, because counts are still to come.
    void learn_on(Instant now) { learns_until_ = std::max(learns_until_, now + kLearnAtLeast); }
    /// Notes in `lost` what others show that they know.
    void watch(LostOwners& lost) { lost_ = &lost; }
    /// A member has come, is gone or cannot be heard.
    void members_changed() { members_changed_ = true; }

    [[nodiscard]] std::size_t size() const { return limits_.size(); }
    /// The number of limits owned here whose present window began before all their owners were
    /// lost. Counts of members that are gone may be missing from these.
    [[nodiscard]] std::size_t uncertain(const LostOwners& lost) const;
    /// Takes in what a run of a member that is gone had admitted, of a snapshot. To be called after
    /// the first tick(), also of limits that this member does not own: their owners are told.
    void restore(const WindowReport& report, Instant now);
    /// Calls visit(report) for what each run has admitted in the present window of the limit with
    /// this slot, if there is one. Slots are those below slots().
    template <class Visit>
    void for_each_count(std::uint32_t slot, Visit visit) const {
        const Limit& limit = limits_[slot];
        for (const auto& [id, row] : limit.rows) {
            if (row.reported) {
                visit(count_of(limit, row.said));
            }
        }
        for (const GoneRuns::GoneRun& count : limit.gone.counts()) {
            visit(report_of(limit, count));
        }
    }
    /// Whether for_each_count() has this count of this member's own run, or a newer one.
    [[nodiscard]] bool has_count_of_self(const WindowReport& report) const;
    [[nodiscard]] std::size_t slots() const { return limits_.slots(); }
    /// Counts what was learned that others could forget.
    [[nodiscard]] std::uint64_t news() const { return news_; }

    /// What all runs together have admitted in the present window, as far as this owner knows.
    [[nodiscard]] std::optional<std::uint64_t> admitted(const LimitKey& key) const;

  private:
    /// A member that shares the window.
    struct Row {
        MemberNumber number = 0;
        bool reported = false;  // else it was asked for its equal part
        WindowReport said;
        std::uint64_t granted = 0;       // the newest
        std::uint64_t most_granted = 0;  // since it reported
        Instant told{};                  // when the newest grant was sent
        Instant heard{};                 // when it last reported
        std::uint32_t asked = 0;         // how often it asked for more since the last turn began
        std::uint32_t unconfirmed = 0;   // smaller grants, or questions, in a row without a report
    };
    /// The share of a member that cannot be heard is kept.
    struct HeldShare {
        MemberNumber member = 0;
        Instant since{};            // that it cannot be heard
        std::uint64_t allowed = 0;  // how much it may admit in all
    };
    struct Limit {
        LimitKey key;
        std::uint32_t end = 0;
        std::uint64_t most = 0;
        std::map<gossip::MemberId, Row> rows;
        GoneRuns gone;                            // of members that are gone or cannot be heard
        std::map<std::uint64_t, HeldShare> held;  // of these runs the member's share is kept
        bool scarce = false;
        /// Who gets first what cannot be divided equally, and since when. With the number of no
        /// member it is the one with the lowest address.
        MemberNumber turn = 0;
        Instant turned{};
        std::uint32_t owners_version = 0;  // the shard's, when the others were last told anew
        Instant handed{};                  // when it was last told to other owners
        std::uint32_t handed_times = 0;
        Instant divided{};
        std::uint32_t judged = 0;  // judgements_ when its rows were last judged
    };
    struct Change {
        Instant when;
        std::uint32_t members;
    };
    /// How a window is divided at the moment.
    struct Plan;

    [[nodiscard]] static WindowReport count_of(const Limit& limit, WindowReport said);
    [[nodiscard]] static WindowReport report_of(const Limit& limit, const GoneRuns::GoneRun& count);
    void follow_owners(Instant now, const gossip::MemberId& self, const membership::Owners& owners);
    void note_members(std::uint32_t members, Instant now);
    [[nodiscard]] std::uint64_t silent_part(const Limit& limit, Instant now) const;
    [[nodiscard]] static Duration again_after(const Row& row);
    [[nodiscard]] bool is_owner(const LimitKey& key) const;
    [[nodiscard]] bool is_first(const LimitKey& key) const;
    [[nodiscard]] Instant hand_again(const Limit& limit) const;
    [[nodiscard]] bool learns(const Limit& limit, Instant now) const;
    [[nodiscard]] std::optional<std::uint32_t> find_or_add(const LimitKey& key);
    void remove(std::uint32_t slot);
    bool settle_end(Limit& limit, const WindowReport& report);
    [[nodiscard]] bool is_of_earlier(const Limit& limit, const WindowReport& report) const;
    void begin(Limit& limit, std::uint32_t end);
    void forget_counts(Limit& limit);
    void look(std::uint32_t slot, Instant now, WindowSink& sink);
    void judge(Limit& limit, Instant now);
    [[nodiscard]] static Row* row_of(Limit& limit, std::uint64_t run);
    void hear_last(Limit& limit, WindowReport report);
    void bury(Limit& limit, const Row& row, Instant now, bool held);
    [[nodiscard]] bool keeps_share(MemberNumber member, Instant since, Instant now) const;
    bool take_gone(Limit& limit, const WindowReport& report);
    [[nodiscard]] GoneRuns::OwnerBits owner_bits(const LimitKey& key,
                                                 const gossip::MemberId& member) const;
    void show_knowledge(const gossip::MemberId& member);
    bool hear_of_gone(Limit& limit, const gossip::MemberId& from, const WindowReport& report,
                      Instant now);
    bool notes_gone(Limit& limit, const WindowReport& report);
    Row* take_row(Limit& limit, const gossip::MemberId& from, MemberNumber number,
                  const WindowReport& report, Instant now);
    [[nodiscard]] static std::uint64_t counted(const Row& row, std::uint64_t silent);
    static void take_turn(Limit& limit, Row& row, Instant now);
    [[nodiscard]] Plan make_plan(Limit& limit, Instant now) const;
    void divide_anew(Limit& limit, Instant now, WindowSink& sink);
    static void give(Plan& plan);
    static void take(Plan& plan);
    void ask_others(Limit& limit, std::uint64_t missing, std::uint64_t spare, Instant now,
                    WindowSink& sink);
    void hand_over(Limit& limit, Instant now, WindowSink& sink);
    void send(const Limit& limit, const gossip::MemberId& to, Row& row, Instant now,
              WindowSink& sink);
    [[nodiscard]] Instant next_look(const Limit& limit, Instant now) const;

    Silence& silence_;
    std::function<std::vector<gossip::MemberId>()> live_;
    SyncStatistics& statistics_;
    gossip::MemberId self_;
    std::int64_t second_ = 0;
    std::uint32_t members_ = 1;
    bool others_ = false;
    std::deque<Change> changes_;  // of the number of members, the oldest first
    std::array<membership::OwnerList, membership::kShards> owners_;
    std::array<std::uint32_t, membership::kShards> owners_version_{};
    std::array<Instant, membership::kShards> first_since_{};
    Instant learns_until_{};
    Instant others_since_{};  // that it last began to learn from others
    LostOwners* lost_ = nullptr;
    bool members_changed_ = false;
    std::uint32_t judgements_ = 1;  // counts changes of members
    LimitTable<Limit> limits_;
    std::size_t rows_ = 0;  // of all limits
    std::size_t gone_ = 0;
    std::uint64_t news_ = 0;
    DueQueue due_;
};

}  // namespace weir::sync
