#include "definitions/rules.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
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
    for (const limiter::Segment& segment : pattern.segments()) {
        text += '/' + segment.prefix + (segment.literal ? "" : "{}") + segment.suffix;
    }
    return text;
}

class Validator {
  public:
    explicit Validator(std::span<const QuotaDefinition> definitions) : definitions_(definitions) {}

    std::vector<DefinitionError> run() {
        if (definitions_.size() > kMaxDefinitions) {
            complain(0, "", "more than " + std::to_string(kMaxDefinitions) + " quotas");
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

    std::vector<DefinitionError> run_alone() {
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
        std::string name = index < definitions_.size() ? definitions_[index].name : "";
        errors_.push_back(
            {index, std::move(name), std::move(field), std::move(message), std::move(suggestion)});
    }

    void complain(std::size_t index, DefinitionError error) {
        WEIR_ASSERT(index < definitions_.size() && error.quota == definitions_[index].name);
        error.index = index;
        errors_.push_back(std::move(error));
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
            complain(i, "limits",
                     "more than " + std::to_string(kMaxLimitsPerQuota) + " limits in a quota");
        }
        for (std::size_t j = 0; j < limits.size(); ++j) {
            const std::string field = "limits[" + std::to_string(j) + "]";
            check_limit(i, field, limits[j]);
            for (std::size_t k = 0; k < j; ++k) {
                if (limits[k].unit == limits[j].unit && limits[k].period == limits[j].period) {
                    complain(i, field,
                             "the same unit and period as limits[" + std::to_string(k) + "]",
                             "one of the two is enough: the lower amount");
                }
            }
        }
    }

    void check_limit(std::size_t i, const std::string& field, const RateLimit& limit) {
        constexpr double kMost = 1e15;
        const auto ok = [](double value) {
            return value >= 0 && value <= kMost;  // false for what is not a number
        };
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
        check_options(definitions_[i],
                      [&](std::string field, std::string message, std::string suggestion) {
                          complain(i, std::move(field), std::move(message), std::move(suggestion));
                      });
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
            complain(i, "parent", text.empty() ? "is empty" : pattern.error().message);
            return std::nullopt;
        }
        if (patterns_[i]) {
            const auto own = patterns_[i]->capture_names();
            for (const std::string_view capture : pattern->capture_names()) {
                if (std::find(own.begin(), own.end(), capture) == own.end()) {
                    complain(i, "parent",
                             "{" + std::string(capture) + "} is not a capture of this quota");
                }
            }
        }
        return std::move(*pattern);
    }

    void resolve_parent(std::size_t i, const std::string& text) {
        const std::optional<NamePattern> pattern = check_parent_text(i, text);
        if (!pattern) {
            return;
        }
        const auto exact = by_shape_.find(shape(*pattern));
        // The text of a template falls under the same template as its instances.
        const auto found = exact != by_shape_.end() ? std::optional(std::uint32_t(exact->second))
                                                    : templates_.find(text);
        if (!found) {
            DefinitionError error = missing_parent_error(definitions_[i].name, text);
            error.suggestion = nearest(text);
            return complain(i, std::move(error));
        }
        WEIR_ASSERT(*found < definitions_.size());
        parents_[i] = *found + 1;
    }

    [[nodiscard]] std::string nearest(const std::string& text) const {
        std::vector<std::string_view> names;
        for (const QuotaDefinition& definition :
             definitions_.first(std::min(definitions_.size(), kMostCandidates))) {
            names.emplace_back(definition.name);
        }
        return did_you_mean(text, names);
    }

    void check_chain(std::size_t i) {
        WEIR_ASSERT(parents_.size() == definitions_.size());
        const auto above = [this](std::size_t at) { return parents_[at - 1]; };
        const auto limits = [this](std::size_t at) { return definitions_[at - 1].limits.size(); };
        if (const auto fault = walk_chain(i + 1, above, limits).fault) {
            complain(i, chain_error(definitions_[i].name, *fault));
        }
    }

    std::span<const QuotaDefinition> definitions_;
    std::vector<std::optional<NamePattern>> patterns_;
    std::unordered_map<std::string, std::size_t> by_shape_;
    TemplateIndex templates_;
    std::vector<std::size_t> parents_;  // 1 + the parent's index; 0 = it has none
    std::vector<DefinitionError> errors_;
};

}  // namespace

std::vector<DefinitionError> validate_alone(const QuotaDefinition& definition) {
    return Validator({&definition, 1}).run_alone();
}

std::vector<DefinitionError> validate(std::span<const QuotaDefinition> definitions) {
    return Validator(definitions).run();
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
