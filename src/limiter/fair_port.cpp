#include "limiter/fair_port.h"

#include <algorithm>

#include "base/assert.h"
#include "base/relaxed.h"

namespace weir::limiter {
namespace {

/// A child that is offered less than this many requests a second is left out of what is known.
constexpr double kNoRate = 1e-3;

}  // namespace

void FairPort::read(Instant now, std::uint64_t (*hash)(std::string_view name),
                    const std::function<void(SheddingParent&)>& visit) {
    rows_.clear();
    shedding_.for_each_shedding(nanoseconds(now), [&](std::uint32_t record) {
        const auto limit = fleet_.reference(record);
        const bool live = limit && fleet_.identity(*limit);
        if (live) {
            Row& row = rows_[record];
            row.parent.limit = *limit;
            row.parent.fleet = fleet_.is_of_fleet(*limit);
        }
    });
    if (rows_.empty()) {
        return;  // nothing sheds, so the table of children is not looked at
    }
    read_children(tick_of(nanoseconds(now)), hash);
    for (auto& [record, row] : rows_) {
        keep_highest(row.parent.rates, 0);
        visit(row.parent);
    }
}

void FairPort::read_children(std::uint32_t tick, std::uint64_t (*hash)(std::string_view name)) {
    for (std::uint32_t i = 0; i < FairShedding::kChildren; ++i) {
        FairShedding::Place& place = shedding_.place(i);
        const std::uint64_t key = place.key.load(kRelaxed);
        if (key == 0) {
            continue;
        }
        const auto parent = rows_.find(static_cast<std::uint32_t>(key));
        const auto head = static_cast<std::uint32_t>(key >> 32);
        if (parent == rows_.end() || head > store_.high_water() || !store_.live_head(head)) {
            continue;
        }
        const double rate = FairShedding::rate_of(place, tick);
        const CompiledDefinition* definition = definitions_.of(store_.record(head));
        if (rate < kNoRate || definition == nullptr) {
            continue;
        }
        std::uint64_t mark = place.mark.load(kRelaxed);
        if (mark == 0) {
            mark = hash(store_.name(head));
            place.mark.store(mark, kRelaxed);
        }
        WEIR_ASSERT(head != 0 && mark != 0);
        Row& row = parent->second;
        row.places.push_back(i);
        row.parent.rates.total += rate;
        row.parent.rates.children.push_back({mark, rate, definition->source.options->share});
    }
}

void FairPort::tell(LimitRef parent, const ChildRates& all, const ChildRates& others, Instant now) {
    const auto row = rows_.find(parent.record);
    if (row == rows_.end() || row->second.parent.limit != parent || all.children.empty()) {
        return;
    }
    std::unordered_map<std::uint64_t, double> told;
    for (const ChildRate& child : others.children) {
        told.emplace(child.child, child.rate);
    }
    const std::uint32_t tick = tick_of(nanoseconds(now));
    for (const std::uint32_t i : row->second.places) {
        FairShedding::Place& place = shedding_.place(i);
        const auto known = told.find(place.mark.load(kRelaxed));
        const bool is_told = known != told.end();
        place.told.store(
            pack(Recent{is_told ? static_cast<float>(known->second) : 0, is_told ? tick : 0}),
            kRelaxed);
    }
    const WaterLine line(all);
    shedding_.tell(
        parent.record, [&](double passing) { return line.at(passing); }, all.full ? all.rest : 0,
        nanoseconds(now));
}

}  // namespace weir::limiter
