// The C interface's functions that decide (include/weir/weir.h).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "embed/fleet.h"
#include "embed/guard.h"
#include "embed/handles.h"
#include "weir/weir.h"

namespace weir::embed {
namespace {

// The sizes of the first version.
constexpr std::size_t kFirstDecision = offsetof(weir_decision, wait_seconds);
constexpr std::size_t kFirstRequest = sizeof(weir_request);
static_assert(WEIR_MOST_LISTS == limiter::kMaxLeaves);

/// The decision when something goes wrong: the request is admitted.
weir_decision open_decision() {
    weir_decision decision{};
    decision.admitted = 1;
    decision.reason = WEIR_REASON_ERROR;
    decision.quota = "";
    decision.retry_after_seconds = 1;
    return decision;
}

/// Writes the decision as far as it fits. The caller's struct may be shorter or longer than the
/// library's.
void write(const weir_decision& decision, weir_decision* out) {
    const std::uint32_t size = out->size;
    std::memcpy(out, &decision, std::min<std::size_t>(size, sizeof(decision)));
    out->size = size;
}

/// Whether the lists can be read, and are not more than a request may have.
bool are_lists(const weir_name_list* lists, std::size_t count) {
    if (count > WEIR_MOST_LISTS || (lists == nullptr && count > 0)) {
        return false;
    }
    std::size_t names = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const weir_name_list& list = lists[i];
        if (list.count > WEIR_MOST_NAMES || (list.names == nullptr && list.count > 0)) {
            return false;
        }
        names += list.count;
        for (std::size_t j = 0; j < list.count; ++j) {
            if (list.names[j].text == nullptr) {
                return false;
            }
        }
    }
    return names <= WEIR_MOST_NAMES;
}

/// Has `decide` make a decision about a request, or units of it, for this worker.
template <class Decide>
std::int32_t decide_by(weir_worker* worker, const weir_request* request, bool sensible,
                       Decide decide) {
    constexpr weir_request kOne = WEIR_REQUEST_INIT;
    if (worker == nullptr) {
        return WEIR_INVALID;
    }
    if (worker->worker.forked()) {
        return WEIR_FORKED;
    }
    const weir_request& asked = request == nullptr ? kOne : *request;
    const bool known = asked.mode >= WEIR_CHARGE && asked.mode <= WEIR_CHARGE_WITHOUT_JUDGING;
    if (asked.size < kFirstRequest || !known || !sensible) {
        worker->worker.counts().failed.add(1);
        return WEIR_INVALID;
    }
    const std::int32_t code = guarded(nullptr, [&] {
        decide(worker->worker, asked);
        return WEIR_OK;
    });
    if (code != WEIR_OK) {
        worker->worker.counts().failed.add(1);
    }
    return code;
}

template <class Function>
std::int32_t give_back(weir_worker* worker, weir_charge* charge, Function function) noexcept {
    if (worker == nullptr || charge == nullptr) {
        return WEIR_INVALID;
    }
    if (worker->worker.forked()) {
        return WEIR_FORKED;
    }
    return guarded(nullptr, [&] { return function(worker->worker) ? WEIR_OK : WEIR_INVALID; });
}

}  // namespace
}  // namespace weir::embed

namespace embed = weir::embed;

int32_t weir_check(weir_worker* worker, const char* name, size_t length,
                   const weir_request* request, weir_decision* decision) noexcept {
    if (decision == nullptr || decision->size < embed::kFirstDecision) {
        return WEIR_INVALID;
    }
    weir_decision made = embed::open_decision();
    const std::int32_t code =
        name == nullptr
            ? WEIR_INVALID
            : embed::decide_by(worker, request, true,
                               [&](embed::EmbeddedWorker& one, const weir_request& asked) {
                                   one.check({name, length}, asked, made);
                               });
    embed::write(code == WEIR_OK ? made : embed::open_decision(), decision);
    return code;
}

int32_t weir_check_many(weir_worker* worker, const weir_name_list* lists, size_t count,
                        const weir_request* request, weir_decision* decision) noexcept {
    if (decision == nullptr || decision->size < embed::kFirstDecision) {
        return WEIR_INVALID;
    }
    weir_decision made = embed::open_decision();
    const std::int32_t code =
        !embed::are_lists(lists, count)
            ? WEIR_INVALID
            : embed::decide_by(worker, request, true,
                               [&](embed::EmbeddedWorker& one, const weir_request& asked) {
                                   one.check_many({lists, count}, asked, made);
                               });
    embed::write(code == WEIR_OK ? made : embed::open_decision(), decision);
    return code;
}

int32_t weir_obtain(weir_worker* worker, const char* name, size_t length, const weir_request* each,
                    double wanted, double minimum, weir_decision* decision,
                    double* granted) noexcept {
    if (decision == nullptr || decision->size < embed::kFirstDecision || granted == nullptr) {
        return WEIR_INVALID;
    }
    const bool counts = wanted > 0 && std::isfinite(wanted);
    const bool sensible = counts && minimum >= 0 && minimum <= wanted;
    weir_decision made = embed::open_decision();
    double taken = 0;
    const std::int32_t code =
        name == nullptr
            ? WEIR_INVALID
            : embed::decide_by(worker, each, sensible,
                               [&](embed::EmbeddedWorker& one, const weir_request& asked) {
                                   taken = one.obtain({name, length}, asked, wanted, minimum, made);
                               });
    embed::write(code == WEIR_OK ? made : embed::open_decision(), decision);
    *granted = code == WEIR_OK ? taken : counts ? wanted : 0;
    return code;
}

int32_t weir_return(weir_worker* worker, weir_charge* charge, double unused) noexcept {
    if (!(unused >= 0)) {
        return WEIR_INVALID;
    }
    return embed::give_back(
        worker, charge, [&](embed::EmbeddedWorker& one) { return one.give_back(*charge, unused); });
}

int32_t weir_finish(weir_worker* worker, weir_charge* charge) noexcept {
    return embed::give_back(worker, charge,
                            [&](embed::EmbeddedWorker& one) { return one.finish(*charge); });
}

int32_t weir_refund(weir_worker* worker, weir_charge* charge) noexcept {
    return embed::give_back(worker, charge,
                            [&](embed::EmbeddedWorker& one) { return one.refund(*charge); });
}

int32_t weir_correct(weir_worker* worker, weir_charge* charge, int32_t unit, double actual,
                     int32_t last) noexcept {
    if (unit < WEIR_REQUESTS || unit > WEIR_COST) {
        return WEIR_INVALID;
    }
    return embed::give_back(worker, charge, [&](embed::EmbeddedWorker& one) {
        return one.correct(*charge, static_cast<weir::limiter::Unit>(unit), actual, last != 0);
    });
}

void weir_worker_close(weir_worker* worker) noexcept {
    if (worker == nullptr || worker->worker.forked()) {
        return;
    }
    static_cast<void>(embed::guarded(nullptr, [&] {
        worker->fleet.close_worker(worker);
        return WEIR_OK;
    }));
}
