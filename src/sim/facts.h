#pragma once
// The facts that the checkers of a simulated fleet compare: plain values of one instant. Some were
// read from the sidecars and say what these believe. Others come from the simulated world itself
// and say what really happened, for instance which processes were started and what each of them
// admitted. A test may make up false facts to see that a checker objects.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "limiter/definition.h"
#include "sim/told_weight.h"
#include "sync/messages.h"

namespace weir::sim {

/// The index of a limit in Facts::limits.
using LimitIndex = std::uint32_t;
inline constexpr LimitIndex kUnknownLimit = ~LimitIndex{0};

/// One limit of the fleet.
struct LimitFact {
    std::string quota;
    sync::LimitKey key;
    limiter::LimitParameters parameters;
    /// The largest number of requests per second that the whole fleet is offered under this limit.
    double offered = 0;
    /// Of a limit of windows, or of requests in flight: as it is defined.
    std::optional<limiter::RateLimit> counted = {};
};

/// A limit of windows, or of requests in flight, as a process has it.
struct CountedFact {
    LimitIndex limit = kUnknownLimit;
    double count = 0;             // in flight here, or admitted here in the window
    double allowance = 0;         // how much of it may be here
    std::int64_t window_end = 0;  // the second since 1970; 0: there is no window
};

/// What an owner knows a process to have admitted in a window.
struct WindowCountFact {
    LimitIndex limit = kUnknownLimit;
    std::uint64_t run = 0;  // ProcessTruth::window_run
    std::int64_t end = 0;   // the second in which the window ends
    double admitted = 0;
};

/// What a process has really admitted in a window.
struct WindowTruth {
    double admitted = 0;
    double at_look = 0;       // when the state of the fleet was last read
    double a_second_ago = 0;  // when it was read the time before
    /// What it admitted so shortly before it was killed that it may have told nobody of it.
    double untold = 0;
};
/// A window of a limit, and the process that admitted something in it.
struct WindowPlace {
    LimitIndex limit = kUnknownLimit;
    std::int64_t end = 0;     // the second in which the window ends
    std::size_t process = 0;  // index in Facts::ever
    friend auto operator<=>(const WindowPlace&, const WindowPlace&) = default;
};
/// Of the present windows, and of those that have just ended.
using WindowTruths = std::map<WindowPlace, WindowTruth>;

/// The cell that an owner has of one run of an origin.
struct CellFact {
    std::uint32_t run = 0;
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    [[nodiscard]] double net() const { return admitted - refunded; }
};

/// One limit as an owner has it.
struct OwnedFact {
    LimitIndex limit = kUnknownLimit;
    std::uint32_t life = 0;  // differs after the owner began anew with this limit
    std::optional<limiter::LimitParameters> parameters;
    double level = 0;     // at this instant
    bool owner = false;   // the shard still belongs to this sidecar
    bool filled = false;  // other members may believe its level
    ToldWeight told;
    std::vector<CellFact> cells;
    double heaviest = 0;  // W (limiter/laws.h)
};

/// What an origin knows about one limit from one owner.
struct ViewFact {
    Endpoint owner;
    std::uint64_t incarnation = 0;  // of the owner
    std::uint32_t life = 0;         // OwnedFact::life, as the owner told it
    double acknowledged = 0;        // net weight of the current run that the owner has confirmed
    double silent_seconds = 0;      // time since the owner was last heard
    double level = 0;
    double heaviest = 0;  // W (limiter/laws.h)
};

/// One limit as an origin has it.
struct UsedFact {
    LimitIndex limit = kUnknownLimit;
    std::uint32_t run = 0;
    double net = 0;  // admitted less refunded since the run began, as the origin tells it
    limiter::LimitParameters parameters;
    bool awake = false;
    double idle_seconds = 0;  // time since it was last used
    std::vector<ViewFact> views;
    double quiet = 0;  // what the process counted while the limit was quiet, and not in a run
};

/// One process that was started, and the weight that it really admitted under each limit.
struct ProcessTruth {
    std::uint32_t sidecar = 0;
    std::uint32_t epoch = 0;      // the number of the process among those of the sidecar
    std::optional<double> ended;  // when it ended; nothing while it runs
    std::vector<double> admitted;
    std::vector<double> renewed = {};  // when it took new incarnations
    double began = 0;                  // when it was started
    std::uint64_t window_run = 0;      // the number by which owners know what it admits in windows
};

/// A running process.
struct ProcessFact {
    std::size_t process = 0;  // its index in Facts::ever
    Endpoint address;
    std::uint64_t incarnation = 0;
    bool stopped = false;  // it is stopped now, but will go on
    std::vector<UsedFact> used;
    /// The limits and numbers of runs that it began since the last look.
    std::vector<std::pair<LimitIndex, std::uint32_t>> begun = {};
    std::vector<OwnedFact> owned;
    std::size_t members = 0;        // number of members in its table of silence
    std::uint64_t definitions = 0;  // a hash of all definitions in force
    /// Number of peers that it believes alive, if that was looked up.
    std::optional<std::size_t> live;
    std::vector<CountedFact> counted = {};
    std::vector<WindowCountFact> window_counts = {};  // as an owner
    std::vector<LimitIndex> windows_owned = {};
    /// It says that counts of windows may be missing (Engine::uncertain_windows()).
    bool uncertain = false;
};

/// For each limit and run, the process that began the run. Read from the origins themselves.
using Runs = std::map<std::pair<LimitIndex, std::uint32_t>, std::size_t>;

struct Facts {
    double at = 0;        // seconds of the story
    double calm_for = 0;  // seconds since the last fault ended; negative during a fault
    std::vector<LimitFact> limits;
    std::vector<ProcessTruth> ever;
    std::vector<ProcessFact> running;
    Runs runs;
    double connected_for = 0;  // seconds since faults let all sidecars hear each other
    std::int64_t second = 0;   // since 1970, by a wall clock that is right
    WindowTruths windows = {};
    /// By limit: when the present window should end; 0 where windows begin with the first request.
    std::vector<std::int64_t> window_ends = {};

    [[nodiscard]] const ProcessFact* find(const Endpoint& address, std::uint64_t incarnation) const;
    /// The process that began the run, or nullptr.
    [[nodiscard]] const ProcessTruth* origin(LimitIndex limit, std::uint32_t run) const;
    /// A name for people: "sidecar 3 (process 2)".
    [[nodiscard]] std::string name(std::size_t process) const;
    [[nodiscard]] std::string quota(LimitIndex limit) const;
};

/// One request and its results.
struct RequestFact {
    double at = 0;
    std::uint32_t sidecar = 0;
    std::uint32_t quota = 0;  // index of its leaf in the plan
    bool admitted = false;
    bool central_admitted = false;  // by the CentralBucket, which gets the same arrivals
    /// The limit of windows, or of requests in flight, that refused it.
    std::optional<LimitIndex> refused_by = {};
    /// The windows in which it was admitted: each limit, and the second in which its window ends.
    std::vector<std::pair<LimitIndex, std::int64_t>> windows = {};
};

[[nodiscard]] const OwnedFact* find_owned(const ProcessFact& process, LimitIndex limit);
[[nodiscard]] const CellFact* find_cell(const OwnedFact& owned, std::uint32_t run);

}  // namespace weir::sim
