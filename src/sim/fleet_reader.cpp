#include "sim/fleet_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/closest.h"
#include "config/quota_reader.h"
#include "config/reader.h"
#include "definitions/rules.h"
#include "sim/fault_text.h"
#include "sim/fleet_limits.h"
#include "sim/lists_of_names.h"
#include "sim/value_reader.h"

namespace weir::sim {
namespace {

using config::Diagnostics;
using config::MapReader;
using config::NodeRef;

constexpr std::uint64_t kMostSidecars = 10'000;
constexpr std::uint64_t kMostCopies = 10'000;
constexpr std::size_t kMostSteps = 100'000;
constexpr double kShortestStay = 0.1;
constexpr Duration kLongest = std::chrono::hours(1);
constexpr Duration kShortestRequest = std::chrono::milliseconds(1);
constexpr std::uint64_t kLeastCounterBytes = 65'536;  // as cluster.counter_bytes has it
constexpr std::uint64_t kMostCounterBytes = 1'073'741'824;

void read_dials(MapReader& reader, sync::SyncSettings& sync, Diagnostics& diagnostics) {
    if (const auto budget = reader.take("error_budget")) {
        sync.error_budget = read_share(*budget, diagnostics);
    }
    const auto time = [&](std::optional<NodeRef> node, Duration& dial) {
        if (node) {
            dial = config::read_duration(*node, Duration::zero(), kLongest, diagnostics)
                       .value_or(dial);
        }
    };
    if (const auto bytes = reader.take("counter_bytes")) {
        sync.counter_bytes = static_cast<double>(
            config::read_size(*bytes, kLeastCounterBytes, kMostCounterBytes, diagnostics)
                .value_or(kLeastCounterBytes));
    }
    time(reader.take("minimum_interval"), sync.minimum_interval);
    time(reader.take("hold"), sync.hold);
    time(reader.take("hold_alone"), sync.hold_alone);
}

/// Reports limits in other units than requests, because requests of the simulator have no bytes and
/// no cost.
void check_limits(const limiter::QuotaDefinition& quota, NodeRef node, QuotasInFlight& in_flight,
                  Diagnostics& diagnostics) {
    for (const limiter::RateLimit& limit : quota.limits) {
        if (limit.unit != limiter::Unit::requests) {
            diagnostics.error(node,
                              "the simulator's requests have neither bytes nor cost: leave "
                              "'of' out");
        }
        if (limit.is_concurrency()) {
            in_flight.push_back(node);
        }
    }
}

/// Reads a quota, or `copies` of the quota `of`.
void read_entry(NodeRef node, WorldPlan& plan, std::vector<NodeRef>& places, QuotaCopies& copies,
                QuotasInFlight& in_flight, Diagnostics& diagnostics) {
    const std::vector<NodeRef> members = node.children();
    const bool copied = std::any_of(members.begin(), members.end(),
                                    [](NodeRef member) { return member->key == "copies"; });
    if (!copied) {
        plan.definitions.push_back(config::read_quota(node, diagnostics));
        places.push_back(node);
        check_limits(plan.definitions.back(), node, in_flight, diagnostics);
        return;
    }
    MapReader reader(node, diagnostics);
    const auto copies_given = reader.require("copies");
    const auto of = reader.require("of");
    reader.finish();
    if (!copies_given || !of) {
        return;
    }
    const auto count = config::read_unsigned(*copies_given, 1, kMostCopies, diagnostics);
    const limiter::QuotaDefinition quota = config::read_quota(*of, diagnostics);
    check_limits(quota, *of, in_flight, diagnostics);
    for (std::uint64_t i = 0; i < count.value_or(0); ++i) {
        limiter::QuotaDefinition& copy = plan.definitions.emplace_back(quota);
        copy.name += std::to_string(i);
        copies[quota.name].push_back(copy.name);
        places.push_back(*of);
    }
}

/// Reads the load from one time on: the requests per second of each named leaf.
class LoadReader {
  public:
    LoadReader(const QuotaCopies& copies, WorldPlan& plan, Diagnostics& diagnostics)
        : copies_(copies), plan_(plan), diagnostics_(diagnostics) {}

    void read(NodeRef node, double at) {
        if (node->kind != config::NodeKind::map) {
            diagnostics_.error(node, "must be a map from quotas to rates, like {q: 500r/s}");
            return;
        }
        LoadPhase phase;
        phase.from = at;
        for (const NodeRef each : node.children()) {
            const double rate = read_rate(each, diagnostics_);
            const auto copies = copies_.find(each->key);
            if (copies == copies_.end()) {
                add(phase, each, std::string(each->key), rate);
                continue;
            }
            for (const std::string& copy : copies->second) {
                add(phase, each, copy, rate);
            }
        }
        phase.rate = std::accumulate(phase.shares.begin(), phase.shares.end(), 0.0);
        plan_.load.phases.push_back(std::move(phase));
    }
    /// Leaves that were first named later get nothing before.
    void finish() {
        for (LoadPhase& phase : plan_.load.phases) {
            phase.shares.resize(plan_.load.quotas.size());
        }
        std::stable_sort(
            plan_.load.phases.begin(), plan_.load.phases.end(),
            [](const LoadPhase& one, const LoadPhase& other) { return one.from < other.from; });
    }

  private:
    void add(LoadPhase& phase, NodeRef node, const std::string& leaf, double rate) {
        std::vector<std::string>& leaves = plan_.load.quotas;
        const auto found = std::find(leaves.begin(), leaves.end(), leaf);
        const auto place = static_cast<std::size_t>(found - leaves.begin());
        if (found == leaves.end()) {
            const std::vector<std::string_view> names = names_of(leaf);
            if (names.size() > limiter::kMaxLeaves) {
                diagnostics_.error_at_key(
                    node, "has more than " + std::to_string(limiter::kMaxLeaves) + " names", {});
            }
            for (const std::string_view name : names) {
                check_name(node, name);
            }
            leaves.push_back(leaf);
        }
        phase.shares.resize(leaves.size());
        phase.shares[place] = rate;
    }
    void check_name(NodeRef node, std::string_view leaf) {
        if (limiter::is_template(leaf)) {
            diagnostics_.error_at_key(node, "is a template: name one of its instances", {});
        } else if (!is_covered(leaf, plan_.definitions)) {
            std::vector<std::string_view> names;
            for (const limiter::QuotaDefinition& each : plan_.definitions) {
                names.push_back(each.name);
            }
            diagnostics_.error_at_key(node, "there is no such quota", closest(leaf, names));
        }
    }

    const QuotaCopies& copies_;
    WorldPlan& plan_;
    Diagnostics& diagnostics_;
};

/// Reads one step: a time, and the load or one fault.
void read_step(NodeRef node, LoadReader& load, Story& story, Diagnostics& diagnostics) {
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return;
    }
    double at = 0;
    if (const auto given = reader.require("at")) {
        at = read_seconds(*given, diagnostics);
        if (at > story.plan.seconds) {
            diagnostics.error(*given, "is after the end of the story");
        }
    }
    std::size_t found = 0;
    if (const auto given = reader.take("load")) {
        ++found;
        load.read(*given, at);
    }
    const FaultContext context{story.plan.sidecars, story.plan.definitions};
    found += take_faults(reader, at, context, story.faults, diagnostics);
    reader.finish();
    if (found > 1) {
        diagnostics.error(node, "does several things: make a step of each");
    }
    if (found == 0 && node.children().size() <= 1) {
        diagnostics.error(node, "does nothing: a step has 'at' and 'load' or a fault");
    }
}

}  // namespace

void read_fleet(NodeRef node, WorldPlan& plan, Diagnostics& diagnostics) {
    constexpr std::uint64_t kLeastOfStar = 4;
    MapReader reader(node, diagnostics);
    if (const auto star = reader.take("star")) {
        plan.star = config::read_boolean(*star, diagnostics).value_or(false);
    }
    if (const auto sidecars = reader.require("sidecars")) {
        plan.sidecars = static_cast<std::uint32_t>(
            config::read_unsigned(*sidecars, plan.star ? kLeastOfStar : 1, kMostSidecars,
                                  diagnostics)
                .value_or(plan.sidecars));
    }
    if (const auto drift = reader.take("clock_drift")) {
        plan.clock_drift = read_share(*drift, diagnostics);
    }
    if (const auto budgets = reader.take("budgets")) {
        plan.budgets = read_share(*budgets, diagnostics);
    }
    read_dials(reader, plan.sync, diagnostics);
    reader.finish();
}

void read_network(NodeRef node, NetworkFaults& faults, Diagnostics& diagnostics) {
    MapReader reader(node, diagnostics);
    if (const auto delay = reader.take("delay")) {
        faults.delay = config::read_duration(*delay, Duration::zero(), kLongest, diagnostics)
                           .value_or(faults.delay);
    }
    const auto share = [&](std::optional<NodeRef> given, double& of) {
        of = given ? read_share(*given, diagnostics) : of;
    };
    share(reader.take("loss"), faults.loss);
    share(reader.take("duplication"), faults.duplication);
    share(reader.take("reordering"), faults.reordering);
    if (const auto refusals = reader.take("refusals")) {
        faults.refusals = config::read_boolean(*refusals, diagnostics).value_or(false);
    }
    reader.finish();
}

QuotaCopies read_quotas(NodeRef node, WorldPlan& plan, QuotasInFlight& in_flight,
                        Diagnostics& diagnostics) {
    QuotaCopies copies;
    std::vector<NodeRef> places;  // of the definitions
    const std::size_t errors = diagnostics.error_count();
    for (const NodeRef entry : config::read_list(node, diagnostics)) {
        read_entry(entry, plan, places, copies, in_flight, diagnostics);
    }
    if (diagnostics.error_count() != errors) {
        return copies;
    }
    const definitions::DefinitionErrors found = definitions::validate(plan.definitions);
    for (const definitions::DefinitionError& error : found.listed()) {
        diagnostics.error(config::find_field(places[error.index], error.field), error.message,
                          error.suggestion);
    }
    diagnostics.count_errors(found.count() - found.listed().size());
    return copies;
}

void read_load(NodeRef node, WorldPlan& plan, Diagnostics& diagnostics) {
    MapReader reader(node, diagnostics);
    if (const auto arrivals = reader.take("arrivals")) {
        plan.load.constant_rate =
            config::read_word(*arrivals, {"random", "regular"}, diagnostics) == 1;
    }
    if (const auto share = reader.take("hot_sidecar")) {
        plan.load.skew = read_share(*share, diagnostics);
    }
    if (const auto moves = reader.take("moves_every")) {
        plan.load.move_every = read_seconds(*moves, diagnostics);
        if (plan.load.move_every < kShortestStay) {
            diagnostics.error(*moves, "must be at least 100ms");
        }
    }
    if (const auto takes = reader.take("takes")) {
        const auto time = config::read_duration(*takes, kShortestRequest, kLongest, diagnostics);
        plan.load.takes = static_cast<double>(time.value_or(kShortestRequest).count()) / 1e9;
    }
    if (const auto idle = reader.take("idle")) {
        plan.load.idle = read_sidecar(*idle, plan.sidecars, diagnostics);
    }
    reader.finish();
}

void read_steps(NodeRef node, const QuotaCopies& copies, Story& story, Diagnostics& diagnostics) {
    LoadReader load(copies, story.plan, diagnostics);
    const std::vector<NodeRef> steps = config::read_list(node, diagnostics);
    if (steps.size() > kMostSteps) {
        diagnostics.error(node, "has more than 100,000 steps");
        return;
    }
    for (const NodeRef step : steps) {
        read_step(step, load, story, diagnostics);
    }
    load.finish();
}

}  // namespace weir::sim
