#include "sim/look.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "definitions/store.h"
#include "sync/counter_exchange.h"
#include "sync/owner.h"
#include "sync/reporter.h"

namespace weir::sim {
namespace {

LimitIndex index_of(const sync::LimitKey& key, std::span<const LimitFact> limits) {
    const auto found = std::find_if(limits.begin(), limits.end(),
                                    [&](const LimitFact& limit) { return limit.key == key; });
    return found == limits.end() ? kUnknownLimit : static_cast<LimitIndex>(found - limits.begin());
}

UsedFact look_at(const sync::SyncedLimit& limit, const ToldLedger& ledger, Instant local,
                 std::span<const LimitFact> limits) {
    UsedFact used;
    used.limit = index_of(limit.key, limits);
    used.run = limit.run;
    used.net = limit.own.net();
    used.quiet = ledger.quiet(limit.key);
    used.parameters = limit.parameters;
    used.awake = limit.awake;
    used.idle_seconds = to_seconds(local - limit.touched);
    for (const sync::OwnerView& view : limit.views) {
        ViewFact& fact = used.views.emplace_back();
        fact.owner = view.owner().address;
        fact.incarnation = view.owner().incarnation;
        fact.life = view.life();
        fact.acknowledged = view.acknowledged().net();
        fact.level = view.bucket().level;
        fact.heaviest = view.bucket().heaviest;
        fact.silent_seconds = view.heard_at() ? to_seconds(local - *view.heard_at()) : 0;
    }
    return used;
}

OwnedFact look_at(const sync::OwnedLimit& limit, bool owner, const ToldLedger& ledger,
                  Instant local, std::span<const LimitFact> limits) {
    OwnedFact owned;
    owned.limit = index_of(limit.key, limits);
    owned.life = limit.life;
    owned.parameters = limit.parameters;
    owned.owner = owner;
    owned.filled = limit.filled(sync::SyncSettings{}, local);
    owned.told = ledger.of(limit.key, limit.life);
    // Levels of different owners are compared, so each is brought to this instant.
    sync::ReckonedLimit bucket = limit.bucket;
    if (limit.parameters && local > limit.advanced) {
        bucket.advance(*limit.parameters, bucket.offered_rate, to_seconds(local - limit.advanced));
    }
    owned.level = bucket.level;
    owned.heaviest = bucket.heaviest;
    for (const sync::OwnedCell& cell : limit.cells) {
        owned.cells.push_back(
            {cell.counts.run, cell.counts.admitted, cell.counts.refunded, cell.counts.offered});
    }
    return owned;
}

}  // namespace

ProcessFact look_into(SimulatedSidecar& sidecar, std::uint32_t number, Instant now,
                      std::span<const LimitFact> limits) {
    const Instant local = sidecar.local(now);
    const engine::Engine& engine = sidecar.engine();
    ProcessFact process;
    process.address = SimulatedSidecar::address_of(number);
    process.incarnation = engine.incarnation();
    process.stopped = sidecar.stopped_until.has_value();
    process.members = engine.counters().silence().size();
    engine.counters().reporter().for_each([&](const sync::SyncedLimit& limit) {
        process.used.push_back(look_at(limit, sidecar.ledger(), local, limits));
    });
    for (const auto& [key, run] : sidecar.ledger().take_begun()) {
        process.begun.emplace_back(index_of(key, limits), run);
    }
    engine.counters().owner().for_each([&](const sync::OwnedLimit& limit) {
        const bool owner = engine.counters().owner().owns(membership::shard_of(limit.key.quota));
        process.owned.push_back(look_at(limit, owner, sidecar.ledger(), local, limits));
    });
    process.definitions = sidecar.engine().definitions().content_hash();
    return process;
}

void look_at_counts(SimulatedSidecar& sidecar, ProcessFact& process, Instant now,
                    std::span<const LimitFact> limits) {
    const sync::CounterExchange& counters = sidecar.engine().counters();
    for (LimitIndex i = 0; i < limits.size(); ++i) {
        if (!limits[i].counted) {
            continue;
        }
        if (const auto status = find_status(sidecar, limits[i], now)) {
            process.counted.push_back(
                {i, status->counted.count, status->counted.allowance, status->window_end});
        }
        const bool owned = counters.owner().owns(membership::shard_of(limits[i].key.quota));
        if (limits[i].parameters.window && owned) {
            process.windows_owned.push_back(i);
        }
    }
    const sync::WindowOwner& owner = counters.owned_windows();
    for (std::uint32_t slot = 0; slot < owner.slots(); ++slot) {
        owner.for_each_count(slot, [&](const sync::WindowReport& report) {
            process.window_counts.push_back({index_of(report.key, limits), report.run, report.end,
                                             static_cast<double>(report.admitted)});
        });
    }
    process.uncertain = sidecar.engine().uncertain_windows() > 0;
}

std::optional<limiter::LimitStatus> find_status(SimulatedSidecar& sidecar, const LimitFact& limit,
                                                Instant now) {
    for (const auto& status : sidecar.limiter().inspect(limit.quota, sidecar.local(now))) {
        if (status.limit.kind == limit.counted->kind &&
            status.limit.period == limit.counted->period) {
            return status;
        }
    }
    return std::nullopt;
}

void look_closely(SimulatedSidecar& sidecar, ProcessFact& process) {
    const auto states = sidecar.engine().statistics().peers_by_state;
    process.live = 0;
    for (const std::string_view state : {"alive", "suspect"}) {
        const auto found = states.find(std::string(state));
        *process.live += found == states.end() ? 0 : found->second;
    }
}

}  // namespace weir::sim
