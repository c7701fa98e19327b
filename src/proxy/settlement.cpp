#include "proxy/settlement.h"

#include "http/response_head.h"
#include "routing/weight.h"

namespace weir::proxy {

Settlement::Settlement(ClientSide& client, const ActiveSnapshot& snapshot, Judgement& judgement)
    : client_(client), snapshot_(snapshot), judgement_(judgement) {
    const auto& charge = judgement.decision.charge;
    if (!charge) {
        return;
    }
    const auto now = client.worker.loop().now();
    if (may_correct()) {
        hold_at_ = now + kHoldAfter;
    }
    if (!(charge.response_bytes > 0)) {
        return;
    }
    charged_bytes_ = static_cast<std::uint64_t>(charge.response_bytes);
    last_step_ = now;
}

Settlement::~Settlement() { client_.worker.limiter().unhold(held_); }

/// The limiter drops instances that are not used for a while. One that is held survives a pause in
/// a long exchange, whose later bytes are charged as well.
void Settlement::hold() {
    if (hold_at_ == Instant::max()) {
        return;
    }
    hold_at_ = Instant::max();
    held_ = client_.worker.limiter().hold(judgement_.decision.charge);
    if (held_ != 0) {
        client_.worker.mutable_counters().count(Event::charges_held);
    }
}

/// Whether the request's true weight becomes known only after its head.
bool Settlement::may_correct() const {
    return judgement_.decision.charge.response_bytes > 0 ||
           !snapshot_.settings.headers.cost.empty() ||
           client_.head.body().kind == http::BodyKind::chunked || !client_.head.upgrade().empty();
}

void Settlement::give_back(Event event) {
    auto& charge = judgement_.decision.charge;
    if (!charge) {
        return;
    }
    auto& worker = client_.worker;
    worker.limiter().refund(worker.limiter_context(), charge, worker.loop().now());
    worker.mutable_counters().count(event);
    charge = {};
    charged_bytes_ = kNever;
}

void Settlement::correct(limiter::Unit unit, double charged, double actual, bool last) {
    // For response bytes an equal weight counts, too: it moves the running mean.
    if (actual == charged && unit != limiter::Unit::response_bytes) {
        return;
    }
    auto& worker = client_.worker;
    worker.limiter().correct(worker.limiter_context(), judgement_.decision.charge, unit, actual,
                             worker.loop().now(), last);
    if (actual != charged) {
        worker.mutable_counters().count(Event::corrections);
    }
}

void Settlement::step(std::uint64_t bytes) {
    const auto now = client_.worker.loop().now();
    if (bytes - charged_bytes_ < kStepBytes && now - last_step_ < kStepTime) {
        return;
    }
    correct(limiter::Unit::response_bytes, static_cast<double>(charged_bytes_),
            static_cast<double>(bytes), false);
    charged_bytes_ = bytes;
    last_step_ = now;
}

void Settlement::state_cost(http::ResponseHead& head) {
    const auto& name = snapshot_.settings.headers.cost;
    if (name.empty()) {
        return;
    }
    const auto index = head.fields().find(name);
    if (index == http::Fields::kNone) {
        return;
    }
    const bool twice = head.fields().find(name, index + 1) != http::Fields::kNone;
    double cost = 0;
    const bool good = !twice && routing::parse_weight(head.fields().value(index), cost);
    head.drop(name);
    if (!good) {
        client_.worker.mutable_counters().count(Event::cost_invalid);
        return;
    }
    auto& charge = judgement_.decision.charge;
    if (!charge) {
        return;
    }
    correct(limiter::Unit::cost, charge.weights.cost, cost, true);
    judgement_.cost_is_bytes = false;  // the cost that the upstream stated replaces it
}

void Settlement::free_if(unsigned status) {
    const auto& router = snapshot_.settings.router;
    if (judgement_.decision.charge && router && router->refunds(judgement_.route, status)) {
        give_back(Event::refunds_by_status);
    }
}

void Settlement::response_begins(http::ResponseHead& head) {
    state_cost(head);
    free_if(head.status());
}

void Settlement::finish(bool reached_upstream, unsigned own_status, std::uint64_t request_bytes,
                        std::uint64_t response_bytes) {
    if (!reached_upstream) {
        return give_back(Event::refunds);
    }
    if (own_status >= 500) {
        free_if(own_status);  // smaller ones are caused by the client and never free
    }
    const auto& charge = judgement_.decision.charge;
    if (!charge) {
        return;
    }
    const auto charged = charge.weights;
    const auto request = static_cast<double>(request_bytes);
    correct(limiter::Unit::request_bytes, charged.request_bytes, request, true);
    if (judgement_.cost_is_bytes) {
        correct(limiter::Unit::cost, charged.cost, request, true);
    }
    // If no limit counts response bytes, none were charged.
    if (charge.response_bytes > 0) {
        correct(limiter::Unit::response_bytes, static_cast<double>(charge.response_bytes),
                static_cast<double>(response_bytes), true);
    }
}

}  // namespace weir::proxy
