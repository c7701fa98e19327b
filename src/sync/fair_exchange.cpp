#include "sync/fair_exchange.h"

#include <algorithm>

#include "base/assert.h"
#include "sync/telling_number.h"

namespace weir::sync {
namespace {

constexpr Duration kTellEvery = std::chrono::milliseconds(200);
/// With more origins or more children than this each origin tells more seldom, up to kMostSeldom
/// times, so that it does not cost more.
constexpr double kManyOrigins = 50;
constexpr double kManyChildren = 256;
constexpr double kMostSeldom = 5;
/// An owner that has not answered for so long is not waited for.
constexpr Duration kUnanswered = std::chrono::milliseconds(1500);
/// An origin that does not tell for so long is offered nothing any more.
constexpr Duration kOriginMemory = std::chrono::milliseconds(2500);
/// A parent is forgotten when nothing has been heard of it for so long.
constexpr Duration kParentMemory = std::chrono::seconds(5);
/// The sums are added up again at most so often.
constexpr Duration kBuildEvery = std::chrono::milliseconds(20);
/// Children above this share of the water line are told of. A child that is offered less than that
/// by all sidecars together loses nothing, whatever is known of it.
constexpr double kWorthTelling = 0.5;
/// A child in a list of several parts may miss so many tellings, because a part was lost.
constexpr std::uint16_t kMissed = 2;

Duration interval_of(std::uint32_t origins, std::size_t children) {
    const double seldom =
        std::max(origins / kManyOrigins, static_cast<double>(children) / kManyChildren);
    return from_seconds(to_seconds(kTellEvery) * std::clamp(seldom, 1.0, kMostSeldom));
}

/// What others are offered: the sums without the part of this member.
limiter::ChildRates without(const limiter::ChildRates& fleet, const limiter::ChildRates& here) {
    limiter::ChildRates others = fleet;
    std::unordered_map<std::uint64_t, double> own;
    for (const limiter::ChildRate& child : here.children) {
        own.emplace(child.child, child.rate);
    }
    for (limiter::ChildRate& child : others.children) {
        const auto known = own.find(child.child);
        child.rate = std::max(0.0, child.rate - (known == own.end() ? 0 : known->second));
    }
    return others;
}

}  // namespace

std::size_t FairExchange::children() const {
    std::size_t count = 0;
    for (const auto& [key, told] : told_) {
        count += told.fleet.children.size();
    }
    return count;
}

// --- as an origin --------------------------------------------------------------------------------

void FairExchange::tick(Instant now, const membership::Owners& owners, const gossip::MemberId& self,
                        ChildSink& sink) {
    if (now - read_ < kTellEvery) {
        return;
    }
    read_ = now;
    limiter_.read_shedding(now, &quota_hash, [&](limiter::SheddingParent& parent) {
        tell(parent, now, owners, self, sink);
    });
    forget_old(now);
}

void FairExchange::tell(limiter::SheddingParent& parent, Instant now,
                        const membership::Owners& owners, const gossip::MemberId& self,
                        ChildSink& sink) {
    const auto identity = limiter_.identity(parent.limit);
    if (!identity) {
        return;
    }
    const LimitKey key = key_of(*identity);
    Told& told = told_[key];
    told.limit = parent.limit;
    told.sheds = now;
    const membership::OwnerList& list = owners.of(membership::shard_of(key.quota));
    const bool alone = !parent.fleet || list.empty();
    if (alone || now - told.heard >= kUnanswered) {
        told.fleet = parent.rates;
        limiter_.tell_children(parent.limit, parent.rates, {}, now);
    }
    const std::size_t children = std::max(told.here.children.size(), told.fleet.children.size());
    if (alone || now - told.sent < interval_of(told.origins, children)) {
        return;
    }
    WEIR_ASSERT(told.origins >= 1 && !list.empty());
    told.sent = now;
    ++told.number;
    // A child of which each origin is offered less than this is below half of the line.
    limiter::keep_highest(parent.rates, kWorthTelling * told.line / told.origins);
    told.here = parent.rates;
    ChildPart whole;
    whole.parent = key;
    whole.number = told.number;
    whole.rates = parent.rates;
    ++statistics_.children_told;
    for (const ChildPart& part : parts_of(whole)) {
        if (list.front() == self) {
            receive_rates(self, part, now, sink);
        } else {
            sink.send_children(list.front(), false, part);
        }
    }
}

void FairExchange::receive_totals(const ChildPart& part, Instant now) {
    const auto known = told_.find(part.parent);
    if (known == told_.end()) {
        return;
    }
    WEIR_ASSERT(part.part < part.parts && part.parts <= kMostParts);
    Told& told = known->second;
    if (told.parts == 0 || told.arriving.number != part.number) {
        told.arriving = part;
        told.parts = 1U << part.part;
    } else if ((told.parts >> part.part & 1) == 0) {
        told.parts |= 1U << part.part;
        std::vector<limiter::ChildRate>& children = told.arriving.rates.children;
        children.insert(children.end(), part.rates.children.begin(), part.rates.children.end());
    }
    if (told.parts == (1U << part.parts) - 1) {
        told.parts = 0;
        apply(told, told.arriving, now);
    }
}

void FairExchange::apply(Told& told, const ChildPart& answer, Instant now) {
    WEIR_ASSERT(answer.rates.children.size() <= limiter::kKnownChildren);
    told.heard = now;
    told.line = answer.line;
    told.origins = std::max(1U, answer.origins);
    told.fleet = answer.rates;
    limiter_.tell_children(told.limit, told.fleet, without(told.fleet, told.here), now);
}

void FairExchange::forget_old(Instant now) {
    std::erase_if(told_, [now](const auto& one) { return now - one.second.sheds > kParentMemory; });
    std::erase_if(sums_, [&](const auto& one) {
        if (now - one.second.heard <= kParentMemory) {
            return false;
        }
        for (const auto& [member, origin] : one.second.origins) {
            WEIR_ASSERT(children_ >= origin.children.size());
            children_ -= origin.children.size();
        }
        return true;
    });
}

// --- as an owner ---------------------------------------------------------------------------------

void FairExchange::receive_rates(const gossip::MemberId& from, const ChildPart& part, Instant now,
                                 ChildSink& sink) {
    if (!take(from, part, now) || part.part + 1 != part.parts) {
        return;
    }
    const ChildPart& answer = answer_of(part.parent, sums_[part.parent], now);
    for (const ChildPart& each : parts_of(answer)) {
        sink.send_children(from, true, each);
    }
}

/// False when the part is older than what is known, or there is no room for it.
bool FairExchange::take(const gossip::MemberId& from, const ChildPart& part, Instant now) {
    const bool known = sums_.contains(part.parent);
    if ((!known && sums_.size() >= kMostParents) ||
        children_ + part.rates.children.size() > kMostChildren) {
        ++statistics_.dropped_entries;
        return false;
    }
    Sums& sums = sums_[part.parent];
    WEIR_ASSERT(sums_.size() <= kMostParents);
    sums.heard = now;
    Origin& origin = sums.origins[from];
    if (now - origin.heard < kOriginMemory && is_older(part.number, origin.number)) {
        return false;
    }
    WEIR_ASSERT(children_ >= origin.children.size());
    children_ -= origin.children.size();
    if (part.parts == 1) {
        origin.children.clear();
    }
    origin.number = part.number;
    origin.total = part.rates.total;
    origin.heard = now;
    for (const limiter::ChildRate& child : part.rates.children) {
        origin.children[child.child] = {child, part.number};
    }
    std::erase_if(origin.children, [&](const auto& one) {
        return static_cast<std::uint16_t>(part.number - one.second.number) > kMissed;
    });
    children_ += origin.children.size();
    return true;
}

void FairExchange::forget(const gossip::MemberId& member) {
    for (auto& [parent, sums] : sums_) {
        if (const auto origin = sums.origins.find(member); origin != sums.origins.end()) {
            WEIR_ASSERT(children_ >= origin->second.children.size());
            children_ -= origin->second.children.size();
            sums.origins.erase(origin);
        }
    }
}

/// The share of all requests that the parent lets through, as its owner reckons.
double FairExchange::passing(const LimitKey& parent) const {
    const OwnedLimit* limit = owner_.find(parent);
    if (limit == nullptr || !limit->parameters || limit->bucket.offered_rate <= 0) {
        return 0;
    }
    const double passes = 1 - limit->bucket.probability(*limit->parameters);
    return std::min(passes, limit->parameters->rate / limit->bucket.offered_rate);
}

const ChildPart& FairExchange::answer_of(const LimitKey& parent, Sums& sums, Instant now) {
    ChildPart& answer = sums.answer;
    if (answer.origins > 0 && now - sums.built < kBuildEvery) {
        return answer;
    }
    sums.built = now;
    std::unordered_map<std::uint64_t, limiter::ChildRate> children;
    answer.parent = parent;
    answer.origins = 0;
    answer.rates = {};
    std::erase_if(sums.origins, [&](const auto& one) {
        const bool gone = now - one.second.heard > kOriginMemory;
        WEIR_ASSERT(children_ >= one.second.children.size());
        children_ -= gone ? one.second.children.size() : 0;
        return gone;
    });
    for (const auto& [member, origin] : sums.origins) {
        ++answer.origins;
        answer.rates.total += origin.total;
        for (const auto& [child, told] : origin.children) {
            limiter::ChildRate& sum =
                children.try_emplace(child, limiter::ChildRate{child, 0, 0}).first->second;
            sum.rate += told.rate.rate;
            sum.share = std::max(sum.share, told.rate.share);
        }
    }
    for (const auto& [child, rate] : children) {
        answer.rates.children.push_back(rate);
    }
    ++answer.number;
    limiter::keep_highest(answer.rates, 0);
    // A parent that does not shed by itself divides what one above it refuses. How much that is,
    // only the origins know: then all children are worth telling.
    const double passes = passing(parent);
    answer.line = passes < 1 ? limiter::WaterLine(answer.rates).at(passes) : 0;
    limiter::keep_highest(answer.rates, kWorthTelling * answer.line);
    WEIR_ASSERT(answer.rates.children.size() <= limiter::kKnownChildren);
    return answer;
}

}  // namespace weir::sync
