#include "config/quota_reader.h"

#include <array>
#include <string>

#include "config/reader.h"
#include "config/values.h"

namespace weir::config {
namespace {

using limiter::IsolationMode;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using limiter::Unit;

constexpr std::string_view kHeaderKey = "header:";

const std::vector<std::string_view>& unit_words() {
    static const std::vector<std::string_view> words = {"requests", "request-bytes",
                                                        "response-bytes", "cost"};
    return words;
}

std::string_view measure_letter(Measure measure) {
    return measure == Measure::bytes  ? "bytes, like 5MiB"
           : measure == Measure::cost ? "cost, like 20c"
                                      : "requests, like 100r";
}

/// Whether an amount's letters fit the limit's unit; a bare 0 fits all.
bool fits(NodeRef node, Measure measure, Unit unit, Diagnostics& diagnostics) {
    if (measure == Measure::none || measure == measure_of(unit)) {
        return true;
    }
    if (unit == Unit::requests) {
        diagnostics.error(node,
                          measure == Measure::bytes
                              ? "counts bytes: say 'of: request-bytes' or 'of: response-bytes'"
                              : "counts cost: say 'of: cost'");
        return false;
    }
    diagnostics.error(node, "must be in " + std::string(measure_letter(measure_of(unit))) +
                                ", since it is of " + std::string(unit_word(unit)));
    return false;
}

std::optional<limiter::BurstSpec> read_burst(std::optional<NodeRef> node, Unit unit,
                                             Diagnostics& diagnostics) {
    const auto burst = node ? read_parsed(*node, &parse_burst, diagnostics) : std::nullopt;
    if (!burst || !fits(*node, burst->measure, unit, diagnostics)) {
        return std::nullopt;
    }
    return burst->spec;
}

/// Whether the limit is of a kind that a later version has.
bool refuse_later_kinds(MapReader& reader) {
    bool found = false;
    for (const std::string_view kind : {"window", "concurrency", "lease"}) {
        found = reader.refuse_later(kind) || found;
    }
    return found;
}

void read_rate(NodeRef node, RateLimit& limit, Diagnostics& diagnostics) {
    const auto rate = read_parsed(node, &parse_rate, diagnostics);
    if (!rate || !fits(node, rate->measure, limit.unit, diagnostics)) {
        return;
    }
    limit.amount = rate->amount;
    limit.period = rate->period;
}

RateLimit read_limit(NodeRef node, Diagnostics& diagnostics) {
    RateLimit limit;
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return limit;
    }
    if (const auto of = reader.take("of")) {
        const auto word = read_word(*of, unit_words(), diagnostics);
        limit.unit = word ? static_cast<Unit>(*word) : limit.unit;
    }
    const bool later_kind = refuse_later_kinds(reader);
    if (const auto rate = reader.take("rate")) {
        read_rate(*rate, limit, diagnostics);
    } else if (!later_kind) {
        diagnostics.error(node, "a limit needs its 'rate'");
    }
    limit.low = read_burst(reader.take("low"), limit.unit, diagnostics);
    limit.high = read_burst(reader.take("high"), limit.unit, diagnostics);
    limit.debt = read_burst(reader.take("debt"), limit.unit, diagnostics);
    if (const auto law = reader.take("law")) {
        const auto word = read_word(*law, {"linear", "adaptive"}, diagnostics);
        limit.law = word ? static_cast<limiter::Law>(*word) : limit.law;
    }
    if (const auto scope = reader.take("scope")) {
        const auto word = read_word(*scope, {"fleet", "sidecar"}, diagnostics);
        limit.scope = word ? static_cast<limiter::Scope>(*word) : limit.scope;
    }
    if (const auto safe = reader.take("safe")) {
        const auto rate = read_parsed(*safe, &parse_rate, diagnostics);
        if (rate && fits(*safe, rate->measure, limit.unit, diagnostics)) {
            limit.safe = rate->amount * 1e9 / static_cast<double>(rate->period.count());
        }
    }
    reader.finish();
    return limit;
}

std::uint32_t read_count(std::optional<NodeRef> node, Diagnostics& diagnostics) {
    constexpr std::uint64_t kMost = 16'000'000;
    const auto count = node ? read_unsigned(*node, 1, kMost, diagnostics) : std::nullopt;
    return static_cast<std::uint32_t>(count.value_or(0));
}

void read_names(MapReader& reader, QuotaDefinition& quota, Diagnostics& diagnostics) {
    if (const auto name = reader.require("name")) {
        quota.name = std::string(read_text(*name, diagnostics).value_or(""));
    }
    if (const auto parent = reader.take("parent")) {
        if (const auto text = read_text(*parent, diagnostics)) {
            quota.parent = std::string(*text);
        }
    }
}

void read_words(MapReader& reader, QuotaDefinition& quota, Diagnostics& diagnostics) {
    if (const auto mode = reader.take("mode")) {
        const auto word = read_word(*mode, {"enforce", "shadow", "off"}, diagnostics);
        quota.mode = word ? static_cast<limiter::Mode>(*word) : quota.mode;
    }
    if (const auto isolated = reader.take("when_isolated")) {
        const auto word = read_word(*isolated, {"safe", "optimistic", "pessimistic"}, diagnostics);
        quota.when_isolated = word ? static_cast<IsolationMode>(*word) : quota.when_isolated;
    }
}

void read_share(MapReader& reader, QuotaDefinition& quota, limiter::QuotaOptions& options,
                Diagnostics& diagnostics) {
    if (const auto enforce = reader.take("enforce")) {
        quota.enforced_share =
            read_parsed(*enforce, &parse_percentage, diagnostics).value_or(quota.enforced_share);
    }
    const auto by = reader.take("enforce_by");
    const auto text = by ? read_text(*by, diagnostics) : std::nullopt;
    if (text && text->starts_with(kHeaderKey)) {
        options.enforced_by = std::string(text->substr(kHeaderKey.size()));
    }
    if (text && *text != "quota" && options.enforced_by.empty()) {
        diagnostics.error(*by, "must be quota or header:<name>");
    }
}

/// `hidden`, `x-ratelimit`, or several of the words in a list.
void read_headers(NodeRef node, QuotaDefinition& quota, limiter::QuotaOptions& options,
                  Diagnostics& diagnostics) {
    enum Word : std::size_t { shown, hidden, ietf, x_ratelimit, none };
    const std::vector<NodeRef> elements =
        node->kind == NodeKind::list ? read_list(node, diagnostics) : std::vector{node};
    std::array<bool, 5> said{};
    for (const NodeRef element : elements) {
        const auto word =
            read_word(element, {"shown", "hidden", "ietf", "x-ratelimit", "none"}, diagnostics);
        if (word) {
            said[*word] = true;
        }
    }
    if (said[shown] && said[hidden]) {
        diagnostics.error(node, "'shown' and 'hidden' exclude each other");
    }
    if (said[none] && (said[ietf] || said[x_ratelimit])) {
        diagnostics.error(node, "'none' excludes 'ietf' and 'x-ratelimit'");
    }
    quota.hide_headers = said[hidden];
    if (said[none] || said[ietf] || said[x_ratelimit]) {
        options.headers = limiter::HeaderForms{said[ietf], said[x_ratelimit]};
    }
}

limiter::RefusalForm read_refusal(NodeRef node, Diagnostics& diagnostics) {
    limiter::RefusalForm form;
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return form;
    }
    if (const auto status = reader.take("status")) {
        form.status =
            static_cast<std::uint16_t>(read_unsigned(*status, 400, 599, diagnostics).value_or(0));
    }
    if (const auto type = reader.take("content_type")) {
        form.content_type = std::string(read_text(*type, diagnostics).value_or(""));
    }
    if (const auto body = reader.take("body")) {
        form.body = std::string(read_text(*body, diagnostics).value_or(""));
    }
    reader.finish();
    return form;
}

limiter::QuotaOptions read_options(MapReader& reader, QuotaDefinition& quota,
                                   Diagnostics& diagnostics) {
    limiter::QuotaOptions options;
    read_share(reader, quota, options, diagnostics);
    if (const auto headers = reader.take("headers")) {
        read_headers(*headers, quota, options, diagnostics);
    }
    if (const auto refusal = reader.take("refusal")) {
        options.refusal = read_refusal(*refusal, diagnostics);
    }
    return options;
}

}  // namespace

std::string_view unit_word(Unit unit) { return unit_words()[static_cast<std::size_t>(unit)]; }

QuotaDefinition read_quota(NodeRef node, Diagnostics& diagnostics) {
    QuotaDefinition quota;
    MapReader reader(node, diagnostics);
    if (!reader.is_map()) {
        return quota;
    }
    read_names(reader, quota, diagnostics);
    read_words(reader, quota, diagnostics);
    quota.options = read_options(reader, quota, diagnostics);
    quota.max_instances = read_count(reader.take("max_instances"), diagnostics);
    quota.max_children = read_count(reader.take("max_children"), diagnostics);
    if (const auto limits = reader.take("limits")) {
        for (const NodeRef limit : read_list(*limits, diagnostics)) {
            quota.limits.push_back(read_limit(limit, diagnostics));
        }
    }
    reader.finish();
    return quota;
}

}  // namespace weir::config
