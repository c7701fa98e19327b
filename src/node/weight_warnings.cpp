#include "node/weight_warnings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "limiter/name_pattern.h"
#include "limiter/template_index.h"
#include "node/name_globs.h"
#include "routing/name_lists.h"
#include "routing/s3_operations.h"

namespace weir::node {
namespace {

/// The weight up to which a limit, or several of them, certainly admit a request.
struct Low {
    double weight = std::numeric_limits<double>::infinity();
    bool of_window = false;
};

const Low& lower(const Low& one, const Low& other) {
    return other.weight < one.weight ? other : one;
}

constexpr std::size_t kNone = ~std::size_t{0};
/// The largest number of quotas that the warning of a route names; further ones are counted.
constexpr std::size_t kMostOfRoute = 10;

std::string number(double value) {
    std::array<char, 400> buffer{};
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
            .ptr;
    return {buffer.data(), end};
}

// --- quotas with what is above them -------------------------------------------------------------

class QuotaIndex {
  public:
    explicit QuotaIndex(const std::vector<config::QuotaSet>& sets) {
        for (const config::QuotaSet& set : sets) {
            for (const limiter::QuotaDefinition& quota : set.quotas) {
                add(quota);
            }
        }
        for (std::size_t i = 0; i < quotas_.size(); ++i) {
            parents_.push_back(parent_of(*quotas_[i]));
        }
        for (std::size_t i = 0; i < quotas_.size(); ++i) {
            Low low;
            std::size_t depth = 0;
            for (std::size_t at = i; at != kNone && depth <= limiter::kMaxChainDepth;
                 at = parents_[at], ++depth) {
                low = lower(low, lows_[at]);
            }
            chain_lows_.push_back(low.weight);
        }
    }

    [[nodiscard]] std::size_t size() const { return quotas_.size(); }
    [[nodiscard]] const std::string& name(std::size_t quota) const { return quotas_[quota]->name; }
    /// The smallest `low` or window of the quota's limits in which the weight counts.
    [[nodiscard]] const Low& low(std::size_t quota) const { return lows_[quota]; }
    /// The smallest of these over the quota and all quotas above it.
    [[nodiscard]] double chain_low(std::size_t quota) const { return chain_lows_[quota]; }
    [[nodiscard]] std::size_t parent(std::size_t quota) const { return parents_[quota]; }

  private:
    void add(const limiter::QuotaDefinition& quota) {
        if (auto pattern = limiter::NamePattern::parse(quota.name)) {
            by_glob_.emplace(to_glob(quota.name), quotas_.size());
            if (pattern->has_captures()) {
                templates_.add(*pattern, static_cast<std::uint32_t>(quotas_.size()));
            }
        }
        quotas_.push_back(&quota);
        lows_.push_back(low_of(quota));
    }

    static Low low_of(const limiter::QuotaDefinition& quota) {
        Low low;
        for (const limiter::RateLimit& limit : quota.limits) {
            const limiter::LimitParameters parameters = limit.resolved();
            // Whatever it weighs, a request is one in flight.
            const bool counts = !limit.is_concurrency() && (limit.unit == limiter::Unit::requests ||
                                                            limit.unit == limiter::Unit::cost);
            if (counts && !parameters.zero() && quota.mode != limiter::Mode::off) {
                low = lower(low, {parameters.low, limit.is_window()});
            }
        }
        return low;
    }

    /// The parent, found in the same way as the limiter does.
    [[nodiscard]] std::size_t parent_of(const limiter::QuotaDefinition& quota) const {
        if (!quota.parent) {
            return kNone;
        }
        if (const auto exact = by_glob_.find(to_glob(*quota.parent)); exact != by_glob_.end()) {
            return exact->second;
        }
        const auto found = templates_.find_parent(*quota.parent);
        return found ? *found : kNone;
    }

    std::vector<const limiter::QuotaDefinition*> quotas_;
    std::vector<Low> lows_;
    std::vector<double> chain_lows_;
    std::vector<std::size_t> parents_;
    std::unordered_map<std::string, std::size_t> by_glob_;
    limiter::TemplateIndex templates_;
};

// --- what a route charges, and which quotas -----------------------------------------------------

/// A weight and the names that it may be charged to.
struct ChargedWeight {
    double weight = 0;
    std::string of;  // the operation or method; empty: all others
    std::vector<std::string> texts;
};

void replace(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
        text.replace(at, what.size(), by);
    }
}

const routing::S3Operation* find_operation(std::string_view name) {
    const auto operations = routing::s3_operations();
    const auto found =
        std::find_if(operations.begin(), operations.end(),
                     [name](const routing::S3Operation& one) { return one.name == name; });
    return found == operations.end() ? nullptr : &*found;
}

/// The names for an operation of the preset s3; for all other operations if it is empty.
std::vector<std::string> s3_texts(const std::vector<std::string>& texts,
                                  std::string_view operation) {
    const routing::S3Operation* known = find_operation(operation);
    std::vector<std::string> result;
    for (std::string text : texts) {
        if (known != nullptr) {
            if (known->level == routing::S3Level::service &&
                text.find("{bucket}") != std::string::npos) {
                continue;  // the request has no such capture
            }
            replace(text, "{operation}", operation);
            replace(text, "{access}", known->read ? "read" : "write");
        } else if (text.find("{access}") != std::string::npos) {
            std::string reading = text;
            replace(reading, "{access}", "read");
            result.push_back(std::move(reading));
            replace(text, "{access}", "write");
        }
        result.push_back(std::move(text));
    }
    return result;
}

/// The names of all lists of a route.
std::vector<std::string> names_of(const routing::RouteSettings& route) {
    std::vector<std::string> names;
    for (const std::vector<std::string>& list : routing::name_lists(route)) {
        names.insert(names.end(), list.begin(), list.end());
    }
    return names;
}

std::vector<ChargedWeight> charges_of(const routing::RouteSettings& route) {
    const routing::WeightSettings& weight = route.weight;
    std::vector<ChargedWeight> charges;
    if (weight.source != routing::WeightSource::constant &&
        weight.source != routing::WeightSource::table) {
        return charges;
    }
    const bool s3 = !route.preset.empty();
    const std::vector<std::string> names = names_of(route);
    const std::vector<std::string>& methods = route.match.methods;
    const auto in_table = [&weight](const std::string& method) {
        return std::any_of(weight.table.begin(), weight.table.end(),
                           [&method](const auto& entry) { return entry.first == method; });
    };
    for (const auto& [of, value] : weight.table) {
        const bool met =
            s3 || methods.empty() || std::find(methods.begin(), methods.end(), of) != methods.end();
        if (met) {
            charges.push_back({value, of, s3 ? s3_texts(names, of) : names});
        }
    }
    if (s3 || methods.empty() || !std::all_of(methods.begin(), methods.end(), in_table)) {
        charges.push_back({weight.constant, "", s3 ? s3_texts(names, "") : names});
    }
    return charges;
}

/// The largest weight that a route charges to one quota.
struct Excess {
    double weight = 0;
    std::string of;
    std::size_t below = kNone;  // the quota that the route names, if it is not this one
};

/// The excesses of a route by quota, in the order of the documents.
std::map<std::size_t, Excess> excesses_of(const routing::RouteSettings& route,
                                          const QuotaIndex& quotas) {
    std::map<std::size_t, Excess> excesses;
    for (const ChargedWeight& charge : charges_of(route)) {
        std::vector<std::string> globs;
        for (const std::string& text : charge.texts) {
            globs.push_back(to_glob(text));
        }
        for (std::size_t i = 0; i < quotas.size(); ++i) {
            if (!(charge.weight > quotas.chain_low(i))) {
                continue;
            }
            const std::string name = to_glob(quotas.name(i));
            if (std::none_of(globs.begin(), globs.end(),
                             [&name](const std::string& glob) { return can_meet(glob, name); })) {
                continue;
            }
            std::size_t depth = 0;
            for (std::size_t at = i; at != kNone && depth <= limiter::kMaxChainDepth;
                 at = quotas.parent(at), ++depth) {
                Excess& excess = excesses[at];
                if (charge.weight > std::max(quotas.low(at).weight, excess.weight)) {
                    excess = {charge.weight, charge.of, at == i ? kNone : i};
                }
            }
        }
    }
    std::erase_if(excesses, [](const auto& each) { return each.second.weight == 0; });
    return excesses;
}

std::string describe(const QuotaIndex& quotas, std::size_t quota, const Excess& excess) {
    const Low& low = quotas.low(quota);
    return "a weight of " + number(excess.weight) +
           (excess.of.empty() ? "" : " (" + excess.of + ")") + " exceeds the " +
           (low.of_window ? "window" : "low burst") + " of quota '" + quotas.name(quota) + "', " +
           number(low.weight) +
           (excess.below == kNone ? "" : ", a parent of '" + quotas.name(excess.below) + "'") +
           (low.of_window ? ": such a request is more than a window holds"
                          : ": such a request passes only when the bucket is nearly empty");
}

}  // namespace

void warn_about_weights(const config::Settings& settings, const std::vector<config::QuotaSet>& sets,
                        const std::string& file, config::Diagnostics& diagnostics) {
    const QuotaIndex quotas(sets);
    for (std::size_t route = 0; route < settings.routing.routes.size(); ++route) {
        const std::string place = "routes[" + std::to_string(route) + "].weight";
        const auto warn = [&](std::string what) {
            diagnostics.add({config::Severity::warning, file, {}, place, std::move(what), {}});
        };
        const auto excesses = excesses_of(settings.routing.routes[route], quotas);
        std::size_t told = 0;
        for (const auto& [quota, excess] : excesses) {
            if (++told > kMostOfRoute) {
                warn("the same holds for " + std::to_string(excesses.size() - kMostOfRoute) +
                     " more quotas");
                break;
            }
            warn(describe(quotas, quota, excess));
        }
    }
}

}  // namespace weir::node
