#include "http/answer.h"

#include <algorithm>
#include <cmath>

#include "base/characters.h"
#include "http/answer_text.h"
#include "http/element_list.h"
#include "http/fields.h"

namespace weir::http {
namespace {

constexpr std::size_t kMaxShownName = 256;
constexpr double kMaxStructuredInteger = 999'999'999'999'999;  // RFC 9651, 3.3.1

/// About how long the fields of a limit and a whole refusal are.
constexpr std::size_t kFieldsLength = 256;
constexpr std::size_t kRefusalLength = 1024;

std::uint64_t to_integer(double value) {
    if (!(value > 0)) {
        return 0;
    }
    return static_cast<std::uint64_t>(std::min(value, kMaxStructuredInteger));
}

/// What a name may hold when it is shown: printable ASCII, and between quotation marks the same
/// without those marks and the backslash.
constexpr CharacterSet kPrintable(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
constexpr CharacterSet kQuotable(" !#$%&'()*+,-./:;<=>?@[]^_`{|}~");

/// Appends a character that is not shown as it is: after a backslash, or as %XX.
void append_escaped(AnswerText& out, char c) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (kPrintable.contains(c)) {
        out += '\\';
        out += c;
        return;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
}

/// Appends a name for a header field. What the set holds stays, in as few pieces as possible.
void append_name(AnswerText& out, std::string_view name, const CharacterSet& shown) {
    name = name.substr(0, kMaxShownName);
    while (!name.empty()) {
        const std::size_t plain = shown.prefix_of(name);
        out += name.substr(0, plain);
        name.remove_prefix(plain);
        if (!name.empty()) {
            append_escaped(out, name.front());
            name.remove_prefix(1);
        }
    }
}

/// A name that an answer shows several times. Most names need no escaping, which is found out once.
class ShownName {
  public:
    explicit ShownName(std::string_view name)
        : name_(name), as_it_is_(name.size() <= kMaxShownName && kQuotable.contains_all(name)) {}
    /// A text of this file, which needs no escaping.
    static ShownName own(std::string_view text) { return {text, true}; }
    [[nodiscard]] bool empty() const { return name_.empty(); }
    void append_as_given(AnswerText& out) const { out += name_; }
    void append_plain(AnswerText& out) const { append(out, kPrintable); }
    /// Appends it between quotation marks, valid both as a structured string (RFC 9651, 3.3.3) and
    /// as JSON.
    void append_quoted(AnswerText& out) const {
        out += '"';
        append(out, kQuotable);
        out += '"';
    }

  private:
    ShownName(std::string_view name, bool as_it_is) : name_(name), as_it_is_(as_it_is) {}
    void append(AnswerText& out, const CharacterSet& shown) const {
        if (as_it_is_) {
            out += name_;
        } else {
            append_name(out, name_, shown);
        }
    }

    std::string_view name_;
    bool as_it_is_;
};

std::string_view unit_name(QuotaUnit unit) {
    switch (unit) {
        case QuotaUnit::content_bytes:
            return "content-bytes";
        case QuotaUnit::cost:
            return "cost";
        case QuotaUnit::concurrent_requests:
            return "concurrent-requests";
        case QuotaUnit::requests:
            break;
    }
    return "requests";
}

bool has_period(const LimitView& limit) { return limit.unit != QuotaUnit::concurrent_requests; }

struct Policy {
    std::uint64_t quota;
    std::uint64_t window;  // seconds
};

/// The amount and the period in whole numbers, because the fields have no others: half a request a
/// second is written as one in two seconds, a hundred in 100 ms as a thousand a second.
Policy whole_policy(const LimitView& limit) {
    if (!has_period(limit)) {
        return {to_integer(limit.amount), 0};
    }
    const double period = std::max(to_seconds(limit.period), 1e-9);
    if (!(limit.amount > 0)) {
        return {0, to_integer(std::max(1.0, std::round(period)))};
    }
    if (limit.amount < 1) {
        return {1, to_integer(std::max(1.0, std::round(period / limit.amount)))};
    }
    if (period < 1) {
        return {to_integer(limit.amount / period), 1};
    }
    return {to_integer(limit.amount), to_integer(std::round(period))};
}

/// Rounded up, in whole numbers: as a fraction a second is not exact, and 15 s would become 16.
std::uint64_t whole_seconds(Duration duration) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, seconds));
}

void append_ietf(AnswerText& out, const LimitView& limit, const ShownName& quota) {
    const auto policy = whole_policy(limit);
    out += "RateLimit-Policy: ";
    quota.append_quoted(out);
    out += ";q=";
    out += policy.quota;
    if (limit.unit != QuotaUnit::requests) {
        out += ";qu=\"";
        out += unit_name(limit.unit);
        out += '"';
    }
    if (has_period(limit)) {
        out += ";w=";
        out += policy.window;
    }
    out += "\r\nRateLimit: ";
    quota.append_quoted(out);
    out += ";r=";
    out += to_integer(limit.remaining);
    if (has_period(limit)) {
        out += ";t=";
        out += reset_seconds(limit);
    }
    out += "\r\n";
}

void append_x_ratelimit(AnswerText& out, const LimitView& limit) {
    out += "X-RateLimit-Limit: ";
    out += whole_policy(limit).quota;
    out += "\r\nX-RateLimit-Remaining: ";
    out += to_integer(limit.remaining);
    if (has_period(limit)) {
        out += "\r\nX-RateLimit-Reset: ";
        out += reset_seconds(limit);
    }
    out += "\r\n";
}

void append_families(AnswerText& out, const LimitView& limit, const ShownName& quota,
                     const HeaderSwitches& headers) {
    if (headers.ietf) {
        append_ietf(out, limit, quota);
    }
    if (headers.x_ratelimit) {
        append_x_ratelimit(out, limit);
    }
}

/// The quality value in thousandths (RFC 9110, 12.4.2); 0 if it is malformed.
int quality_of(std::string_view parameters) {
    const auto at = parameters.find("q=");
    if (at == std::string_view::npos) {
        return 1000;
    }
    const auto text = trim(parameters.substr(at + 2));
    if (text.empty() || (text[0] != '0' && text[0] != '1')) {
        return 0;
    }
    int quality = text[0] == '1' ? 1000 : 0;
    int unit = 100;
    for (std::size_t i = 2; i < text.size() && i < 5 && is_digit(text[i]); ++i, unit /= 10) {
        quality += (text[i] - '0') * unit;
    }
    return std::min(quality, 1000);
}

/// Whether the client names plain text and ranks it above JSON.
bool prefers_plain_text(std::string_view accept) {
    if (accept.empty() || accept == "*/*") {
        return false;
    }
    int plain = 0;
    int json = 0;
    for_each_element(accept, [&](std::string_view range) {
        const auto semicolon = range.find(';');
        const auto type = trim(range.substr(0, semicolon));
        const int quality =
            semicolon == std::string_view::npos ? 1000 : quality_of(range.substr(semicolon + 1));
        if (equals_ignoring_case(type, "text/plain") || equals_ignoring_case(type, "text/*")) {
            plain = std::max(plain, quality);
        } else if (equals_ignoring_case(type, "application/problem+json") ||
                   equals_ignoring_case(type, "application/json") ||
                   equals_ignoring_case(type, "application/*") ||
                   equals_ignoring_case(type, "*/*")) {
            json = std::max(json, quality);
        }
    });
    return plain > json;
}

/// What a refusal or an error says. Type and title are this file's own and need no escaping.
struct ProblemBody {
    unsigned status;
    std::string_view type;
    std::string_view title;
    ShownName detail;
    ShownName quota;  // empty: the answer names no quota
};

void append_problem_json(AnswerText& out, const ProblemBody& problem) {
    out += R"({"type":")";
    out += problem.type;
    out += R"(","title":")";
    out += problem.title;
    out += R"(","status":)";
    out += std::uint64_t{problem.status};
    out += R"(,"detail":)";
    problem.detail.append_quoted(out);
    if (!problem.quota.empty()) {
        out += R"(,"violated-policies":[)";
        problem.quota.append_quoted(out);
        out += ']';
    }
    out += "}\n";
}

void append_problem_text(AnswerText& out, const ProblemBody& problem) {
    problem.detail.append_as_given(out);
    if (!problem.quota.empty()) {
        out += " Quota: ";
        problem.quota.append_plain(out);
    }
    out += '\n';
}

ShownName detail_of(const Refusal& refusal, std::string_view usual) {
    return refusal.detail.empty() ? ShownName::own(usual) : ShownName(refusal.detail);
}

void begin_answer(AnswerText& out, unsigned status, const AnswerContext& context) {
    out += "HTTP/1.1 ";
    out += std::uint64_t{status};
    out += ' ';
    out += reason_phrase(status);
    out += "\r\n";
    const auto field = [&out](std::string_view name, std::string_view value) {
        if (value.empty()) {
            return;
        }
        out += name;
        out += value;
        out += "\r\n";
    };
    field("Date: ", context.date);
    field("X-Request-Id: ", context.request_id);
    if (!context.keep_alive) {
        out += "Connection: close\r\n";
    } else if (context.client_minor_version == 0) {
        out += "Connection: keep-alive\r\n";
    }
}

ShownName plain_text() { return ShownName::own("text/plain; charset=utf-8"); }

/// Appends the fields about the body, the empty line and the body.
template <class AppendBody>
void finish_answer(AnswerText& out, const ShownName& content_type, const AnswerContext& context,
                   AppendBody append_body) {
    out += "Content-Type: ";
    content_type.append_plain(out);
    out += "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nContent-Length: ";
    const std::size_t place = out.size();
    out += "\r\n\r\n";
    const std::size_t body = out.size();
    append_body();
    const std::size_t length = out.size() - body;
    if (context.head_request) {
        out.cut(body);
    }
    out.insert(place, length);
}

void finish_answer(AnswerText& out, const ProblemBody& problem, const AnswerContext& context) {
    const bool plain = prefers_plain_text(context.accept);
    finish_answer(
        out, plain ? plain_text() : ShownName::own("application/problem+json"), context,
        [&] { plain ? append_problem_text(out, problem) : append_problem_json(out, problem); });
}

}  // namespace

std::string_view reason_phrase(unsigned status) {
    switch (status) {
        case 400:
            return "Bad Request";
        case 402:
            return "Payment Required";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 417:
            return "Expectation Failed";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Error";
    }
}

std::uint64_t reset_seconds(const LimitView& limit) {
    if (limit.reset <= Duration::zero()) {
        return 0;
    }
    const auto second = std::chrono::floor<std::chrono::seconds>(limit.wall_clock);
    return whole_seconds(limit.wall_clock - second + limit.reset);
}

std::uint64_t retry_after_seconds(Duration retry_after, Random& random) {
    const auto base = std::max<std::uint64_t>(1, whole_seconds(retry_after));
    constexpr std::uint64_t kMostSpread = 60;  // the window of a month must not be missed by a week
    const std::uint64_t spread = std::clamp<std::uint64_t>(base / 4, 1, kMostSpread);
    return base + random.below(spread + 1);
}

void append_limit_fields(std::string& out, const LimitView& limit, const HeaderSwitches& headers) {
    if (!headers.ietf && !headers.x_ratelimit) {
        return;  // no room is made for nothing
    }
    AnswerText text(out, kFieldsLength);
    append_families(text, limit, ShownName(limit.quota), headers);
}

void append_refusal(std::string& to, const Refusal& refusal, const AnswerContext& context,
                    Random& random) {
    AnswerText out(to, kRefusalLength);
    begin_answer(out, refusal.status, context);
    out += "Retry-After: ";
    out += retry_after_seconds(refusal.retry_after, random);
    out += "\r\n";
    const bool over_quota = !refusal.own_reasons;
    if (over_quota) {
        out += "x-envoy-ratelimited: true\r\n";
    }
    const ShownName quota(refusal.limit ? refusal.limit->quota : std::string_view());
    if (refusal.limit) {
        append_families(out, *refusal.limit, quota, refusal.headers);
        if (refusal.headers.quota) {
            out += "X-Weir-Quota: ";
            quota.append_plain(out);
            out += "\r\n";
        }
    }
    if (refusal.body) {
        const auto& body = *refusal.body;
        finish_answer(out, body.content_type.empty() ? plain_text() : ShownName(body.content_type),
                      context, [&] { out += body.text; });
        return;
    }
    const ProblemBody problem =
        over_quota
            ? ProblemBody{refusal.status,
                          "https://iana.org/assignments/http-problem-types#quota-exceeded",
                          "Request cannot be satisfied as assigned quota has been exceeded",
                          detail_of(refusal,
                                    "Too many requests for now; Retry-After tells when to come "
                                    "back."),
                          quota}
            : ProblemBody{
                  refusal.status,
                  "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
                  "Request cannot be satisfied due to temporary server capacity constraints",
                  detail_of(refusal,
                            "The limiter cannot admit this request now; this is not the client's "
                            "doing."),
                  quota};
    finish_answer(out, problem, context);
}

void append_error(std::string& to, unsigned status, std::string_view detail,
                  const AnswerContext& context) {
    AnswerText out(to, kRefusalLength);
    begin_answer(out, status, context);
    if (status == 405) {
        out += "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";
    }
    finish_answer(out,
                  {status, "about:blank", reason_phrase(status), ShownName(detail), ShownName({})},
                  context);
}

void append_rejection(std::string& out, Rejection rejection, const AnswerContext& context) {
    AnswerContext closing = context;
    closing.keep_alive = false;
    append_error(out, status_of(rejection), explanation(rejection), closing);
}

}  // namespace weir::http
