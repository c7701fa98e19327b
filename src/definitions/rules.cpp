#include "definitions/rules.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "base/closest.h"
#include "definitions/rules_of_kinds.h"
#include "definitions/rules_of_options.h"
#include "limiter/name_pattern.h"
#include "limiter/template_index.h"

namespace weir::definitions {
namespace {

using limiter::kMaxDefinitions;
using limiter::kMaxLimitsPerQuota;
using limiter::kMaxNameBytes;
using limiter::LimitParameters;
using limiter::NamePattern;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::TemplateIndex;

/// The shape of a name that was parsed.
std::string shape(const NamePattern& pattern) {
    std::string text;
    for (const limiter::NameSegment& segment : pattern.segments()) {
        const std::string_view capture = segment.catch_all ? "{**}" : "{}";
        text += '/' + segment.prefix;
        text += segment.literal ? "" : capture;
        text += segment.suffix;
    }
    return text;
}

/// Whether the two limits bound the same, so that one of them has no effect.
bool are_the_same(const RateLimit& one, const RateLimit& other) {
    return one.kind == other.kind &&
           (one.is_concurrency() || (one.unit == other.unit && one.period == other.period));
}

constexpr std::string_view kSameRate = "the same unit and period as ";
constexpr std::string_view kParentField = "parent";
/// The largest number of names among which a suggestion is looked for.
constexpr std::size_t kMostCandidates = 10'000;

class Validator {
  public:
    Validator(std::span<const QuotaDefinition> definitions, const std::vector<bool>& incomplete)
        : definitions_(definitions), incomplete_(incomplete) {
        WEIR_ASSERT(incomplete_.empty() || incomplete_.size() == definitions_.size());
    }

    DefinitionErrors run() {
        if (definitions_.size() > kMaxDefinitions) {
            errors_.add(
                {0, "", "", "more than " + std::to_string(kMaxDefinitions) + " quotas", ""});
            return std::move(errors_);
        }
        patterns_.resize(definitions_.size());
        for (std::size_t i = 0; i < definitions_.size(); ++i) {
            check_name(i);
            check_limits(i);
            check_modes(i);
        }
        resolve_parents();
        for (std::size_t i = 0; i < definitions_.size(); ++i) {
            check_chain(i);
        }
        return std::move(errors_);
    }

    DefinitionErrors run_alone() {
        WEIR_ASSERT(definitions_.size() == 1);
        patterns_.resize(1);
        check_name(0);
        check_limits(0);
        check_modes(0);
        if (definitions_[0].parent) {
            (void)check_parent_text(0, *definitions_[0].parent);
        }
        return std::move(errors_);
    }

  private:
    void complain(std::size_t index, std::string field, std::string message,
                  std::string suggestion = "") {
        complain(index, {index, definitions_[index].name, std::move(field), std::move(message),
                         std::move(suggestion)});
    }

    void complain(std::size_t index, DefinitionError error) {
        WEIR_ASSERT(index < definitions_.size() && error.quota == definitions_[index].name);
        error.index = index;
        if (error.field == kParentField || incomplete_.empty() || !incomplete_[index]) {
            errors_.add(std::move(error));
        }
    }

    void check_name(std::size_t i) {
        WEIR_ASSERT(i < patterns_.size() && !patterns_[i]);
        const std::string& name = definitions_[i].name;
        if (name.empty()) {
            return complain(i, "name", "a quota needs a name");
        }
        if (name.size() > kMaxNameBytes) {
            return complain(i, "name", "longer than " + std::to_string(kMaxNameBytes) + " bytes");
        }
        if (std::any_of(name.begin(), name.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
            return complain(i, "name", "has control characters");
        }
        Result<NamePattern> pattern = NamePattern::parse(name);
        if (!pattern) {
            return complain(i, "name", pattern.error().message);
        }
        const auto [first, added] = by_shape_.try_emplace(shape(*pattern), i);
        if (!added) {
            return complain(i, same_shape_error(name, definitions_[first->second].name));
        }
        if (pattern->has_captures()) {
            templates_.add(*pattern, static_cast<std::uint32_t>(i));
        }
        patterns_[i] = std::move(*pattern);
    }

    void check_limits(std::size_t i) {
        const std::vector<RateLimit>& limits = definitions_[i].limits;
        if (limits.size() > kMaxLimitsPerQuota) {
            complain(i, "limits", too_many_limits());
        }
        for (std::size_t j = 0; j < limits.size(); ++j) {
            const std::string field = "limits[" + std::to_string(j) + "]";
            check_limit(i, field, limits[j]);
            // Only those that a quota may have are compared, because there may be thousands.
            const auto end =
                limits.begin() + static_cast<std::ptrdiff_t>(std::min(j, kMaxLimitsPerQuota));
            const auto same = std::find_if(limits.begin(), end, [&](const RateLimit& each) {
                return are_the_same(each, limits[j]);
            });
            if (same != end) {
                const std::string_view what =
                    limits[j].is_concurrency() ? "also a 'concurrency', as " : kSameRate;
                complain(
                    i, field,
                    std::string(what) + "limits[" + std::to_string(same - limits.begin()) + "]",
                    "one of the two is enough: the lower amount");
            }
        }
    }

    void check_limit(std::size_t i, const std::string& field, const RateLimit& limit) {
        constexpr double kMost = 1e15;
        const auto ok = [](double value) {
            return value >= 0 && value <= kMost;  // false for what is not a number
        };
        if (!limit.is_rate()) {
            return;  // check_kinds() holds it to rules of its own
        }
        if (!ok(limit.amount)) {
            return complain(i, field + ".rate", "the amount must be a number from 0 to 1e15");
        }
        if (limit.period < std::chrono::milliseconds(1) ||
            limit.period > std::chrono::hours(24 * 366)) {
            return complain(i, field + ".rate", "the period must be from 1 ms to 366 days");
        }
        for (const auto& [name, spec] :
             {std::pair("low", &limit.low), std::pair("high", &limit.high),
              std::pair("debt", &limit.debt)}) {
            if (*spec && !ok((*spec)->value)) {
                return complain(i, field + "." + name, "must be a number from 0 to 1e15");
            }
        }
        const LimitParameters parameters = limit.resolved();
        if (parameters.zero()) {
            return;
        }
        if (!(parameters.low > 0)) {
            complain(i, field + ".low", "must be above 0: nothing would ever pass");
        } else if (parameters.low > parameters.high) {
            complain(i, field + (limit.high ? ".high" : ".low"),
                     "high (" + number(parameters.high) + ") is below low (" +
                         number(parameters.low) + ")",
                     "set high to at least low, or leave it out");
        }
    }

    void check_modes(std::size_t i) {
        const auto complain_of = [&](std::string field, std::string message,
                                     std::string suggestion) {
            complain(i, std::move(field), std::move(message), std::move(suggestion));
        };
        check_options(definitions_[i], complain_of);
        check_kinds(definitions_[i], complain_of);
    }

    static std::string number(double value) {
        std::string text = std::to_string(value);
        text.erase(text.find_last_not_of('0') + 1);
        if (text.ends_with('.')) {
            text.pop_back();
        }
        return text;
    }

    void resolve_parents() {
        parents_.assign(definitions_.size(), 0);
        for (std::size_t i = 0; i < definitions_.size(); ++i) {
            if (definitions_[i].parent) {
                resolve_parent(i, *definitions_[i].parent);
            }
        }
    }

    /// Checks the parent's text by itself: it must be well-formed and use only captures that the
    /// quota has.
    std::optional<NamePattern> check_parent_text(std::size_t i, const std::string& text) {
        Result<NamePattern> pattern = NamePattern::parse(text);
        if (!pattern || text.empty()) {
            complain(i, std::string(kParentField),
                     text.empty() ? "is empty" : pattern.error().message);
            return std::nullopt;
        }
        if (pattern->has_catch_all()) {
            complain(i, std::string(kParentField),
                     "has a catch-all: a parent is made of the captures before it");
            return std::nullopt;
        }
        if (patterns_[i]) {
            auto own = patterns_[i]->capture_names();
            if (patterns_[i]->has_catch_all()) {
                own.pop_back();
            }
            for (const std::string_view capture : pattern->capture_names()) {
                if (std::find(own.begin(), own.end(), capture) != own.end()) {
                    continue;
                }
                complain_of_capture(i, capture, own);
            }
        }
        return std::move(*pattern);
    }

    /// `own`: the captures that the quota has for its parent.
    void complain_of_capture(std::size_t i, std::string_view capture,
                             const std::vector<std::string_view>& own) {
        if (errors_.full()) {
            return errors_.count_one();
        }
        const std::string_view meant = closest(capture, own, letters_left_);
        complain(i, std::string(kParentField),
                 "{" + std::string(capture) + "} is not a capture of this quota",
                 meant.empty() ? "" : did_you_mean("{" + std::string(meant) + "}"));
    }

    void resolve_parent(std::size_t i, const std::string& text) {
        const std::optional<NamePattern> pattern = check_parent_text(i, text);
        if (!pattern) {
            return;
        }
        const auto exact = by_shape_.find(shape(*pattern));
        // The text of a template falls under the same template as its instances.
        const auto found = exact != by_shape_.end() ? std::optional(std::uint32_t(exact->second))
                                                    : templates_.find_parent(text);
        if (!found) {
            DefinitionError error = missing_parent_error(definitions_[i].name, text);
            error.suggestion = did_you_mean(nearest(text));
            return complain(i, std::move(error));
        }
        WEIR_ASSERT(*found < definitions_.size());
        parents_[i] = *found + 1;
    }

    /// The name that was probably meant; empty when there is none, or no time to look for it.
    [[nodiscard]] std::string_view nearest(const std::string& text) {
        if (errors_.full()) {
            return {};
        }
        if (names_.empty()) {
            const auto first = definitions_.first(std::min(definitions_.size(), kMostCandidates));
            std::transform(first.begin(), first.end(), std::back_inserter(names_),
                           [](const QuotaDefinition& each) { return std::string_view(each.name); });
        }
        return closest(text, names_, letters_left_);
    }

    void check_chain(std::size_t i) {
        WEIR_ASSERT(parents_.size() == definitions_.size());
        const auto above = [this](std::size_t at) { return parents_[at - 1]; };
        const auto limits = [this](std::size_t at) { return count_limits(definitions_[at - 1]); };
        if (const auto fault = walk_chain(i + 1, above, limits).fault) {
            complain(i, chain_error(definitions_[i].name, *fault));
        }
    }

    std::span<const QuotaDefinition> definitions_;
    std::vector<std::optional<NamePattern>> patterns_;
    std::unordered_map<std::string, std::size_t> by_shape_;
    TemplateIndex templates_;
    std::vector<std::size_t> parents_;  // 1 + the parent's index; 0 = it has none
    const std::vector<bool>& incomplete_;
    std::vector<std::string_view> names_;  // among which suggestions are looked for
    std::size_t letters_left_ = kLettersForSuggestions;
    DefinitionErrors errors_;
};

}  // namespace

std::vector<DefinitionError> validate_alone(const QuotaDefinition& definition) {
    return Validator({&definition, 1}, {}).run_alone().listed();
}

DefinitionErrors validate(std::span<const QuotaDefinition> definitions,
                          const std::vector<bool>& incomplete) {
    return Validator(definitions, incomplete).run();
}

LimitCounts count_limits(const QuotaDefinition& definition) {
    constexpr std::size_t kMostCounted = 127;
    const auto& limits = definition.limits;
    LimitCounts counts;
    counts.all = static_cast<std::uint8_t>(std::min(limits.size(), kMostCounted)) & kMostCounted;
    counts.concurrency = std::any_of(limits.begin(), limits.end(),
                                     [](const RateLimit& limit) { return limit.is_concurrency(); });
    return counts;
}

std::optional<std::string> template_shape_of(std::string_view name) {
    if (!limiter::is_template(name)) {
        return std::nullopt;
    }
    const auto pattern = NamePattern::parse(name);
    if (!pattern || !pattern->has_captures()) {
        return std::nullopt;
    }
    return shape(*pattern);
}

}  // namespace weir::definitions
