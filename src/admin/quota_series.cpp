#include "admin/quota_series.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "admin/families.h"

namespace weir::admin {
namespace {

/// The share of the page's bytes that quotas with series may take at first. The rest is for values
/// that become longer.
constexpr double kFilled = 0.95;
/// The most bytes that the lines of "__other__" take.
constexpr std::size_t kOtherBytes = 1024;

/// By how much a counter grew. A counter that fell has begun again at 0.
template <class Number>
Number increase(Number now, Number before) {
    return now >= before ? now - before : now;
}

/// The longest text of a number: 16 digits, sign, point, exponent.
constexpr std::size_t kLongestValue = 23;

/// The most bytes that this number takes.
std::size_t value_bytes(double value) {
    if (!(value >= 0) || value >= 1e15 || value != std::floor(value)) {
        return kLongestValue;
    }
    std::size_t digits = 1;
    for (double power = 10; value >= power; power *= 10) {
        ++digits;
    }
    return digits;
}

}  // namespace

std::size_t label_bytes(std::string_view text) {
    const std::string label = label_value(text);
    return label.size() +
           static_cast<std::size_t>(std::count_if(label.begin(), label.end(), [](char character) {
               return character == '"' || character == '\\' || character == '\n';
           }));
}

std::size_t page_bytes(const QuotaFigures& figures, std::size_t name_bytes) {
    // metrics.cpp: twelve lines <name>{quota="…"} <value>, whose names have 318 bytes.
    constexpr std::size_t kLines = 12;
    constexpr std::size_t kLineBytes = 318 + kLines * 12;
    constexpr std::size_t kLimitLineBytes = 46;  // weir_quota_limit{quota="",unit="",period=""}
    std::size_t bytes = kLineBytes + kLines * name_bytes;
    for (const double value :
         {figures.offered, figures.admitted, figures.refused, figures.shadow_refused,
          figures.refunded, number(figures.overflowed), figures.discard_probability,
          figures.discard_probability_max, figures.level_ratio, figures.level_ratio_max,
          number(figures.instances), number(figures.waited)}) {
        bytes += value_bytes(value);
    }
    for (const auto& limit : figures.limits) {
        bytes += kLimitLineBytes + name_bytes + limit.unit.size() + limit.period.size() +
                 value_bytes(limit.rate);
    }
    for (const auto& window : figures.windows) {
        // weir_quota_window_limit{quota="",unit="",period=""}, and the same of _admitted and
        // _allowance
        constexpr std::size_t kWindowLineBytes = 166;
        bytes += kWindowLineBytes + 3 * (name_bytes + window.unit.size() + window.period.size()) +
                 value_bytes(window.amount) + value_bytes(window.here.count) +
                 value_bytes(window.here.allowance);
    }
    if (figures.concurrency) {
        // weir_quota_concurrency_limit{quota=""}, weir_quota_in_flight{quota=""} and
        // weir_quota_concurrency_allowance{quota=""}
        constexpr std::size_t kConcurrencyLineBytes = 117;
        bytes += kConcurrencyLineBytes + 3 * name_bytes + value_bytes(*figures.concurrency) +
                 value_bytes(figures.in_flight.count) + value_bytes(figures.in_flight.allowance);
    }
    return bytes;
}

QuotaSeries::Counters QuotaSeries::counters_of(const QuotaFigures& figures) {
    return {.offered = figures.offered,
            .admitted = figures.admitted,
            .refused = figures.refused,
            .shadow_refused = figures.shadow_refused,
            .refunded = figures.refunded,
            .overflowed = figures.overflowed,
            .waited = figures.waited};
}

bool QuotaSeries::fell(const Counters& now, const Counters& before) {
    return now.offered < before.offered || now.admitted < before.admitted ||
           now.refused < before.refused || now.shadow_refused < before.shadow_refused ||
           now.refunded < before.refunded || now.overflowed < before.overflowed ||
           now.waited < before.waited;
}

bool QuotaSeries::refuses(const QuotaFigures& figures, const Counters& before) {
    return figures.discard_probability_max > 0 || increase(figures.refused, before.refused) > 0 ||
           increase(figures.shadow_refused, before.shadow_refused) > 0;
}

std::size_t QuotaSeries::bytes_of(const QuotaFigures& figures, const Own& own) {
    // The difference of two numbers may be a longer text than both.
    constexpr std::size_t kDifferences = 6 * kLongestValue;
    return page_bytes(figures, own.name_bytes) + (own.base.offered > 0 ? kDifferences : 0);
}

std::vector<QuotaFigures> QuotaSeries::bound(std::vector<QuotaFigures> quotas,
                                             std::uint64_t definitions) {
    ++scrape_;
    const auto named = static_cast<std::uint64_t>(
        std::count_if(quotas.begin(), quotas.end(),
                      [](const QuotaFigures& figures) { return figures.name != kOtherQuotas; }));
    summed_by_limiter_ = std::max(summed_by_limiter_, definitions - std::min(definitions, named));
    note_own(quotas);
    make_bytes_fit();
    grant(quotas);
    other_.instances = 0;
    other_.discard_probability_max = 0;
    other_.level_ratio_max = 0;
    Gauges gauges;
    std::vector<QuotaFigures> result;
    for (auto& figures : quotas) {
        if (own_.contains(figures.name)) {
            result.push_back(shown(std::move(figures)));
        } else {
            add_to_other(figures, gauges);
        }
    }
    std::erase_if(others_, [&](const auto& entry) { return entry.second.scrape != scrape_; });
    finish_other(gauges);
    if (dropped() > 0) {
        result.push_back(other_);
    }
    return result;
}

/// Notes what quotas with series have counted since the last scrape, and forgets those that are
/// gone.
void QuotaSeries::note_own(const std::vector<QuotaFigures>& quotas) {
    if (own_.empty()) {
        return;
    }
    std::unordered_set<std::string_view> present;
    own_bytes_ = 0;
    for (const auto& figures : quotas) {
        const auto place = own_.find(figures.name);
        if (place == own_.end()) {
            continue;
        }
        present.insert(figures.name);
        Own& own = place->second;
        const Counters now = counters_of(figures);
        if (fell(now, own.base)) {
            own.base = {};  // the quota was removed and made again
        }
        own.quiet = increase(now.offered, own.last.offered) > 0 ? 0 : own.quiet + 1;
        own.refuses = refuses(figures, own.last);
        own.last = now;
        own.bytes = bytes_of(figures, own);
        own_bytes_ += own.bytes;
    }
    std::erase_if(own_, [&](const OwnEntry& entry) { return !present.contains(entry.first); });
}

std::vector<const QuotaSeries::OwnEntry*> QuotaSeries::coldest_first(
    std::vector<const OwnEntry*> entries) {
    const auto warmth = [](const OwnEntry* entry) {
        const Own& own = entry->second;
        // The complement sorts those first that have been quiet for longest.
        return std::tuple(own.refuses, ~own.quiet, own.last.offered,
                          std::string_view(entry->first));
    };
    std::sort(entries.begin(), entries.end(), [&](const OwnEntry* left, const OwnEntry* right) {
        return warmth(left) < warmth(right);
    });
    return entries;
}

/// Takes series away until the page is within its bound: values have grown, or a quota has more
/// limits.
void QuotaSeries::make_bytes_fit() {
    if (own_bytes_ + kOtherBytes <= max_bytes_) {
        return;
    }
    std::vector<const OwnEntry*> entries;
    for (const auto& entry : own_) {
        entries.push_back(&entry);
    }
    for (const OwnEntry* entry : coldest_first(std::move(entries))) {
        if (own_bytes_ + kOtherBytes <= max_bytes_) {
            break;
        }
        put_among_others(entry->first);
    }
}

/// Whether there is room for `bytes` after other bytes and places have been freed.
bool QuotaSeries::fits(std::size_t bytes, std::size_t freed_bytes, std::size_t freed_places) const {
    return own_.size() - freed_places < max_quotas_ &&
           number(own_bytes_ - freed_bytes + bytes + kOtherBytes) <= kFilled * number(max_bytes_);
}

/// The quotas without series that may get them: first those that refuse, then those in use.
std::vector<const QuotaFigures*> QuotaSeries::candidates(
    const std::vector<QuotaFigures>& quotas) const {
    std::vector<const QuotaFigures*> refusing;
    std::vector<const QuotaFigures*> used;
    std::vector<const QuotaFigures*> unused;
    for (const auto& figures : quotas) {
        if (figures.name == kOtherQuotas || own_.contains(figures.name)) {
            continue;
        }
        const auto place = others_.find(figures.name);
        const bool is_new = place == others_.end();
        if (refuses(figures, is_new ? Counters{} : place->second.counters)) {
            refusing.push_back(&figures);
        } else if (is_new) {
            (figures.offered > 0 ? used : unused).push_back(&figures);
        }
    }
    refusing.insert(refusing.end(), used.begin(), used.end());
    refusing.insert(refusing.end(), unused.begin(), unused.end());
    return refusing;
}

/// The quotas that give up their series to one that refuses, in this order.
std::vector<const QuotaSeries::OwnEntry*> QuotaSeries::quiet() const {
    std::vector<const OwnEntry*> entries;
    for (const auto& entry : own_) {
        const Own& own = entry.second;
        const bool unused = !(own.last.offered > own.base.offered);
        if (!own.refuses && (unused || own.quiet >= kQuietScrapes)) {
            entries.push_back(&entry);
        }
    }
    return coldest_first(std::move(entries));
}

QuotaSeries::Own QuotaSeries::entry_for(const QuotaFigures& figures) const {
    Own entry;
    entry.last = counters_of(figures);
    const auto place = others_.find(figures.name);
    if (place != others_.end() && !fell(entry.last, place->second.counters)) {
        entry.base = place->second.counters;
    }
    entry.refuses = refuses(figures, entry.base);
    entry.name_bytes = label_bytes(figures.name);
    entry.bytes = bytes_of(figures, entry);
    return entry;
}

void QuotaSeries::grant(const std::vector<QuotaFigures>& quotas) {
    const auto wishing = candidates(quotas);
    if (wishing.empty()) {
        return;
    }
    const auto giving = quiet();
    auto next = giving.begin();
    for (const QuotaFigures* figures : wishing) {
        const Own entry = entry_for(*figures);
        auto end = next;
        std::size_t freed = 0;
        while (entry.refuses && end != giving.end() &&
               !fits(entry.bytes, freed, static_cast<std::size_t>(end - next))) {
            freed += (*end++)->second.bytes;
        }
        if (!fits(entry.bytes, freed, static_cast<std::size_t>(end - next))) {
            continue;
        }
        while (next != end) {
            put_among_others((*next++)->first);
        }
        take_in(*figures, entry);
    }
}

void QuotaSeries::take_in(const QuotaFigures& figures, const Own& entry) {
    own_bytes_ += entry.bytes;
    own_.emplace(figures.name, entry);
    others_.erase(figures.name);
}

/// Moves the quota to "__other__". Its counts so far belong to its own series, which end here.
void QuotaSeries::put_among_others(const std::string& name) {
    const auto place = own_.find(name);
    others_[name] = {.counters = place->second.last, .scrape = scrape_};
    own_bytes_ -= place->second.bytes;
    ++dropped_;
    own_.erase(place);
}

QuotaFigures QuotaSeries::shown(QuotaFigures figures) {
    const Counters& base = own_.find(figures.name)->second.base;
    figures.offered -= base.offered;
    figures.admitted -= base.admitted;
    figures.refused -= base.refused;
    figures.shadow_refused -= base.shadow_refused;
    figures.refunded -= base.refunded;
    figures.overflowed -= base.overflowed;
    figures.waited -= base.waited;
    return figures;
}

void QuotaSeries::add_to_other(const QuotaFigures& figures, Gauges& gauges) {
    auto [place, is_new] = others_.try_emplace(figures.name);
    if (is_new && figures.name != kOtherQuotas) {
        ++dropped_;
    }
    const Counters& before = place->second.counters;
    const double offered = increase(figures.offered, before.offered);
    other_.offered += offered;
    other_.admitted += increase(figures.admitted, before.admitted);
    other_.refused += increase(figures.refused, before.refused);
    other_.shadow_refused += increase(figures.shadow_refused, before.shadow_refused);
    other_.refunded += increase(figures.refunded, before.refunded);
    other_.overflowed += increase(figures.overflowed, before.overflowed);
    other_.waited += increase(figures.waited, before.waited);
    other_.instances += figures.instances;
    other_.discard_probability_max =
        std::max(other_.discard_probability_max, figures.discard_probability_max);
    other_.level_ratio_max = std::max(other_.level_ratio_max, figures.level_ratio_max);
    gauges.weight += offered;
    gauges.discard_probability += offered * figures.discard_probability;
    gauges.level_ratio += offered * figures.level_ratio;
    gauges.plain_discard_probability += figures.discard_probability;
    gauges.plain_level_ratio += figures.level_ratio;
    gauges.quotas += 1;
    place->second = {.counters = counters_of(figures), .scrape = scrape_};
}

void QuotaSeries::finish_other(const Gauges& gauges) {
    other_.name = kOtherQuotas;
    if (gauges.weight > 0) {
        other_.discard_probability = gauges.discard_probability / gauges.weight;
        other_.level_ratio = gauges.level_ratio / gauges.weight;
    } else {
        const double count = std::max(1.0, gauges.quotas);
        other_.discard_probability = gauges.plain_discard_probability / count;
        other_.level_ratio = gauges.plain_level_ratio / count;
    }
}

}  // namespace weir::admin
