#include "sim/waiting_requests.h"

#include <utility>

#include "base/assert.h"
#include "sim/lists_of_names.h"

namespace weir::sim {

WaitingRequests::~WaitingRequests() {
    for (Request& request : requests_) {
        leave(request);
    }
}

bool WaitingRequests::join(std::string_view leaf, std::uint32_t quota,
                           const limiter::Decision& refusal, Instant now) {
    const limiter::QuotaOptions* options = limiter_.options(refusal);
    WEIR_ASSERT(refusal.can_wait && options != nullptr && options->wait.longest);
    Request& request = requests_.emplace_back(*this);
    request.leaf = leaf;
    request.quota = quota;
    request.since = now;
    request.until = now + *options->wait.longest;
    if (move(request, refusal)) {
        return true;
    }
    requests_.pop_back();
    return false;
}

std::vector<DecidedRequest> WaitingRequests::serve(Instant now) {
    now_ = now;
    while (queues_.serve(now)) {
    }
    for (Request& request : requests_) {
        if (request.ended || request.until > now) {
            continue;
        }
        const auto mode = queues_.is_due(request, now) ? limiter::CheckMode::charge_in_turn
                                                       : limiter::CheckMode::refuse_in_turn;
        end(request, decide_on(limiter_, thread_, request.leaf, now, mode));
    }
    requests_.remove_if([](const Request& request) { return request.ended; });
    return std::exchange(decided_, {});
}

void WaitingRequests::decide(Request& request) {
    const auto decision =
        decide_on(limiter_, thread_, request.leaf, now_, limiter::CheckMode::charge_in_turn);
    if (decision.admitted || !decision.can_wait || !move(request, decision)) {
        end(request, decision);
        return;
    }
    if (queues_.is_first(request)) {
        queues_.rest(request, decision, now_, request.until);
    }
    limiter_.quiescent(thread_);
}

/// Moves the request to the queue of the quota that refuses it, unless it is there.
bool WaitingRequests::move(Request& request, const limiter::Decision& refusal) {
    if (request.place && request.place.instance == refusal.instance) {
        return true;
    }
    leave(request);
    request.place = limiter_.begin_waiting(refusal);
    if (!request.place) {
        return false;
    }
    queues_.join(request, request.place.slot, request.since);
    return true;
}

void WaitingRequests::leave(Request& request) {
    if (request.place) {
        queues_.leave(request);
        limiter_.end_waiting(std::exchange(request.place, {}));
    }
}

void WaitingRequests::end(Request& request, const limiter::Decision& decision) {
    if (!decision.admitted) {
        limiter_.give_up(thread_, decision);
    }
    decided_.push_back(decided(request.quota, decision));
    limiter_.quiescent(thread_);
    if (decision.admitted && request.place) {
        queues_.pass(request);
        limiter_.end_waiting(std::exchange(request.place, {}));
    }
    leave(request);
    request.ended = true;
}

}  // namespace weir::sim
