#include "embed/worker.h"

#include <algorithm>

#include "base/instant.h"
#include "embed/fork_count.h"
#include "embed/sealed_charge.h"
#include "net/clock.h"

namespace weir::embed {
namespace {

limiter::CheckMode to_mode(std::int32_t mode) {
    switch (mode) {
        case WEIR_PEEK:
            return limiter::CheckMode::peek;
        case WEIR_CHARGE_WITHOUT_JUDGING:
            return limiter::CheckMode::charge_without_judging;
        default:
            return limiter::CheckMode::charge;
    }
}

std::uint8_t to_reason(limiter::Reason reason) {
    switch (reason) {
        case limiter::Reason::none:
            return WEIR_REASON_NONE;
        case limiter::Reason::no_quota:
            return WEIR_REASON_NO_QUOTA;
        case limiter::Reason::zero:
            return WEIR_REASON_ZERO;
        case limiter::Reason::isolated:
            return WEIR_REASON_ISOLATED;
        case limiter::Reason::too_much:
            return WEIR_REASON_TOO_MUCH;
        case limiter::Reason::above_share:
            return WEIR_REASON_ABOVE_SHARE;
        case limiter::Reason::limit:
            break;
    }
    return WEIR_REASON_LIMIT;
}

limiter::Weights weights_of(const weir_request& request) {
    return {
        .requests = request.requests, .request_bytes = request.request_bytes, .cost = request.cost};
}

/// The program gives only one value, which counts as the value of every field.
class GivenKey final : public limiter::RequestFields {
  public:
    explicit GivenKey(const weir_request& request)
        : key_(request.key == nullptr ? std::string_view()
                                      : std::string_view(request.key, request.key_length)) {}
    [[nodiscard]] std::string_view value(std::string_view /*field*/) const override { return key_; }

  private:
    std::string_view key_;
};

/// The names of a list of a caller.
class NamesOf {
  public:
    explicit NamesOf(const weir_name_list& list) : names_(list.names, list.count) {}
    [[nodiscard]] std::size_t size() const { return names_.size(); }
    [[nodiscard]] std::string_view operator[](std::size_t i) const {
        return {names_[i].text, names_[i].length};
    }

  private:
    std::span<const weir_name> names_;
};

}  // namespace

EmbeddedWorker::EmbeddedWorker(limiter::Limiter& limiter, limiter::ThreadContext& context,
                               std::uint32_t fork, std::uint64_t tag)
    : limiter_(limiter), context_(context), fork_(fork), tag_(tag) {}

bool EmbeddedWorker::forked() const { return ForkCount::now() != fork_; }

void EmbeddedWorker::check(std::string_view name, const weir_request& request,
                           weir_decision& decision) {
    const Instant now = net::now();
    const limiter::LeafId leaf = limiter_.find(context_, name, now);
    const GivenKey key(request);
    show(limiter_.check(context_, leaf, weights_of(request), now, to_mode(request.mode), &key),
         decision);
}

void EmbeddedWorker::check_many(std::span<const weir_name_list> lists, const weir_request& request,
                                weir_decision& decision) {
    const Instant now = net::now();
    limiter::Leaves leaves;
    for (const weir_name_list& list : lists) {
        if (const NamesOf names(list); names.size() > 0) {
            limiter_.find_first(context_, limiter_.ask(context_, names[0]), names, now, leaves);
        }
    }
    const GivenKey key(request);
    show(limiter_.check(context_, leaves, weights_of(request), now, to_mode(request.mode), &key),
         decision);
}

double EmbeddedWorker::obtain(std::string_view name, const weir_request& each, double wanted,
                              double minimum, weir_decision& decision) {
    const Instant now = net::now();
    const limiter::LeafId leaf = limiter_.find(context_, name, now);
    const GivenKey key(each);
    const limiter::Grant grant = limiter_.obtain(
        context_, leaf, {wanted, minimum, weights_of(each)}, now, to_mode(each.mode), &key);
    show(grant.decision, decision);
    return grant.granted;
}

void EmbeddedWorker::show(const limiter::Decision& made, weir_decision& decision) {
    decision.admitted = made.admitted ? 1 : 0;
    decision.shadow_refused = made.shadow_refused ? 1 : 0;
    decision.hidden = made.hide_headers ? 1 : 0;
    decision.reason = to_reason(made.reason);
    decision.unit = static_cast<std::int32_t>(made.unit);
    decision.amount = made.amount;
    decision.period_seconds = to_seconds(made.period);
    decision.remaining = made.remaining;
    decision.reset_seconds = to_seconds(made.reset);
    decision.retry_after_seconds = std::max(1.0, to_seconds(made.retry_after));
    decision.discard_probability = made.discard_probability;
    decision.charge = seal(made.charge, tag_);
    decision.wait_seconds = to_seconds(made.wait);
    show_quota(made, decision);
    // From now on the limiter may reuse what this check has read; everything needed has been
    // copied.
    limiter_.quiescent(context_);
    count(decision);
}

void EmbeddedWorker::show_quota(const limiter::Decision& from, weir_decision& to) {
    const std::string_view name = from.quota.empty() ? limiter_.quota_name(from) : from.quota;
    const std::size_t length = std::min(name.size(), quota_.size() - 1);
    std::copy_n(name.data(), length, quota_.data());
    quota_[length] = '\0';
    to.quota = quota_.data();
    to.quota_length = static_cast<std::uint32_t>(length);
}

void EmbeddedWorker::count(const weir_decision& decision) {
    auto& counter = decision.admitted == 0                    ? counts_.refused
                    : decision.reason == WEIR_REASON_NO_QUOTA ? counts_.unlimited
                                                              : counts_.admitted;
    counter.add(1);
}

bool EmbeddedWorker::finish(weir_charge& charge) {
    limiter::Charge opened;
    if (!unseal(charge, tag_, opened)) {
        return false;
    }
    if (!opened.places.empty()) {
        limiter_.finish(context_, opened);
        limiter_.quiescent(context_);
        charge = seal(opened, tag_);
    }
    return true;
}

bool EmbeddedWorker::refund(weir_charge& charge) {
    limiter::Charge opened;
    if (!unseal(charge, tag_, opened)) {
        return false;
    }
    if (opened) {
        limiter_.refund(context_, opened, net::now());
    }
    limiter_.finish(context_, opened);
    limiter_.quiescent(context_);
    charge = {};
    return true;
}

bool EmbeddedWorker::give_back(weir_charge& charge, double units) {
    limiter::Charge opened;
    if (!unseal(charge, tag_, opened)) {
        return false;
    }
    if (opened) {
        limiter_.give_back(context_, opened, units, net::now());
        charge = seal(opened, tag_);
    }
    limiter_.quiescent(context_);
    return true;
}

bool EmbeddedWorker::correct(weir_charge& charge, limiter::Unit unit, double actual, bool last) {
    limiter::Charge opened;
    if (!unseal(charge, tag_, opened)) {
        return false;
    }
    if (opened) {
        limiter_.correct(context_, opened, unit, actual, net::now(), last);
        charge = seal(opened, tag_);
    }
    limiter_.quiescent(context_);
    return true;
}

}  // namespace weir::embed
