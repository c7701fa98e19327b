#include "limiter/limiter.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/assert.h"
#include "base/random.h"
#include "limiter/admission.h"
#include "limiter/adoption.h"
#include "limiter/compiled_definitions.h"
#include "limiter/creation.h"
#include "limiter/definition_edit.h"
#include "limiter/eviction.h"
#include "limiter/fair_port.h"
#include "limiter/fair_shedding.h"
#include "limiter/figures.h"
#include "limiter/fleet_port.h"
#include "limiter/idle_search.h"
#include "limiter/instance_records.h"
#include "limiter/instance_store.h"
#include "limiter/instances.h"
#include "limiter/name_table.h"
#include "limiter/thread_contexts.h"
#include "limiter/waiting.h"
#include "limiter/windows.h"

namespace weir::limiter {
namespace {

/// Records that one maintain() looks at for idle instances.
constexpr std::uint32_t kSweepStep = 1024;
/// How many of them are looked at before the lock is given back to workers.
constexpr std::uint32_t kSweepHold = 32;

NameKey secret_key(std::uint64_t seed) {
    Random random(seed);
    return {random.next(), random.next()};
}

LimiterOptions bounded(LimiterOptions options) {
    // With those in limbo fewer than 2^24 records.
    constexpr std::uint32_t kLargestTable = 12'000'000;
    options.max_instances = std::clamp<std::uint32_t>(options.max_instances, 1, kLargestTable);
    return options;
}

}  // namespace

/// The parts; each refers to those above it only.
struct Limiter::Parts {
    explicit Parts(const LimiterOptions& given)
        : options(bounded(given)),
          store(options.max_instances, options.max_views),
          definitions(secret_key(options.seed)) {}

    void reclaim_and_grow();
    void sweep(Instant now);

    const LimiterOptions options;
    ThreadContexts threads;
    InstanceStore store;
    Windows windows{store};
    CompiledDefinitions definitions;
    InstanceRecords records{store};
    Instances instances{store, definitions};
    IdleSearch idle{instances, store, definitions, windows, options};
    Eviction eviction{idle, instances, store, definitions, options};
    Creation creation{instances, records, eviction, store, definitions, options};
    Adoption adoption{creation, instances, records, store, definitions};
    FairShedding fair;
    Figures figures{store, definitions, instances, threads, fair, windows, options};
    Waiting waiting{store};
    FleetPort fleet{store, definitions, records, instances, threads, windows};
    FairPort fair_port{fair, store, definitions, fleet};
    Admission admission{store, definitions, fleet, fair, windows, options.max_weight};
};

Limiter::Limiter(const LimiterOptions& options) : parts_(std::make_unique<Parts>(options)) {}
Limiter::~Limiter() = default;

// --- definitions ---------------------------------------------------------------------------------

std::size_t Limiter::change(std::span<const DefinitionChange> changes, Instant now,
                            std::vector<RefusedChange>* refused) {
    DefinitionEdit edit({parts_->definitions, parts_->store, parts_->records, parts_->instances,
                         parts_->creation, parts_->adoption, parts_->figures},
                        now);
    std::vector<RefusedChange> left_out;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const DefinitionChange& change = changes[i];
        if (!change.definition) {
            edit.take_away(change.name);
        } else if (const auto why = parts_->definitions.objection_to(*change.definition)) {
            left_out.push_back({i, change.name, *why});
        } else {
            edit.put(*change.definition);
        }
    }
    edit.finish();
    const std::size_t count = left_out.size();
    if (refused != nullptr) {
        *refused = std::move(left_out);
    }
    return count;
}

std::vector<QuotaDefinition> Limiter::definitions() const { return parts_->definitions.all(); }

std::optional<QuotaDefinition> Limiter::definition_for(std::string_view name) const {
    const CompiledDefinition* definition = parts_->definitions.definition_for(name);
    return definition == nullptr ? std::nullopt : std::optional(definition->definition());
}

// --- upkeep --------------------------------------------------------------------------------------

void Limiter::Parts::reclaim_and_grow() {
    const std::lock_guard held(store.lock);
    store.reclaim(threads.oldest(store.epochs));
    if (store.names.load() > NameTable::kGrowLoad) {
        store.retire_slots(store.names.grow());
    }
}

void Limiter::Parts::sweep(Instant now) {
    const std::uint32_t steps = std::min(kSweepStep, store.high_water());
    for (std::uint32_t done = 0; done < steps; done += kSweepHold) {
        const std::lock_guard held(store.lock);
        eviction.sweep(now, std::min(kSweepHold, steps - done));
    }
}

std::int64_t Limiter::wall_second(Instant now) const {
    return parts_->windows.second(nanoseconds(now));
}
void Limiter::set_wall_clock(Duration ahead) { parts_->windows.set_clock(ahead); }

void Limiter::maintain(Instant now) {
    parts_->reclaim_and_grow();
    parts_->adoption.give_room(now);
    parts_->sweep(now);
    parts_->figures.survey(now);
}

Memory Limiter::memory() const {
    Memory memory;
    // Workers may make instances at the same time.
    const std::lock_guard creation(parts_->store.lock);
    memory.instances = parts_->instances.live_without_overflow();
    memory.records = parts_->store.records_in_use();
    memory.bytes = parts_->store.bytes() + parts_->instances.bytes();
    WEIR_ASSERT(memory.records >= memory.instances);  // each has a head
    memory.name_bytes = parts_->store.name_bytes();
    memory.views = parts_->store.views_in_use();
    memory.definitions = parts_->definitions.size();
    memory.awaiting_room = parts_->adoption.waiting();
    return memory;
}

LimiterCounters Limiter::counters() const {
    LimiterCounters counters;
    counters.created = parts_->creation.created();
    counters.replaced = parts_->eviction.replaced();
    counters.searched = parts_->idle.searched();
    counters.dropped_idle = parts_->eviction.dropped_idle();
    counters.swept = parts_->eviction.swept();
    counters.gauged = parts_->figures.gauged();
    counters.bad_views = parts_->fleet.bad_views();
    counters.cleared = parts_->records.cleared();
    parts_->threads.for_each([&](const ThreadContext& thread) {
        counters.overflowed += thread.overflowed.get();
        counters.contended += thread.contended.get();
        counters.active_dropped += thread.active_dropped.get();
        counters.clamped_weights += thread.clamped_weights.get();
    });
    counters.without_fair_place = parts_->fair.without_place();
    return counters;
}

std::vector<LimitStatus> Limiter::inspect(std::string_view quota, Instant now) const {
    return parts_->figures.inspect(quota, now);
}
std::optional<DefinitionStatistics> Limiter::statistics_of(std::string_view definition,
                                                           Instant now) const {
    return parts_->figures.statistics_of(definition, now);
}
void Limiter::for_each_statistics(
    Instant now, const std::function<void(const DefinitionStatistics&)>& visit) const {
    parts_->figures.for_each_statistics(now, visit);
}

// --- workers -------------------------------------------------------------------------------------

ThreadContext& Limiter::register_thread(std::uint64_t seed) {
    return parts_->threads.add(seed, parts_->options.max_statistics + std::size_t{1});
}
void Limiter::quiescent(ThreadContext& thread) { Epochs::leave(thread.epoch); }
AskedName Limiter::ask(ThreadContext& thread, std::string_view name) const {
    return parts_->creation.ask(thread, name);
}
LeafId Limiter::find(ThreadContext& thread, const AskedName& asked, Instant now) {
    return parts_->creation.find(thread, asked, now);
}
Decision Limiter::check(ThreadContext& thread, LeafId leaf, const Weights& weights, Instant now,
                        CheckMode mode, const RequestFields* fields) {
    return parts_->admission.check(thread, leaf, weights, now, mode, fields);
}
bool Limiter::find(ThreadContext& thread, const AskedName& asked, Instant now, Leaves& leaves) {
    return parts_->creation.find(thread, asked, now, leaves);
}
bool Limiter::have_catch_all(ThreadContext& thread) const {
    return parts_->creation.have_catch_all(thread);
}
bool Limiter::falls_to_catch_all(ThreadContext& thread, const AskedName& asked) const {
    return parts_->creation.falls_to_catch_all(thread, asked);
}
Decision Limiter::check(ThreadContext& thread, const Leaves& leaves, const Weights& weights,
                        Instant now, CheckMode mode, const RequestFields* fields) {
    return parts_->admission.check_all(thread, leaves, weights, now, mode, fields);
}
Grant Limiter::obtain(ThreadContext& thread, LeafId leaf, const Wish& wish, Instant now,
                      CheckMode mode, const RequestFields* fields) {
    return parts_->admission.obtain(thread, leaf, wish, now, mode, fields);
}
void Limiter::give_up(ThreadContext& thread, const Decision& decision) {
    parts_->admission.give_up(thread, decision);
}
WaitPlace Limiter::begin_waiting(const Decision& decision) {
    const QuotaOptions* of_quota = options(decision);
    const bool waits = of_quota != nullptr && of_quota->wait.longest.has_value();
    return waits ? parts_->waiting.begin(decision.instance, of_quota->wait.most()) : WaitPlace{};
}
void Limiter::end_waiting(const WaitPlace& place) { parts_->waiting.end(place); }
std::uint32_t Limiter::waiting(std::string_view quota) const {
    const auto entry = parts_->store.names.find(parts_->definitions.hash(quota));
    return entry ? parts_->waiting.count(Instances::leaf_of(*entry).instance) : 0;
}
void Limiter::give_back(ThreadContext& thread, Charge& charge, double units, Instant now) {
    parts_->admission.return_unused(thread, charge, units, now);
}
void Limiter::refund(ThreadContext& thread, const Charge& charge, Instant now) {
    parts_->admission.refund(thread, charge, now);
}
void Limiter::finish(ThreadContext& thread, Charge& charge) {
    parts_->admission.finish(thread, charge);
}
void Limiter::correct(ThreadContext& thread, Charge& charge, Unit unit, double actual, Instant now,
                      bool last) {
    parts_->admission.correct(thread, charge, unit, actual, now, last);
}
void Limiter::add(ThreadContext& thread, const Charge& charge, Unit unit, double weight,
                  Instant now) {
    parts_->admission.add(thread, charge, unit, weight, now);
}
Held Limiter::hold(const Charge& charge) { return parts_->admission.hold(charge); }
void Limiter::unhold(const Held& held) {
    for (const std::uint32_t id : held.instances) {
        if (id != 0) {
            parts_->store.unhold(id);
        }
    }
}
std::string_view Limiter::quota_name(const Decision& decision) const {
    return decision.instance == 0 ? std::string_view() : parts_->store.name(decision.instance);
}
const QuotaOptions* Limiter::options(const Decision& decision) const {
    const CompiledDefinition* definition =
        decision.instance == 0 ? nullptr
                               : parts_->definitions.of(parts_->store.record(decision.instance));
    return definition == nullptr ? nullptr : &*definition->source.options;
}

// --- the engine's side ---------------------------------------------------------------------------

void Limiter::drain_active(const std::function<void(LimitRef)>& visit) {
    parts_->fleet.drain_active(visit);
}
void Limiter::drain_in_flight(const std::function<void(LimitRef)>& visit) {
    parts_->fleet.drain_in_flight(visit);
}
std::optional<InFlightCounts> Limiter::take_in_flight(LimitRef limit) {
    return parts_->fleet.take_in_flight(limit);
}
bool Limiter::allow_in_flight(LimitRef limit, std::optional<double> allowance) {
    return parts_->fleet.allow_in_flight(limit, allowance);
}
void Limiter::drain_windows(const std::function<void(LimitRef)>& visit) {
    parts_->fleet.drain_windows(visit);
}
std::optional<WindowCounts> Limiter::take_window(LimitRef limit, Instant now) {
    return parts_->fleet.take_window(limit, now);
}
bool Limiter::allow_in_window(LimitRef limit, const WindowAllowance& allowance, Instant now) {
    return parts_->fleet.allow_in_window(limit, allowance, now);
}
void Limiter::foretell_window(std::uint64_t limit, const WindowAllowance& allowance,
                              LimitNaming naming) {
    parts_->windows.set_naming(naming);
    parts_->windows.tell(limit, allowance);
}
void Limiter::foretell_level(std::uint64_t limit, const ToldLevel& told, LimitNaming naming) {
    parts_->fleet.foretell_level(limit, told, naming);
}
bool Limiter::drains_slowly(LimitRef limit, Duration longer) const {
    return parts_->fleet.drains_slowly(limit, longer);
}
std::uint32_t Limiter::read_levels(
    std::uint32_t from, std::uint32_t most, Instant now,
    const std::function<void(const LimitIdentity& limit, double level)>& visit) const {
    return parts_->fleet.read_levels(from, most, now, visit);
}
void Limiter::share_windows(std::uint32_t members, std::int64_t since) {
    parts_->windows.set_members(members, since);
}
void Limiter::foretell_in_flight(std::uint64_t quota, std::optional<double> allowance,
                                 std::uint64_t (*hash)(std::string_view name)) {
    parts_->fleet.foretell_in_flight(quota, allowance, hash);
}
void Limiter::set_members(std::uint32_t members) { parts_->fleet.set_members(members); }
std::optional<LocalCounts> Limiter::read(LimitRef limit, Instant now) {
    return parts_->fleet.read(limit, now);
}
std::optional<UnviewedCounts> Limiter::take_unviewed(LimitRef limit, Instant now) {
    return parts_->fleet.take_unviewed(limit, now);
}
bool Limiter::install(LimitRef limit, const FleetView& view, Instant now) {
    return parts_->fleet.install(limit, view, now);
}
void Limiter::uninstall(LimitRef limit, Instant now) { parts_->fleet.uninstall(limit, now); }
void Limiter::release(LimitRef limit, Instant now) { parts_->fleet.release(limit, now); }
bool Limiter::isolate(LimitRef limit, bool isolated, Instant now) {
    return parts_->fleet.isolate(limit, isolated, now);
}
std::optional<LimitIdentity> Limiter::identity(LimitRef limit) const {
    return parts_->fleet.identity(limit);
}
std::optional<LimitRef> Limiter::lookup(std::string_view quota, Unit unit, Duration period,
                                        LimitKind kind) const {
    return parts_->fleet.lookup(quota, unit, period, kind);
}
std::optional<LimitParameters> Limiter::resolve_parameters(std::string_view quota, Unit unit,
                                                           Duration period) const {
    return parts_->fleet.resolve_parameters(quota, unit, period);
}
void Limiter::read_shedding(Instant now, std::uint64_t (*hash)(std::string_view name),
                            const std::function<void(SheddingParent&)>& visit) {
    parts_->fair_port.read(now, hash, visit);
}
void Limiter::tell_children(LimitRef parent, const ChildRates& all, const ChildRates& others,
                            Instant now) {
    parts_->fair_port.tell(parent, all, others, now);
}
Isolation Limiter::isolation_of(std::string_view quota) const {
    return parts_->fleet.isolation_of(quota);
}

}  // namespace weir::limiter
