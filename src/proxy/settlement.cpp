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
    if (client.head.body().kind == http::BodyKind::chunked) {
        charged_request_bytes_ = 0;
        last_request_step_ = now;
    }
    if (!(charge.response_bytes > 0)) {
        return;
    }
    charged_bytes_ = static_cast<std::uint64_t>(charge.response_bytes);
    last_step_ = now;
}

Settlement::~Settlement() {
    auto& worker = client_.worker;
    worker.limiter().finish(worker.limiter_context(), judgement_.decision.charge);
    worker.limiter().unhold(held_);
}

/// The limiter drops instances that are not used for a while. One that is held survives a pause in
/// a long exchange, whose later bytes are charged as well.
void Settlement::hold() {
    if (hold_at_ == Instant::max()) {
        return;
    }
    hold_at_ = Instant::max();
    held_ = client_.worker.limiter().hold(judgement_.decision.charge);
    if (held_) {
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
    const limiter::Places places = charge.places;
    charge = {};
    charge.places = places;  // it is in flight until it ends
    charged_bytes_ = kNever;
    charged_request_bytes_ = kNever;
}

void Settlement::correct(limiter::Unit unit, double charged, double actual, bool last) {
    // An equal weight counts, too, where it still has to move the running mean.
    if (actual == charged && unit != limiter::Unit::response_bytes && !request_stepped_) {
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
    if (tunnel_) {
        add(limiter::Unit::response_bytes, bytes - charged_bytes_);
    } else {
        correct(limiter::Unit::response_bytes, static_cast<double>(charged_bytes_),
                static_cast<double>(bytes), false);
    }
    charged_bytes_ = bytes;
    last_step_ = now;
}

void Settlement::request_step(std::uint64_t bytes) {
    const auto now = client_.worker.loop().now();
    if (bytes - charged_request_bytes_ < kStepBytes && now - last_request_step_ < kStepTime) {
        return;
    }
    if (tunnel_) {
        add_request(bytes);
    } else {
        settle_request(static_cast<double>(bytes), false);
        charged_request_bytes_ = bytes;
        request_stepped_ = true;
    }
    last_request_step_ = now;
}

void Settlement::settle_request(double bytes, bool last) {
    const auto charged = judgement_.decision.charge.weights;
    correct(limiter::Unit::request_bytes, charged.request_bytes, bytes, last);
    if (judgement_.cost_is_bytes) {
        correct(limiter::Unit::cost, charged.cost, bytes, last);
    }
}

void Settlement::add(limiter::Unit unit, std::uint64_t weight) {
    auto& worker = client_.worker;
    worker.limiter().add(worker.limiter_context(), judgement_.decision.charge, unit,
                         static_cast<double>(weight), worker.loop().now());
    worker.mutable_counters().count(Event::corrections);
}

void Settlement::add_request(std::uint64_t bytes) {
    const auto more = bytes - charged_request_bytes_;
    add(limiter::Unit::request_bytes, more);
    if (judgement_.cost_is_bytes) {
        add(limiter::Unit::cost, more);
    }
    charged_request_bytes_ = bytes;
}

/// The body of the request is over, so its weight is settled as that of any request.
void Settlement::tunnel_begins(std::uint64_t request_bytes) {
    if (!judgement_.decision.charge) {
        return;
    }
    settle_request(static_cast<double>(request_bytes), true);
    tunnel_ = true;
    charged_request_bytes_ = request_bytes;
    last_request_step_ = client_.worker.loop().now();
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
    if (tunnel_) {
        return finish_tunnel(request_bytes, response_bytes);
    }
    settle_request(static_cast<double>(request_bytes), true);
    // If no limit counts response bytes, none were charged.
    if (charge.response_bytes > 0) {
        correct(limiter::Unit::response_bytes, static_cast<double>(charge.response_bytes),
                static_cast<double>(response_bytes), true);
    }
}

/// A tunnel moves no mean: the next requests are not charged in advance for what it carried.
void Settlement::finish_tunnel(std::uint64_t request_bytes, std::uint64_t response_bytes) {
    if (request_bytes > charged_request_bytes_) {
        add_request(request_bytes);
    }
    if (charged_bytes_ == kNever) {
        return;
    }
    if (response_bytes > charged_bytes_) {
        add(limiter::Unit::response_bytes, response_bytes - charged_bytes_);
    } else if (response_bytes < charged_bytes_) {
        // Less than was charged in advance, so nothing was added.
        correct(limiter::Unit::response_bytes, static_cast<double>(charged_bytes_),
                static_cast<double>(response_bytes), false);
    }
}

}  // namespace weir::proxy
