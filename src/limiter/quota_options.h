#pragma once
// Options that only few quotas have: how their refusals look, by which key a partly enforced quota
// chooses requests, and how long it keeps the shares of sidecars that cannot be heard. Plain
// values, kept apart from QuotaDefinition so that a million definitions without them stay small. As
// thread-safe as any value: the options that SharedOptions points to never change.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/instant.h"

namespace weir::limiter {

/// The families of rate limit fields that an answer carries. Both may be off.
struct HeaderForms {
    bool ietf = true;
    bool x_ratelimit = false;
    friend bool operator==(const HeaderForms&, const HeaderForms&) = default;
};

/// The answer to a request that this quota refused, where it differs from the usual one.
struct RefusalForm {
    std::uint16_t status = 0;           // 0 = 429
    std::string content_type{};         // empty = text/plain; only with a body
    std::optional<std::string> body{};  // nothing = problem+json or a line of text
    friend bool operator==(const RefusalForm&, const RefusalForm&) = default;
};

/// What a request does that this quota refuses because its limit is reached: it waits for its turn,
/// behind those that wait already.
struct WaitForm {
    std::optional<Duration> longest{};  // nothing = no request waits
    std::uint32_t queue = 0;            // how many may wait in one sidecar; 0 = kDefaultQueue
    [[nodiscard]] std::uint32_t most() const { return queue == 0 ? kDefaultQueue : queue; }
    static constexpr std::uint32_t kDefaultQueue = 1000;
    friend bool operator==(const WaitForm&, const WaitForm&) = default;
};

/// The options of one quota.
struct QuotaOptions {
    /// The request field whose value is the key of enforced_share; empty = the key is the leaf's
    /// name.
    std::string enforced_by{};
    std::optional<HeaderForms> headers{};  // nothing = as the sidecar's settings say
    RefusalForm refusal{};
    /// How long IsolationMode holds (cluster.hold); nothing = as the sidecar's settings say.
    std::optional<Duration> hold{};
    WaitForm wait{};
    /// Whether the quota sheds fairly: a child that asks for less than its share of the limit loses
    /// nothing to those that ask for more. Nothing = if there are templates below it.
    std::optional<bool> fair{};
    /// Of a fair parent: the quota's share, relative to those of its siblings.
    double share = 1;
    /// How many limits were left out because only a later version of weir knows their kind. Only
    /// definitions of peers have such limits; they are not held here, which people are told.
    std::uint8_t limits_of_later_version = 0;
    friend bool operator==(const QuotaOptions&, const QuotaOptions&) = default;
};

/// The options of a definition, shared by all its copies. It is as large as a pointer, and default
/// options allocate nothing. Two are equal when their values are.
class SharedOptions {
  public:
    SharedOptions() = default;
    SharedOptions(QuotaOptions options) {  // NOLINT: meant to convert
        if (options != QuotaOptions{}) {
            value_ = std::make_shared<const QuotaOptions>(std::move(options));
        }
    }
    [[nodiscard]] const QuotaOptions& operator*() const { return value_ ? *value_ : none(); }
    [[nodiscard]] const QuotaOptions* operator->() const { return &**this; }
    friend bool operator==(const SharedOptions& left, const SharedOptions& right) {
        return left.value_ == right.value_ || *left == *right;
    }

  private:
    static const QuotaOptions& none() {
        static const QuotaOptions options;
        return options;
    }

    std::shared_ptr<const QuotaOptions> value_;
};

}  // namespace weir::limiter
