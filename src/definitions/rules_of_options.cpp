#include "definitions/rules_of_options.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include "base/characters.h"
#include "definitions/fields.h"

namespace weir::definitions {
namespace {

using limiter::IsolationMode;
using limiter::kMaxContentType;
using limiter::kMaxFieldName;
using limiter::kMaxRefusalBody;
using limiter::Mode;
using limiter::RateLimit;
using limiter::RefusalForm;
using limiter::Scope;

bool is_visible(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

void check_share(const limiter::QuotaDefinition& definition, const Complain& complain) {
    if (!(definition.enforced_share >= 0 && definition.enforced_share <= 1)) {
        complain("enforce", "must be from 0% to 100%", "");
    } else if (definition.enforced_share < 1 && definition.mode != Mode::enforce) {
        complain("enforce", "a share needs 'mode: enforce'",
                 "leave out the share or set the mode to enforce");
    }
    const std::string& field = definition.options->enforced_by;
    if (!field.empty() && (!is_token(field) || field.size() > kMaxFieldName)) {
        complain("enforce_by",
                 "must be header: and the name of a request field, of at most " +
                     std::to_string(kMaxFieldName) + " letters, digits and -",
                 "such as header:X-Tenant");
    }
}

void check_refusal(const RefusalForm& refusal, const Complain& complain) {
    if (refusal.status != 0 && (refusal.status < 400 || refusal.status > 599)) {
        complain("refusal.status", "must be from 400 to 599", "429 and 503 are usual");
    }
    if (refusal.content_type.size() > kMaxContentType || !is_visible(refusal.content_type)) {
        complain("refusal.content_type",
                 "must have at most " + std::to_string(kMaxContentType) + " visible characters",
                 "such as application/json");
    } else if (!refusal.content_type.empty() && !refusal.body) {
        complain("refusal.content_type", "needs a 'body'", "give one or leave out the type");
    }
    if (refusal.body && refusal.body->size() > kMaxRefusalBody) {
        complain("refusal.body",
                 "has " + std::to_string(refusal.body->size()) + " bytes, longer than " +
                     std::to_string(kMaxRefusalBody) + " bytes",
                 "link to a page with the whole text");
    }
}

void check_safe(const limiter::QuotaDefinition& definition, const Complain& complain) {
    constexpr double kMost = 1e15;
    for (std::size_t i = 0; i < definition.limits.size(); ++i) {
        const RateLimit& limit = definition.limits[i];
        if (!limit.safe || limit.is_concurrency()) {
            continue;
        }
        const std::string field = "limits[" + std::to_string(i) + "].safe";
        if (!(*limit.safe >= 0 && *limit.safe <= kMost)) {
            complain(field, "must be from 0 to 1e15 a second", "");
        } else if (definition.when_isolated != IsolationMode::safe) {
            complain(field, "needs 'when_isolated: safe'",
                     "leave out safe or set when_isolated to it");
        } else if (limit.scope != Scope::fleet) {
            complain(field, "a limit of one sidecar is never isolated", "leave out safe");
        }
    }
}

/// A limit of requests in flight has a whole number and nothing of what belongs to a rate.
void check_concurrency(const RateLimit& limit, const std::string& place, const Complain& complain) {
    const double amount = limit.amount;
    if (!(amount >= 0 && amount <= limiter::kMostInFlight) || amount != std::floor(amount)) {
        complain(place + ".concurrency", "must be a whole number from 0 to 10000000",
                 "such as 64; 0 refuses everything");
    }
    if (limit.period != Duration::zero()) {
        complain(place + ".concurrency", "has no time: it counts the requests in flight now",
                 "such as 64; for requests per time, say 'rate'");
    }
    for (const LimitField& field : limit_fields()) {
        if (!is_set(field, limit) || fits(field, limit.kind)) {
            continue;
        }
        const bool unit = std::holds_alternative<UnitValue>(field.value);
        complain(place + "." + std::string(field.key),
                 unit ? "'concurrency' counts requests and nothing else"
                      : "belongs to a rate, and means nothing with 'concurrency'",
                 unit ? "leave it out, or limit that with a 'rate'"
                      : "leave it out, or give it to a limit with a 'rate'");
    }
}

void check_concurrency(const limiter::QuotaDefinition& definition, const Complain& complain) {
    for (std::size_t i = 0; i < definition.limits.size(); ++i) {
        if (definition.limits[i].is_concurrency()) {
            check_concurrency(definition.limits[i], "limits[" + std::to_string(i) + "]", complain);
        }
    }
}

void check_hold(const limiter::QuotaDefinition& definition, const Complain& complain) {
    const auto& hold = definition.options->hold;
    if (hold && (*hold < Duration::zero() || *hold > limiter::kLongestHold)) {
        complain("hold", "must be from 0s to 1h", "10s is usual; with 0s nothing is held");
    }
}

void check_wait(const limiter::QuotaDefinition& definition, const Complain& complain) {
    const limiter::WaitForm& wait = definition.options->wait;
    if (wait.longest && definition.limits.empty()) {
        complain("wait", "a quota without limits refuses nothing, so nobody waits for it",
                 "give it a limit or leave it out");
    }
    if (wait.longest &&
        (*wait.longest < limiter::kShortestWait || *wait.longest > limiter::kLongestWait)) {
        complain("wait.longest", "must be from 1ms to 1m", "2s is what most clients wait for");
    }
    if (wait.queue > limiter::kMaxWaiting) {
        complain("wait.queue", "must be from 1 to 50000", "1000 is usual");
    } else if (wait.queue > 0 && !wait.longest) {
        complain("wait.queue", "needs 'longest'", "say how long a request may wait, such as 2s");
    }
}

void check_fair(const limiter::QuotaDefinition& definition, const Complain& complain) {
    const double share = definition.options->share;
    if (!(share >= limiter::kLeastShare && share <= limiter::kMostShare)) {
        complain("share", "must be from 0.01 to 10000", "siblings without one have 1");
    }
    if (definition.options->fair.value_or(false) && definition.limits.empty()) {
        complain("fair", "a quota without limits refuses nothing",
                 "give it a limit or leave it out");
    }
}

}  // namespace

void check_options(const limiter::QuotaDefinition& definition, const Complain& complain) {
    check_share(definition, complain);
    check_safe(definition, complain);
    check_concurrency(definition, complain);
    check_hold(definition, complain);
    check_fair(definition, complain);
    check_refusal(definition.options->refusal, complain);
    check_wait(definition, complain);
}

}  // namespace weir::definitions
