#include "proxy/admission.h"

#include "http/answer.h"
#include "net/clock.h"

namespace weir::proxy {
namespace {

http::QuotaUnit unit_of(limiter::Unit unit) {
    switch (unit) {
        case limiter::Unit::requests:
            return http::QuotaUnit::requests;
        case limiter::Unit::request_bytes:
        case limiter::Unit::response_bytes:
            return http::QuotaUnit::content_bytes;
        case limiter::Unit::cost:
            return http::QuotaUnit::cost;
    }
    return http::QuotaUnit::requests;
}

http::LimitView view_of(const limiter::Decision& decision, std::string_view quota) {
    return {.quota = quota,
            .unit = unit_of(decision.unit),
            .amount = decision.amount,
            .period = decision.period,
            .remaining = decision.remaining,
            .reset = decision.reset};
}

http::HeaderSwitches switches_of(const config::HeaderSettings& headers) {
    return {.ietf = headers.ietf, .x_ratelimit = headers.x_ratelimit, .quota = headers.quota};
}

limiter::Weights weights_of(const routing::RouteResult& route) {
    const double bytes = static_cast<double>(route.request_bytes.value_or(0));
    if (route.weight_is_request_bytes) {
        return {.requests = 1, .request_bytes = bytes, .cost = bytes};
    }
    return {.requests = route.weight, .request_bytes = bytes, .cost = route.weight};
}

Admission decide(ClientSide& client, const ActiveSnapshot& snapshot, bool trusted) {
    auto& worker = client.worker;
    if (!snapshot.settings.router) return {};  // no routes yet: everything passes
    const auto route =
        snapshot.settings.router->route(client.head, trusted, worker.routing_scratch());
    if (route.outcome == routing::Outcome::ambiguous) {
        return {.verdict = Verdict::ambiguous, .decision = {}, .explanation = route.explanation};
    }
    const auto now = worker.loop().now();
    auto& limiter = worker.limiter();
    for (const auto name : route.names) {
        const auto leaf = limiter.find(worker.limiter_context(), name, now);
        if (!leaf) continue;
        Admission admission{
            .decision = limiter.check(worker.limiter_context(), leaf, weights_of(route), now,
                                      limiter::CheckMode::charge),
            .explanation = {},
            .cost_is_bytes = route.weight_is_request_bytes};
        const auto& decision = admission.decision;
        admission.verdict = decision.admitted ? Verdict::admitted : Verdict::refused;
        if (decision.shadow_refused) worker.mutable_counters().count(Event::shadow_refused);
        if (leaf.overflow_depth > 0) worker.mutable_counters().count(Event::template_overflow);
        return admission;
    }
    return {};
}

void correct_unit(ClientSide& client, limiter::Charge& charge, limiter::Unit unit, double charged,
                  std::uint64_t actual) {
    const auto weight = static_cast<double>(actual);
    if (weight == charged) return;
    auto& worker = client.worker;
    worker.limiter().correct(worker.limiter_context(), charge, unit, weight, worker.loop().now());
    worker.mutable_counters().count(Event::corrections);
}

}  // namespace

Admission admit(ClientSide& client, const ActiveSnapshot& snapshot, bool trusted) {
    if (!client.worker.sample_decision()) return decide(client, snapshot, trusted);
    const auto before = net::now();
    auto admission = decide(client, snapshot, trusted);
    client.worker.mutable_counters().record_decision(net::now() - before);
    return admission;
}

void refund(ClientSide& client, const limiter::Charge& charge) {
    if (!charge) return;
    auto& worker = client.worker;
    worker.limiter().refund(worker.limiter_context(), charge, worker.loop().now());
    worker.mutable_counters().count(Event::refunds);
}

void correct(ClientSide& client, Admission& admission, std::uint64_t request_bytes,
             std::uint64_t response_bytes) {
    auto& charge = admission.decision.charge;
    if (!charge) return;
    const auto charged = charge.weights;
    correct_unit(client, charge, limiter::Unit::request_bytes, charged.request_bytes,
                 request_bytes);
    if (admission.cost_is_bytes) {
        correct_unit(client, charge, limiter::Unit::cost, charged.cost, request_bytes);
    }
    // Nothing stood for the response's bytes if no limit counts them.
    if (charge.response_bytes > 0) {
        correct_unit(client, charge, limiter::Unit::response_bytes,
                     static_cast<double>(charge.response_bytes), response_bytes);
    }
}

void write_refusal(ClientSide& client, const ActiveSnapshot& snapshot, const Admission& admission,
                   bool keep_alive) {
    const auto& decision = admission.decision;
    http::Refusal refusal{.limit = {},
                          .retry_after = decision.retry_after,
                          .headers = switches_of(snapshot.settings.headers)};
    if (!decision.hide_headers) refusal.limit = view_of(decision, decision.quota);
    auto& worker = client.worker;
    worker.text().clear();
    http::append_refusal(worker.text(), refusal,
                         {.head_request = client.head.method() == http::Method::head,
                          .keep_alive = keep_alive,
                          .client_minor_version = client.head.minor_version(),
                          .accept = client.head.fields().first(http::FieldId::accept),
                          .date = worker.date(),
                          .request_id = {}},
                         worker.random());
}

std::string_view quota_name(ClientSide& client, const Admission& admission) {
    if (!admission.decision.quota.empty()) return admission.decision.quota;
    if (admission.verdict != Verdict::admitted) return {};
    return client.worker.limiter().quota_name(admission.decision);
}

void append_success_fields(std::string& out, ClientSide& client, const ActiveSnapshot& snapshot,
                           const Admission& admission) {
    const auto& headers = snapshot.settings.headers;
    if (!headers.on_success || admission.verdict != Verdict::admitted) return;
    const auto quota = quota_name(client, admission);
    if (admission.decision.hide_headers || quota.empty()) return;
    http::append_limit_fields(out, view_of(admission.decision, quota), switches_of(headers));
}

}  // namespace weir::proxy
