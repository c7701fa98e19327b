#pragma once
// Answers that weir gives by itself: refusals of the limiter and errors. Each is a whole response
// appended to a text that the caller keeps and reuses. Names and texts from outside are escaped for
// the place where they appear. Pure functions, thread-safe.

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
    bool head_request = false;  ///< no body, but the fields that it would have
    bool keep_alive = true;     ///< else Connection: close
    unsigned client_minor_version = 1;
    std::string_view accept{};      ///< the request's Accept
    std::string_view date{};        ///< an IMF-fixdate for Date; empty: none
    std::string_view request_id{};  ///< X-Request-Id of the answer; empty: none
};

/// What is counted, named as in the RateLimit fields' "qu".
enum class QuotaUnit : std::uint8_t { requests, content_bytes, cost };

/// The limit that an answer tells of; all from one decision.
struct LimitView {
    std::string_view quota{};  ///< as named to clients
    QuotaUnit unit = QuotaUnit::requests;
    double amount = 0;  ///< per period
    Duration period = std::chrono::seconds(1);
    double remaining = 0;
    Duration reset{};  ///< until the quota is whole again
};

struct HeaderSwitches {
    bool ietf = true;          ///< RateLimit-Policy and RateLimit
    bool x_ratelimit = false;  ///< X-RateLimit-Limit, -Remaining, -Reset
    bool quota = true;         ///< X-Weir-Quota
};

/// A body that the quota asks for instead of ours.
struct CustomBody {
    std::string_view content_type{};  ///< empty: plain text
    std::string_view text{};
};

struct Refusal {
    /// 429, or what the quota says; 503 when weir refuses for reasons of its own.
    unsigned status = 429;
    /// Not the client's doing: another explanation, and no x-envoy-ratelimited.
    bool own_reasons = false;
    std::optional<CustomBody> body{};
    /// Of own reasons: a fixed sentence that says why; empty: a general one.
    std::string_view detail{};
    /// Nothing when no limit is to be told of (hidden quotas, 503 without quota): then no name
    /// appears anywhere in the answer.
    std::optional<LimitView> limit{};
    Duration retry_after{};  ///< before jitter
    HeaderSwitches headers{};
};

/// Retry-After in whole seconds, rounded up, at least 1, with up to a quarter (at least a chance
/// of one second) on top so that clients do not come back in step.
[[nodiscard]] std::uint64_t retry_after_seconds(Duration retry_after, Random& random);

void append_refusal(std::string& out, const Refusal& refusal, const AnswerContext& context,
                    Random& random);

/// An error of ours: `status` one of 400 to 599; `detail` a fixed sentence (escaped nevertheless).
/// 405 carries Allow.
void append_error(std::string& out, unsigned status, std::string_view detail,
                  const AnswerContext& context);
/// The answer to a rejected head or body; Connection: close whatever the context says.
void append_rejection(std::string& out, Rejection rejection, const AnswerContext& context);

/// "HTTP/1.1 100 Continue" and an empty line.
[[nodiscard]] std::string_view continue_response();

/// The field lines about a limit, for admitted requests or refusals (ForwardedHead's `extra`).
void append_limit_fields(std::string& out, const LimitView& limit, const HeaderSwitches& headers);

[[nodiscard]] std::string_view reason_phrase(unsigned status);

}  // namespace weir::http
