#pragma once
// What the checkers of a simulated fleet are told: plain facts of one instant. Some were read out
// of the sidecars (what they hold), others the simulated world knows by itself (what really
// happened: who was started, and what each process let through). A checker compares the two. Plain
// values; a test may make false ones up to see that a checker objects.

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
#include "sync/messages.h"
#include "sync/statistics.h"

namespace weir::sim {

/// The place of a limit in Facts::limits.
using LimitIndex = std::uint32_t;
inline constexpr LimitIndex kUnknownLimit = ~LimitIndex{0};

/// One limit of the fleet.
struct LimitFact {
    std::string quota;
    sync::LimitKey key;
    limiter::LimitParameters parameters;
};

/// What an owner holds of one origin.
struct CellFact {
    std::uint32_t run = 0;
    double admitted = 0;
    double refunded = 0;
    double offered = 0;
    [[nodiscard]] double net() const { return admitted - refunded; }
};

/// One limit as an owner keeps it.
struct OwnedFact {
    LimitIndex limit = kUnknownLimit;
    std::uint32_t life = 0;
    std::optional<limiter::LimitParameters> parameters;
    double level = 0;     // now
    bool owner = false;   // the shard still belongs to this sidecar
    bool filled = false;  // others may believe it
    sync::ToldWeight told;
    std::vector<CellFact> cells;
};

/// What an origin believes of one limit from one owner.
struct ViewFact {
    Endpoint owner;
    std::uint64_t incarnation = 0;  // the owner's
    std::uint32_t life = 0;
    double acknowledged = 0;    // net weight of the present run that the owner has confirmed
    double silent_seconds = 0;  // since the owner was heard
    double level = 0;
};

/// One limit as an origin keeps it.
struct UsedFact {
    LimitIndex limit = kUnknownLimit;
    std::uint32_t run = 0;
    double net = 0;  // admitted less refunded since the run began, as it will be told
    limiter::LimitParameters parameters;
    bool awake = false;
    double idle_seconds = 0;  // since it was used last
    std::vector<ViewFact> views;
};

/// One process that was ever started, and what it really let through of each limit.
struct ProcessTruth {
    std::uint32_t sidecar = 0;
    std::uint32_t epoch = 0;  // counts the processes of the sidecar
    std::optional<double> ended;
    std::vector<double> admitted;
    std::vector<double> renewed = {};  // when it took another incarnation
};

/// A running process.
struct ProcessFact {
    std::size_t process = 0;  // its place in Facts::ever
    Endpoint address;
    std::uint64_t incarnation = 0;
    bool stopped = false;  // it does not run now, but will again
    std::vector<UsedFact> used;
    std::vector<OwnedFact> owned;
    std::size_t members = 0;          // that its table of silence knows
    std::uint64_t definitions = 0;    // a hash over what is in force
    std::optional<std::size_t> live;  // peers that it takes for live; not looked up each time
};

/// Which process began a run of a limit's cell: learnt from the origins themselves.
using Runs = std::map<std::pair<LimitIndex, std::uint32_t>, std::size_t>;

struct Facts {
    double at = 0;        // seconds of the story
    double calm_for = 0;  // seconds since the last fault was over; negative: there is one
    std::vector<LimitFact> limits;
    std::vector<ProcessTruth> ever;
    std::vector<ProcessFact> running;
    Runs runs;

    [[nodiscard]] const ProcessFact* find(const Endpoint& address, std::uint64_t incarnation) const;
    /// The process that began the run; nullptr when none did.
    [[nodiscard]] const ProcessTruth* origin(LimitIndex limit, std::uint32_t run) const;
    /// "sidecar 3 (process 2)".
    [[nodiscard]] std::string name(std::size_t process) const;
    [[nodiscard]] std::string quota(LimitIndex limit) const;
};

/// A request and what became of it.
struct RequestFact {
    double at = 0;
    std::uint32_t sidecar = 0;
    std::uint32_t quota = 0;  // leaf of the plan
    bool admitted = false;
    bool central_admitted = false;  // by one bucket that is fed with the same arrivals
};

[[nodiscard]] const OwnedFact* find_owned(const ProcessFact& process, LimitIndex limit);
[[nodiscard]] const CellFact* find_cell(const OwnedFact& owned, std::uint32_t run);

}  // namespace weir::sim
