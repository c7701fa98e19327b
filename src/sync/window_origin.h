#pragma once
// How this member gets its part of the limits of windows that the fleet shares, and how its counts
// outlive it. It tells all owners of a limit what it has admitted in the present window, a tenth of
// a second later at most, and tells it again until each has noted it. When it needs more than it
// may admit, or soon will, it says how much it wants, and the first owner grants it an allowance.
// Without any answer it goes on with the allowance that it has. Of two ends of a window that owners
// name, as after a split, the earlier one counts.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns its table; borrows limiter
// and statistics.
// Invariants: the table has at most kMostLimits limits, each with a window that has not ended or
// has just ended. Nothing is due for a limit that nobody uses and whose count every owner has
// noted. In one tick it looks at most at kLooksEachTick limits.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "limiter/limiter.h"
#include "membership/owners.h"
#include "sync/due_queue.h"
#include "sync/limit_table.h"
#include "sync/statistics.h"
#include "sync/window_messages.h"

namespace weir::sync {

/// Sends the messages about windows to another member, or to this one.
class WindowSink {
  public:
    virtual ~WindowSink() = default;
    /// Whether the budget of counters has room for what may wait or, if urgent, for what may not.
    [[nodiscard]] virtual bool has_room_for_windows(bool urgent) = 0;
    virtual void send_window_report(const gossip::MemberId& to, const WindowReport& report) = 0;
    virtual void send_window_grant(const gossip::MemberId& to, const WindowGrant& grant) = 0;
};

/// No window ends in more than so many seconds: a month of the calendar and a day.
inline constexpr std::int64_t kFarthestWindow = 32 * 86'400;

class WindowOrigin {
  public:
    static constexpr std::size_t kMostLimits = std::size_t{1} << 17;
    static constexpr std::size_t kLooksEachTick = 500;

    WindowOrigin(limiter::Limiter& limiter, SyncStatistics& statistics)
        : limiter_(limiter), statistics_(statistics) {}

    /// From now on the limiter notes which limits are used, also before the first tick. To be
    /// called before the first request: of those that it had noted by then nobody hears.
    void listen() {
        limiter_.drain_active([](limiter::LimitRef) {});
    }
    /// To be called once: a random number of this process, not 0, by which owners know its counts.
    void set_run(std::uint64_t run) {
        WEIR_ASSERT(run != 0 && run_ == 0);
        run_ = run;
    }

    /// Looks at the limits that were used since the last call, and at those for which something is
    /// due. `second`: of the fleet's wall clock. `moved`: whether owners may have changed since the
    /// last call.
    void tick(Instant now, std::int64_t second, const membership::Owners& owners, WindowSink& sink,
              bool moved = true);
    /// An owner has answered, or the first owner of the limit says something unasked.
    void receive(const gossip::MemberId& from, const WindowGrant& grant, Instant now);
    /// Tells everything that the owners do not know yet, because this member leaves.
    void tell_all(Instant now, const membership::Owners& owners, WindowSink& sink);

    /// Notes what a limit may admit here in the window that ends then, for a record that is made
    /// later, without word from an owner.
    void foretell(const LimitKey& key, const limiter::WindowAllowance& allowance);
    /// What this run has admitted in the present window of the limit with this slot, as of the last
    /// look. Slots are those below slots().
    [[nodiscard]] std::optional<WindowReport> own_count(std::uint32_t slot);
    [[nodiscard]] std::size_t slots() const { return limits_.slots(); }
    /// Counts what was admitted here that others could forget.
    [[nodiscard]] std::uint64_t news() const { return news_; }

    /// The limits whose present window was used here, or whose allowance an owner has told.
    [[nodiscard]] std::size_t size() const { return limits_.size(); }

  private:
    /// What is known of one owner of a limit.
    struct Told {
        gossip::MemberId owner;
        std::uint64_t noted = 0;    // the number of the newest report that it has noted; 0 = none
        std::uint32_t sent = 0;     // how often the newest report was sent
        std::uint32_t answers = 0;  // and how often it was answered
        Instant sent_at{};
    };
    struct Limit {
        LimitKey key;
        std::optional<limiter::LimitRef> ref;  // nothing: there is no record any more
        std::uint32_t end = 0;                 // of the present window; 0 = none is known
        limiter::WindowCounts counts;          // at the last look; `lacking` since the last report
        std::optional<std::uint64_t> allowance;  // that was granted; nothing: an equal part
        bool scarce = false;
        double rate = 0;  // weight per second that was admitted lately
        Instant looked{};
        std::uint32_t asked_in_vain = 0;  // reports in a row that wanted more than was granted
        WindowReport said;
        Instant said_at{};
        bool again = false;  // an owner has asked for a report
        std::array<Told, membership::kOwnersPerShard> owners;
        std::size_t owner_count = 0;
    };

    struct Answer {
        bool noted = false;     // it is of an owner
        bool repeated = false;  // which says it without being asked
    };

    void follow(const membership::Owners& owners, Instant now);
    void touched(limiter::LimitRef ref, Instant now);
    [[nodiscard]] std::optional<std::uint32_t> add(const LimitKey& key);
    void link(std::uint32_t slot, limiter::LimitRef ref, Instant now);
    void unlink(Limit& limit);
    void drop(std::uint32_t slot);
    bool measure(Limit& limit, Instant now);
    void begin_window(Limit& limit, std::uint32_t end);
    [[nodiscard]] static double need_of(const Limit& limit);
    [[nodiscard]] static bool asks(const Limit& limit);
    [[nodiscard]] static Duration report_after(const Limit& limit);
    void look(std::uint32_t slot, Instant now, const membership::Owners& owners, WindowSink& sink);
    static bool follow_owners(Limit& limit, const membership::Owners& owners);
    void report(Limit& limit, Instant now);
    void send_due(Limit& limit, Instant now, WindowSink& sink);
    [[nodiscard]] Instant after_end(const Limit& limit, Instant now) const;
    [[nodiscard]] Instant next_look(const Limit& limit, Instant now) const;
    void allow(Limit& limit, bool anew, Instant now);
    [[nodiscard]] static Answer take_answer(Limit& limit, const gossip::MemberId& from);

    limiter::Limiter& limiter_;
    SyncStatistics& statistics_;
    std::uint64_t run_ = 0;
    std::uint64_t reports_ = 0;  // and counts of own_count()
    std::uint64_t news_ = 0;
    std::int64_t second_ = 0;
    std::array<membership::OwnerList, membership::kShards> owners_;
    LimitTable<Limit> limits_;
    std::unordered_map<std::uint32_t, std::uint32_t> by_record_;
    DueQueue due_;
};

}  // namespace weir::sync
