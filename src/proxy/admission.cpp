#include "proxy/admission.h"

#include <algorithm>

#include "http/answer.h"
#include "net/clock.h"

namespace weir::proxy {
namespace {

constexpr std::string_view kIsolated =
    "isolated: the other limiters cannot be heard, and this quota refuses rather than guess.";

constexpr std::string_view kAboveShare =
    "This client asks for more than its share of the quota; Retry-After tells when to come back.";

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

http::LimitView view_of(const limiter::Decision& decision, std::string_view quota,
                        Duration wall_clock) {
    return {
        .quota = quota,
        .unit = decision.kind == limiter::LimitKind::concurrency
                    ? http::QuotaUnit::concurrent_requests
                    : unit_of(decision.unit),
        .amount = decision.amount,
        .period = decision.period,
        .remaining = decision.remaining,
        .reset = decision.reset,
        // The end of a window was rounded by the fleet's wall clock already.
        .wall_clock = decision.kind == limiter::LimitKind::window ? Duration::zero() : wall_clock};
}

/// Which families of fields are written: those of the quota's definition or, if it names none,
/// those of the settings.
http::HeaderSwitches switches_of(const config::HeaderSettings& headers,
                                 const limiter::QuotaOptions* options) {
    http::HeaderSwitches switches{
        .ietf = headers.ietf, .x_ratelimit = headers.x_ratelimit, .quota = headers.quota};
    if (options != nullptr && options->headers) {
        switches.ietf = options->headers->ietf;
        switches.x_ratelimit = options->headers->x_ratelimit;
    }
    return switches;
}

/// The request's fields, for quotas that are enforced for a share of a field's values.
class HeadFields final : public limiter::RequestFields {
  public:
    HeadFields(const http::Fields& fields, http::RequestHead& forwarded, bool trusted)
        : fields_(fields), forwarded_(forwarded), trusted_(trusted) {}
    [[nodiscard]] std::string_view value(std::string_view field) const override {
        // The gate has not dropped imitations of this field, because definitions may name another
        // field at any time.
        forwarded_.drop_imitations(field);
        const bool claim = (bit(http::identify(field)) & http::kForwardedClaims) != 0;
        return claim && !trusted_ ? std::string_view() : fields_.first(field);
    }

  private:
    const http::Fields& fields_;
    http::RequestHead& forwarded_;
    bool trusted_;
};

void count_weight(ProxyCounters& counters, const routing::RouteResult& route) {
    if (route.weight_invalid) {
        counters.count(Event::weight_invalid);
    }
    if (route.weight_clamped) {
        counters.count(Event::weight_clamped);
    }
}

limiter::Weights weights_of(const routing::RouteResult& route) {
    const double bytes = static_cast<double>(route.request_bytes.value_or(0));
    if (route.weight_is_request_bytes) {
        return {.requests = 1, .request_bytes = bytes, .cost = bytes};
    }
    return {.requests = route.weight, .request_bytes = bytes, .cost = route.weight};
}

static_assert(routing::kMaxNameLists == limiter::kMaxLeaves);

AskedNames ask(ClientSide& client, const routing::NameLists& lists) {
    auto& worker = client.worker;
    AskedNames asked;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        if (!lists[i].empty()) {
            asked[i] = worker.limiter().ask(worker.limiter_context(), lists[i].front());
        }
    }
    return asked;
}

/// The client as routing sees it. A head that is not the client's own is that of a request about
/// which it asks.
routing::Client who_asks(const ClientSide& client, const http::RequestHead& head,
                         const ActiveSnapshot& snapshot, bool trusted) {
    const auto& proxies = snapshot.settings.trusted_proxies;
    return {.address = client.endpoint,
            .trusted = trusted,
            .asks = &head != &client.head,
            .proxies = proxies ? std::span<const AddressBlock>(*proxies)
                               : std::span<const AddressBlock>()};
}

Routed route_now(ClientSide& client, const http::RequestHead& head, const ActiveSnapshot& snapshot,
                 bool trusted) {
    auto& worker = client.worker;
    Routed routed;
    routed.trusted = trusted;
    if (!snapshot.settings.router) {
        return routed;  // there are no routes yet, so every request passes
    }
    routed.route = snapshot.settings.router->route(head, who_asks(client, head, snapshot, trusted),
                                                   worker.routing_scratch());
    routed.asked = ask(client, routed.route.lists());
    return routed;
}

/// The instances of the first quota of each list that exists. Returns the lists that have none.
unsigned find_leaves(ClientSide& client, const routing::NameLists& lists, const AskedNames& asked,
                     limiter::Leaves& leaves) {
    auto& worker = client.worker;
    const auto now = worker.loop().now();
    auto& limiter = worker.limiter();
    auto& context = worker.limiter_context();
    unsigned without = 0;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const auto names = lists[i];
        const bool found =
            !names.empty() && limiter.find_first(context, asked[i], names, now, leaves);
        without |= found ? 0 : 1U << i;
    }
    return without;
}

/// Decides by the first quota of each list that exists: `decide` is given their leaves and makes a
/// judgement with a decision.
template <class Decide>
Judgement judge(ClientSide& client, const routing::NameLists& lists, const AskedNames& asked,
                Decide decide) {
    auto& worker = client.worker;
    limiter::Leaves leaves;
    const unsigned without = find_leaves(client, lists, asked, leaves);
    Judgement judgement = leaves.empty() ? Judgement() : decide(leaves, worker.loop().now());
    judgement.lists_without_quota = without;
    if (leaves.empty()) {
        return judgement;
    }
    judgement.verdict = judgement.decision.admitted ? Verdict::admitted : Verdict::refused;
    judgement.overflows = std::any_of(leaves.begin(), leaves.end(), [](const auto& leaf) {
        return leaf.overflow_depth > leaf.unjudged_depth;
    });
    return judgement;
}

/// Counts what the quotas found of a request. To be called once for each request.
void count_findings(ProxyCounters& counters, const Judgement& judgement) {
    if (judgement.decision.shadow_refused) {
        counters.count(Event::shadow_refused);
    }
    if (judgement.overflows) {
        counters.count(Event::template_overflow);
    }
}

/// Has the limiter check a request of these weights.
auto check_of(ClientSide& client, const HeadFields& fields, const limiter::Weights& weights,
              limiter::CheckMode mode) {
    return [&client, &fields, weights, mode](const limiter::Leaves& leaves, Instant now) {
        auto& worker = client.worker;
        Judgement judgement;
        judgement.decision =
            worker.limiter().check(worker.limiter_context(), leaves, weights, now, mode, &fields);
        return judgement;
    };
}

/// Counts a request for which no list of its route names a quota that exists, or not every list.
void count_unlimited(ProxyCounters& counters, const routing::RouteResult& route,
                     const Judgement& judgement) {
    const bool routed = route.outcome == routing::RouteOutcome::routed;
    const auto place = routed ? std::min(route.route, kOtherRoutes) : kNoRoute;
    if (judgement.verdict == Verdict::unlimited) {
        counters.count_unlimited(place);
    } else if (judgement.lists_without_quota != 0) {
        counters.count_partly_unlimited(place);
    }
}

Judgement decide(ClientSide& client, const http::RequestHead& head, const Routed& routed,
                 limiter::CheckMode mode) {
    const auto& route = routed.route;
    const bool by_fields = route.outcome == routing::RouteOutcome::ambiguous_fields;
    if (by_fields || route.outcome == routing::RouteOutcome::ambiguous_path) {
        return {.verdict = Verdict::ambiguous,
                .decision = {},
                .explanation = route.explanation,
                .doubted = by_fields ? Ending::rejected_fields : Ending::rejected_path};
    }
    const HeadFields fields(head.fields(), client.head, routed.trusted);
    auto judgement = judge(client, route.lists(), routed.asked,
                           check_of(client, fields, weights_of(route), mode));
    auto& counters = client.worker.mutable_counters();
    // One that has waited was counted when it came; its quota may have gone meanwhile.
    const bool again =
        mode == limiter::CheckMode::charge_in_turn || mode == limiter::CheckMode::refuse_in_turn;
    if (!again) {
        count_weight(counters, route);
        count_findings(counters, judgement);
    }
    if (!again || judgement.verdict == Verdict::unlimited) {
        count_unlimited(counters, route, judgement);
    }
    judgement.cost_is_bytes = route.weight_is_request_bytes;
    judgement.route = route.route;
    judgement.weight_field = route.weight_field;
    return judgement;
}

}  // namespace

limiter::CheckMode check_mode(ClientSide& client, const ActiveSnapshot& snapshot) {
    const auto usual =
        snapshot.settings.peek ? limiter::CheckMode::peek : limiter::CheckMode::charge_or_wait;
    const auto& name = snapshot.settings.headers.judged;
    if (name.empty()) {
        return usual;
    }
    const auto index = client.head.fields().find(name);
    if (index == http::Fields::kNone) {
        return usual;
    }
    const bool judged = client.head.fields().value(index) == "1";
    client.head.drop(name);
    if (!judged) {
        return usual;
    }
    const bool believed = contains(snapshot.settings.judging_proxies, client.endpoint);
    client.worker.mutable_counters().count(believed ? Event::judged_in_front
                                                    : Event::judged_ignored);
    return believed ? limiter::CheckMode::charge_without_judging : usual;
}

Routed route(ClientSide& client, const http::RequestHead& head, const ActiveSnapshot& snapshot,
             bool trusted) {
    if (!client.worker.sample_decision()) {
        return route_now(client, head, snapshot, trusted);
    }
    const auto before = net::now();
    auto routed = route_now(client, head, snapshot, trusted);
    routed.sampled = net::now() - before;
    return routed;
}

Judgement admit(ClientSide& client, const http::RequestHead& head, const Routed& routed,
                limiter::CheckMode mode) {
    if (!routed.sampled) {
        return decide(client, head, routed, mode);
    }
    const auto before = net::now();
    auto judgement = decide(client, head, routed, mode);
    client.worker.mutable_counters().record_decision(*routed.sampled + (net::now() - before));
    return judgement;
}

Judgement admit_by_name(ClientSide& client, const routing::NameLists& lists,
                        const limiter::Weights& weights, limiter::CheckMode mode, bool trusted) {
    const HeadFields fields(client.head.fields(), client.head, trusted);
    auto judgement =
        judge(client, lists, ask(client, lists), check_of(client, fields, weights, mode));
    count_findings(client.worker.mutable_counters(), judgement);
    return judgement;
}

Judgement obtain_by_name(ClientSide& client, const routing::NameLists& lists,
                         const limiter::Wish& wish, limiter::CheckMode mode, bool trusted) {
    const HeadFields fields(client.head.fields(), client.head, trusted);
    auto& worker = client.worker;
    // A question to obtain has one list, so there is one leaf.
    const auto obtain = [&](const limiter::Leaves& leaves, Instant now) {
        const auto grant =
            worker.limiter().obtain(worker.limiter_context(), leaves[0], wish, now, mode, &fields);
        Judgement judgement;
        judgement.decision = grant.decision;
        judgement.granted = grant.granted;
        return judgement;
    };
    auto judgement = judge(client, lists, ask(client, lists), obtain);
    count_findings(worker.mutable_counters(), judgement);
    return judgement;
}

unsigned write_refusal(ClientSide& client, const ActiveSnapshot& snapshot,
                       const Judgement& judgement, bool keep_alive, unsigned highest_status) {
    const auto& decision = judgement.decision;
    auto& worker = client.worker;
    const auto* options = worker.limiter().options(decision);
    http::Refusal refusal{.body = {},
                          .limit = {},
                          .retry_after = decision.retry_after,
                          .headers = switches_of(snapshot.settings.headers, options)};
    if (options != nullptr) {
        const auto& form = options->refusal;
        if (form.status != 0 && form.status <= highest_status) {
            refusal.status = form.status;
        }
        if (form.body) {
            refusal.body = http::CustomBody{form.content_type, *form.body};
        }
    }
    if (decision.reason == limiter::Reason::above_share) {
        refusal.detail = kAboveShare;
    }
    if (decision.reason == limiter::Reason::isolated) {
        refusal.own_reasons = true;
        refusal.detail = kIsolated;
        refusal.body.reset();
        refusal.status = highest_status >= 503 ? 503 : 429;
    }
    if (!decision.hide_headers) {
        refusal.limit = view_of(decision, decision.quota, worker.wall_clock());
    }
    worker.text().clear();
    http::append_refusal(
        worker.text(), refusal,
        {.head_request = client.head.method() == http::Method::head,
         .keep_alive = keep_alive,
         .client_minor_version = client.head.minor_version(),
         .accept = client.head.fields().first(http::FieldId::accept),
         .date = worker.date(),
         .request_id = client.choose_request_id(snapshot.settings.headers.request_id, true)},
        worker.random());
    return refusal.status;
}

std::string_view quota_name(ClientSide& client, const Judgement& judgement) {
    if (!judgement.decision.quota.empty()) {
        return judgement.decision.quota;
    }
    if (judgement.verdict != Verdict::admitted) {
        return {};
    }
    return client.worker.limiter().quota_name(judgement.decision);
}

void append_success_fields(std::string& out, ClientSide& client, const ActiveSnapshot& snapshot,
                           const Judgement& judgement) {
    const auto& headers = snapshot.settings.headers;
    if (!headers.on_success || judgement.verdict != Verdict::admitted) {
        return;
    }
    const auto quota = quota_name(client, judgement);
    if (judgement.decision.hide_headers || quota.empty()) {
        return;
    }
    const auto* options = client.worker.limiter().options(judgement.decision);
    http::append_limit_fields(out, view_of(judgement.decision, quota, client.worker.wall_clock()),
                              switches_of(headers, options));
}

}  // namespace weir::proxy
