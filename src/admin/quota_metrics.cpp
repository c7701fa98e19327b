#include "admin/quota_metrics.h"

#include <string>

namespace weir::admin {
namespace {

/// Adds one metric of all quotas. `member` says which of their figures is its value.
template <class Member>
void add_quota_values(Family family, const std::vector<QuotaFigures>& quotas, Member member) {
    for (const auto& quota : quotas) {
        family.add({{"quota", quota.name}}, number(quota.*member));
    }
}

void add_quota_counters(Families& families, const std::vector<QuotaFigures>& quotas) {
    add_quota_values(families.counter("weir_quota_offered_total",
                                      "Weight that arrived at the quota, in the unit of its first "
                                      "limit, whatever became of it."),
                     quotas, &QuotaFigures::offered);
    add_quota_values(families.counter("weir_quota_admitted_total", "Weight that was let through."),
                     quotas, &QuotaFigures::admitted);
    add_quota_values(
        families.counter("weir_quota_refused_total",
                         "Weight that was refused with this quota named as the reason."),
        quotas, &QuotaFigures::refused);
    add_quota_values(families.counter("weir_quota_shadow_refused_total",
                                      "Weight that passed, but would have been refused, were "
                                      "this quota enforced for every key."),
                     quotas, &QuotaFigures::shadow_refused);
    add_quota_values(families.counter("weir_quota_refunded_total",
                                      "Weight that was admitted and given back since."),
                     quotas, &QuotaFigures::refunded);
    add_quota_values(families.counter("weir_quota_overflow_requests_total",
                                      "Requests that shared the template's overflow instance since "
                                      "its cap on live instances was reached."),
                     quotas, &QuotaFigures::overflowed);
    add_quota_values(families.counter("weir_quota_waited_total",
                                      "Requests that were admitted after they had waited for their "
                                      "turn."),
                     quotas, &QuotaFigures::waited);
}

void add_quota_gauges(Families& families, const std::vector<QuotaFigures>& quotas) {
    add_quota_values(
        families.gauge("weir_quota_discard_probability",
                       "Chance that the next request is refused, were the quota enforced for every "
                       "key (of a quota in shadow: what it would refuse; off: 0); of a template "
                       "the mean over its instances, weighted by what they are offered."),
        quotas, &QuotaFigures::discard_probability);
    add_quota_values(families.gauge("weir_quota_discard_probability_max",
                                    "The largest discard probability of the template's instances."),
                     quotas, &QuotaFigures::discard_probability_max);
    add_quota_values(families.gauge("weir_quota_level_ratio",
                                    "Level over low burst of the fullest limit; of a template the "
                                    "mean over its instances, weighted by what they are offered."),
                     quotas, &QuotaFigures::level_ratio);
    add_quota_values(families.gauge("weir_quota_level_ratio_max",
                                    "The largest level ratio of the template's instances."),
                     quotas, &QuotaFigures::level_ratio_max);
    add_quota_values(
        families.gauge("weir_quota_instances", "Live instances of the quota on this sidecar."),
        quotas, &QuotaFigures::instances);
    auto limits = families.gauge("weir_quota_limit",
                                 "The limit's rate in weight per second; period is the one that it "
                                 "was written for.");
    for (const auto& quota : quotas) {
        for (const auto& limit : quota.limits) {
            limits.add({{"quota", quota.name}, {"unit", limit.unit}, {"period", limit.period}},
                       limit.rate);
        }
    }
    auto concurrency = families.gauge("weir_quota_concurrency_limit",
                                      "The most requests that may be in flight at once, of a quota "
                                      "with such a limit.");
    for (const auto& quota : quotas) {
        if (quota.concurrency) {
            concurrency.add({{"quota", quota.name}}, *quota.concurrency);
        }
    }
    auto in_flight =
        families.gauge("weir_quota_in_flight",
                       "Requests in flight on this sidecar, of a quota with a limit of "
                       "them; of a template the sum over its instances.");
    for (const auto& quota : quotas) {
        if (quota.concurrency) {
            in_flight.add({{"quota", quota.name}}, quota.in_flight.count);
        }
    }
    auto allowance =
        families.gauge("weir_quota_concurrency_allowance",
                       "How many requests may be in flight on this sidecar now: its part of the "
                       "limit; of a template the sum over its instances.");
    for (const auto& quota : quotas) {
        if (quota.concurrency) {
            allowance.add({{"quota", quota.name}}, quota.in_flight.allowance);
        }
    }
}

/// One gauge for each limit of windows, with the value that `value` returns of it.
template <class Value>
void add_window_gauge(Families& families, const std::vector<QuotaFigures>& quotas,
                      const std::string& name, const std::string& help, Value value) {
    auto gauge = families.gauge(name, help);
    for (const auto& quota : quotas) {
        for (const auto& window : quota.windows) {
            gauge.add({{"quota", quota.name}, {"unit", window.unit}, {"period", window.period}},
                      value(window));
        }
    }
}

void add_window_gauges(Families& families, const std::vector<QuotaFigures>& quotas) {
    add_window_gauge(families, quotas, "weir_quota_window_limit",
                     "The weight that a limit of windows admits in each window.",
                     [](const WindowFigures& window) { return window.amount; });
    add_window_gauge(families, quotas, "weir_quota_window_admitted",
                     "The weight that this sidecar has admitted in the present window; of a "
                     "template the sum over its instances.",
                     [](const WindowFigures& window) { return window.here.count; });
    add_window_gauge(families, quotas, "weir_quota_window_allowance",
                     "The weight that this sidecar may admit in the present window: its part of "
                     "the limit; of a template the sum over its instances.",
                     [](const WindowFigures& window) { return window.here.allowance; });
}

}  // namespace

void add_quotas(Families& families, const std::vector<QuotaFigures>& quotas) {
    add_quota_counters(families, quotas);
    add_quota_gauges(families, quotas);
    add_window_gauges(families, quotas);
}

}  // namespace weir::admin
