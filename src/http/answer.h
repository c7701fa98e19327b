#pragma once
// Responses that weir writes itself: refusals of the limiter, rejections and errors. Each function
// appends a whole response to a text that the caller owns and reuses. Names and texts that come
// from requests or definitions are escaped for the place where they appear. Pure functions,
// thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/random.h"
#include "http/rejection.h"

namespace weir::http {

/// What every answer depends on.
struct AnswerContext {
    bool head_request = false;  ///< the answer has no body, but the fields of one
    bool keep_alive = true;     ///< false: the answer says Connection: close
    unsigned client_minor_version = 1;
    std::string_view accept{};      ///< the request's Accept field
    std::string_view date{};        ///< value of Date, an IMF-fixdate; empty: no Date
    std::string_view request_id{};  ///< a valid X-Request-Id (request_id.h); empty: no such field
};

/// What a limit counts, as the parameter "qu" of the RateLimit fields names it.
/// concurrent_requests: it bounds how many are in flight at once, so that it has no period, and
/// nobody knows when it will have room.
enum class QuotaUnit : std::uint8_t { requests, content_bytes, cost, concurrent_requests };

/// The limit that an answer describes. All figures come from one decision.
struct LimitView {
    std::string_view quota{};  ///< the quota's name as clients see it
    QuotaUnit unit = QuotaUnit::requests;
    double amount = 0;  ///< per period
    Duration period = std::chrono::seconds(1);
    double remaining = 0;
    Duration reset{};  ///< until the level is back at the `low` border
    /// The wall clock, as time since 1970, when the decision was made. It decides how `reset` is
    /// rounded, see reset_seconds().
    Duration wall_clock{};
};

/// The whole seconds that clients are told for `reset`: from the second in which they are told to
/// the one at whose beginning it has passed. So their sum with the second in which they are told is
/// the same however often a client asks, which it is not if `reset` is rounded by itself. At most a
/// second more than `reset` rounded up, and never less than it.
[[nodiscard]] std::uint64_t reset_seconds(const LimitView& limit);

/// Which families of fields about a limit are written.
struct HeaderSwitches {
    bool ietf = true;          ///< RateLimit-Policy and RateLimit
    bool x_ratelimit = false;  ///< X-RateLimit-Limit, -Remaining, -Reset
    bool quota = true;         ///< X-Weir-Quota
};

/// A body that the quota's definition gives, which replaces weir's own.
struct CustomBody {
    std::string_view content_type{};  ///< empty: text/plain
    std::string_view text{};
};

struct Refusal {
    /// 429 or the status that the quota's definition gives; 503 when weir refuses for reasons of
    /// its own.
    unsigned status = 429;
    /// The refusal is not caused by the client, for instance because owners cannot be heard: the
    /// text explains it in other words, and x-envoy-ratelimited is not written.
    bool own_reasons = false;
    std::optional<CustomBody> body{};
    /// A fixed sentence that gives the reason; empty: a general sentence.
    std::string_view detail{};
    /// Nothing when clients may not learn of the limit (hidden quotas, a 503 without quota); then
    /// the answer contains no quota's name.
    std::optional<LimitView> limit{};
    Duration retry_after{};  ///< before jitter
    HeaderSwitches headers{};
};

/// The value of Retry-After: whole seconds, rounded up, at least 1. A random part of up to a
/// quarter (of short times, up to one second, and of long ones up to a minute) is added so that
/// clients do not all come back at once.
[[nodiscard]] std::uint64_t retry_after_seconds(Duration retry_after, Random& random);

void append_refusal(std::string& out, const Refusal& refusal, const AnswerContext& context,
                    Random& random);

/// An error that weir reports itself. `status` is from 400 to 599; `detail` is a fixed sentence. A
/// 405 has the field Allow.
void append_error(std::string& out, unsigned status, std::string_view detail,
                  const AnswerContext& context);
/// The answer to a rejected head or body. It always says Connection: close, whatever the context
/// says.
void append_rejection(std::string& out, Rejection rejection, const AnswerContext& context);

/// Appends the field lines about a limit. They belong into a refusal or, by way of ForwardedHead's
/// `extra`, into the response to an admitted request.
void append_limit_fields(std::string& out, const LimitView& limit, const HeaderSwitches& headers);

[[nodiscard]] std::string_view reason_phrase(unsigned status);

}  // namespace weir::http
