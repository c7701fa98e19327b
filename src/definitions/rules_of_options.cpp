#include "definitions/rules_of_options.h"

#include <algorithm>
#include <string_view>

#include "base/characters.h"

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
        if (!limit.safe || !limit.is_rate()) {
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
    check_hold(definition, complain);
    check_fair(definition, complain);
    check_refusal(definition.options->refusal, complain);
    check_wait(definition, complain);
}

}  // namespace weir::definitions
