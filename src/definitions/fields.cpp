#include "definitions/fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"

namespace weir::definitions {
namespace {

using limiter::BurstSpec;
using limiter::QuotaDefinition;
using limiter::QuotaOptions;
using limiter::RateLimit;

using Count = CountValue<QuotaDefinition>;
using Text = TextValue<QuotaDefinition>;

/// The words of units in documents, which have hyphens; the limiter's own words are those of
/// metrics.
constexpr std::array<std::string_view, limiter::kUnits> kUnitWordsOfDocuments = {
    "requests", "request-bytes", "response-bytes", "cost"};
constexpr std::uint64_t kMostInstances = 16'000'000;
constexpr auto kMostConcurrency = static_cast<std::uint64_t>(limiter::kMostInFlight);
constexpr std::size_t kMostOfTimeZone = 64;  // bytes; the longest names have about half of that

// The class and the member's type of a pointer to a member.
template <class T, class Member>
T owner_of(Member T::*);
template <class T, class Member>
Member type_of(Member T::*);

/// A field that is an enumeration with the words `words`.
template <auto member>
constexpr auto word(std::span<const std::string_view> words) {
    using T = decltype(owner_of(member));
    using Enumeration = decltype(type_of(member));
    return WordValue<T>{
        words, [](const T& from) { return static_cast<std::size_t>(from.*member); },
        [](T& to, std::size_t word) { to.*member = static_cast<Enumeration>(word); }};
}

template <auto member>
constexpr Count count(std::uint64_t most) {
    using Number = decltype(type_of(member));
    return {
        1, most, [](const QuotaDefinition& from) -> std::uint64_t { return from.*member; },
        [](QuotaDefinition& to, std::uint64_t count) { to.*member = static_cast<Number>(count); }};
}

/// Changes an option. Options are shared and never change, so the definition gets new ones.
template <class Change>
void change_options(QuotaDefinition& definition, Change change) {
    QuotaOptions options = *definition.options;
    change(options);
    definition.options = std::move(options);
}

std::optional<std::string_view> unless_empty(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string_view> view(const std::optional<std::string>& text) {
    return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

// --- values that do not lie in a member of their own --------------------------------------------

constexpr Text kName{
    limiter::kMaxNameBytes, false,
    [](const QuotaDefinition& from) { return std::optional<std::string_view>(from.name); },
    [](QuotaDefinition& to, std::optional<std::string> text) {
        to.name = std::move(text).value_or("");
    }};
constexpr Text kParent{
    limiter::kMaxNameBytes, false, [](const QuotaDefinition& from) { return view(from.parent); },
    [](QuotaDefinition& to, std::optional<std::string> text) { to.parent = std::move(text); }};
constexpr ShareValue kShare{[](const QuotaDefinition& from) { return from.enforced_share; },
                            [](QuotaDefinition& to, double share) { to.enforced_share = share; }};
constexpr KeyValue kEnforcedBy{
    [](const QuotaDefinition& from) -> const std::string& { return from.options->enforced_by; },
    [](QuotaDefinition& to, std::string field) {
        change_options(to, [&](QuotaOptions& options) { options.enforced_by = std::move(field); });
    }};
constexpr DurationValue kHold{Duration::zero(), limiter::kLongestHold,
                              [](const QuotaDefinition& from) { return from.options->hold; },
                              [](QuotaDefinition& to, std::optional<Duration> time) {
                                  if (time) {
                                      *time = std::chrono::floor<std::chrono::milliseconds>(*time);
                                  }
                                  change_options(
                                      to, [&](QuotaOptions& options) { options.hold = time; });
                              }};
constexpr DurationValue kWaitLongest{
    limiter::kShortestWait, limiter::kLongestWait,
    [](const QuotaDefinition& from) { return from.options->wait.longest; },
    [](QuotaDefinition& to, std::optional<Duration> time) {
        if (time) {
            *time = std::chrono::floor<std::chrono::milliseconds>(*time);
        }
        change_options(to, [&](QuotaOptions& options) { options.wait.longest = time; });
    }};
constexpr Count kWaitQueue{
    1, limiter::kMaxWaiting,
    [](const QuotaDefinition& from) -> std::uint64_t { return from.options->wait.queue; },
    [](QuotaDefinition& to, std::uint64_t count) {
        change_options(to, [&](QuotaOptions& options) {
            options.wait.queue = static_cast<std::uint32_t>(count);
        });
    }};
constexpr FlagValue kFair{[](const QuotaDefinition& from) { return from.options->fair; },
                          [](QuotaDefinition& to, std::optional<bool> fair) {
                              change_options(to,
                                             [&](QuotaOptions& options) { options.fair = fair; });
                          }};
constexpr NumberValue kShareOfParent{
    limiter::kLeastShare, limiter::kMostShare,
    [](const QuotaDefinition& from) { return from.options->share; },
    [](QuotaDefinition& to, double share) {
        change_options(to, [&](QuotaOptions& options) { options.share = share; });
    }};
constexpr Count kStatus{
    400, 599,
    [](const QuotaDefinition& from) -> std::uint64_t { return from.options->refusal.status; },
    [](QuotaDefinition& to, std::uint64_t status) {
        change_options(to, [&](QuotaOptions& options) {
            options.refusal.status = static_cast<std::uint16_t>(status);
        });
    }};
constexpr Text kContentType{
    limiter::kMaxContentType, false,
    [](const QuotaDefinition& from) { return unless_empty(from.options->refusal.content_type); },
    [](QuotaDefinition& to, std::optional<std::string> text) {
        change_options(to, [&](QuotaOptions& options) {
            options.refusal.content_type = std::move(text).value_or("");
        });
    }};
constexpr Text kBody{
    limiter::kMaxRefusalBody, true,
    [](const QuotaDefinition& from) { return view(from.options->refusal.body); },
    [](QuotaDefinition& to, std::optional<std::string> text) {
        change_options(to, [&](QuotaOptions& options) { options.refusal.body = std::move(text); });
    }};

// clang-format off
constexpr std::array kQuotaFields = {
    QuotaField{"name", "text", "required",
        "Unique. With captures, such as `s3/{bucket}`, it is a template.",
        "", 0, kName, Shown::apart},
    QuotaField{"parent", "text", "none",
        "The quota above; its captures must be among the name's.",
        "The quota above it, or none", 0, kParent, Shown::apart},
    QuotaField{"mode", "word", "enforce",
        "`enforce`, `shadow` (decides and counts, refuses nothing) or `off`.",
        "enforce, shadow or off", 0, word<&QuotaDefinition::mode>(limiter::kModeWords), Shown::apart},
    QuotaField{"enforce", "percentage", "100%",
        "With `mode: enforce`: the share of keys for which the quota refuses.",
        "The share of keys that it refuses, like 25%", 1, kShare, Shown::apart},
    QuotaField{"enforce_by", "word", "quota",
        "What a key of `enforce` is: `quota` or `header:<name>`.",
        "What a key is: quota or header:<name>", 1, kEnforcedBy, Shown::apart},
    QuotaField{"when_isolated", "word", "safe",
        "`safe`, `optimistic` or `pessimistic`: what holds while a limit's owners cannot be heard.",
        "safe, optimistic or pessimistic", 2, word<&QuotaDefinition::when_isolated>(limiter::kIsolationModeWords)},
    QuotaField{"hold", "duration", "cluster.hold",
        "How long that holds after they fell silent, 0s to 1h.",
        "How long that holds, like 30s, or default", 6, kHold},
    QuotaField{"max_instances", "count", "none",
        "Live instances of this template, 1 to 16000000.",
        "Of a template", 0, count<&QuotaDefinition::max_instances>(kMostInstances)},
    QuotaField{"max_children", "count", "none",
        "Live children of one instance, 1 to 16000000.",
        "", 0, count<&QuotaDefinition::max_children>(kMostInstances)},
    QuotaField{"fair", "true or false", "see below",
        "Children below their share of this quota lose nothing to those above theirs.",
        "true, false or default: whether children are refused fairly", 7, kFair},
    QuotaField{"share", "number", "1",
        "The share of a fair parent that this quota has, beside its siblings, 0.01 to 10000.",
        "Its share of a fair parent, beside its siblings, like 3", 8, kShareOfParent},
    QuotaField{"headers", "word or list", "shown",
        "`hidden`, or families of fields of its answers: `ietf`, `x-ratelimit`, `none`.",
        "shown or hidden: whether refusals name it", 4, HeadersValue{}},
    QuotaField{"refusal.status", "number", "429",
        "Status of a refusal by this quota, 400 to 599.",
        "", 5, kStatus},
    QuotaField{"refusal.content_type", "text", "text/plain",
        "Type of that body.",
        "", 5, kContentType},
    QuotaField{"refusal.body", "text", "problem+json",
        "Its body, of up to 1,024 bytes; may be empty.",
        "", 5, kBody},
    QuotaField{"wait.longest", "duration", "none",
        "How long a request that it would refuse may wait for its turn, 1ms to 1m.",
        "How long requests may wait for their turn, like 2s, or default", 9, kWaitLongest},
    QuotaField{"wait.queue", "count", "1000",
        "How many requests may wait in one sidecar, 1 to 50000.",
        "How many requests may wait in one sidecar", 10, kWaitQueue},
    QuotaField{"limits", "list", "none",
        "Its limits. A quota without any refuses nothing by itself.",
        "", 0, LimitsValue{}, Shown::apart},
};

constexpr std::array kLimitFields = {
    LimitField{"rate", "rate", kOneOfThese,
        "An amount per time: `100r/s`, `30r/m`, `1500r/10s`, `5MiB/s`, `20c/s`. `0` refuses all.",
        "An amount per time, like 200r/s or 5MiB/s; 0 refuses all", 0, RateValue{}},
    LimitField{"window", "rate", kOneOfThese,
        "An amount for each window of 1m to 31d: `1000r/h`, `5000c/d`, `1GiB/w`, `100000r/month`.",
        "An amount for each window, like 1000r/h or 100000r/month, or none", 0, WindowValue{},
        Shown::options, kWindows},
    LimitField{"concurrency", "count", kOneOfThese,
        "How many requests may be in flight at once, 0 to 10000000: `64`. `0` refuses all.",
        "Requests in flight at once, like 64, or none", 0, ConcurrencyValue{kMostConcurrency},
        Shown::options, kConcurrency},
    LimitField{"of", "word", "requests",
        "What is counted: `requests`, `request-bytes`, `response-bytes`, `cost`.",
        "requests, request-bytes, response-bytes or cost", 0, UnitValue{kUnitWordsOfDocuments},
        Shown::options, kRates | kWindows},
    LimitField{"low", "burst", "see below",
        "No refusals up to this level: an amount (`50r`, `10MiB`, `20c`) or seconds of the rate (`2s`).",
        "No refusals up to here: 50r, 10MiB, 1s, or default", 0, BurstValue{&RateLimit::low}},
    LimitField{"high", "burst", "see below",
        "From this level on every request is refused.",
        "Every request is refused from here on, or default", 0, BurstValue{&RateLimit::high}},
    LimitField{"debt", "burst", "see below",
        "How far above `high` a level may go.",
        "How far above it levels may go, or default", 0, BurstValue{&RateLimit::debt}},
    LimitField{"law", "word", "adaptive",
        "How the chance of a refusal grows from `low` to `high`: `adaptive` or `linear`.",
        "linear or adaptive", 0, word<&RateLimit::law>(limiter::kLawWords)},
    LimitField{"scope", "word", "fleet",
        "`fleet`: all sidecars share it; `sidecar`: each has its own.",
        "fleet or sidecar", 0, word<&RateLimit::scope>(limiter::kScopeWords),
        Shown::options, kAllLimits},
    LimitField{"safe", "rate", "none",
        "What each sidecar admits by itself while it is isolated, with `when_isolated: safe`: `10r/s`.",
        "What an isolated sidecar admits: a rate, or default", 3, CapacityValue{&RateLimit::safe}},
    LimitField{"from", "word", "see below",
        "Where windows begin: `name`, `calendar` or `first`.",
        "Where windows begin: name, calendar or first", 11, word<&RateLimit::from>(limiter::kWindowStartWords),
        Shown::options, kWindows},
    LimitField{"timezone", "text", "UTC",
        "The time zone of windows that begin with the calendar: `Europe/Berlin`.",
        "Their time zone with the calendar, like Europe/Berlin, or default", 12, TimeZoneValue{kMostOfTimeZone},
        Shown::options, kWindows},
};
// clang-format on

}  // namespace

std::span<const QuotaField> quota_fields() { return kQuotaFields; }
std::span<const LimitField> limit_fields() { return kLimitFields; }

std::string_view group_of(std::string_view key) {
    const std::size_t dot = key.find('.');
    return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string_view member_of(std::string_view key) {
    WEIR_ASSERT(!key.empty() && key.back() != '.');
    return key.substr(key.find('.') + 1);
}

bool is_set(const QuotaField& field, const QuotaDefinition& definition) {
    static const QuotaDefinition kDefault;
    return std::visit(
        Overloaded{
            [&](const WordValue<QuotaDefinition>& value) {
                return value.get(definition) != value.get(kDefault);
            },
            [&](const Count& value) { return value.get(definition) != 0; },
            [&](const Text& value) { return value.get(definition).has_value(); },
            [&](const DurationValue& value) { return value.get(definition).has_value(); },
            [&](const ShareValue& value) { return value.get(definition) != value.get(kDefault); },
            [&](const KeyValue& value) { return !value.get(definition).empty(); },
            [&](const FlagValue& value) { return value.get(definition).has_value(); },
            [&](const NumberValue& value) { return value.get(definition) != value.get(kDefault); },
            [&](const HeadersValue&) {
                return definition.hide_headers || definition.options->headers.has_value();
            },
            [&](const LimitsValue&) { return !definition.limits.empty(); },
        },
        field.value);
}

bool is_set(const LimitField& field, const RateLimit& limit) {
    static const RateLimit kDefault;
    return std::visit(
        Overloaded{
            [&](const RateValue&) { return limit.is_rate(); },
            [&](const WindowValue&) { return limit.is_window(); },
            [&](const ConcurrencyValue&) { return limit.is_concurrency(); },
            [&](const UnitValue&) { return limit.unit != kDefault.unit; },
            [&](const BurstValue& value) { return (limit.*value.member).has_value(); },
            [&](const WordValue<RateLimit>& value) {
                // The default start of a window depends on its length.
                return value.get(limit) != value.get(limit.is_window()
                                                         ? RateLimit::in_window(0, limit.period)
                                                         : kDefault);
            },
            [&](const CapacityValue& value) { return (limit.*value.member).has_value(); },
            [&](const TimeZoneValue&) { return !limit.timezone.empty(); },
        },
        field.value);
}

bool fits(const LimitField& field, limiter::LimitKind kind) { return field.kinds.contains(kind); }

const LimitField& field_of(limiter::LimitKind kind) {
    const auto* const found = std::find_if(
        kLimitFields.begin(), kLimitFields.end(),
        [kind](const LimitField& field) { return field.one_of_these() && fits(field, kind); });
    WEIR_ASSERT(found != kLimitFields.end());
    return *found;
}

void set_headers(QuotaDefinition& definition, bool hidden,
                 std::optional<limiter::HeaderForms> forms) {
    definition.hide_headers = hidden;
    if (definition.options->headers != forms) {
        change_options(definition, [&](QuotaOptions& options) { options.headers = forms; });
    }
}

std::vector<std::string_view> header_words(const QuotaDefinition& definition) {
    std::vector<std::string_view> words;
    if (definition.hide_headers) {
        words.emplace_back("hidden");
    }
    if (const auto& forms = definition.options->headers) {
        if (forms->ietf) {
            words.emplace_back("ietf");
        }
        if (forms->x_ratelimit) {
            words.emplace_back("x-ratelimit");
        }
        if (!forms->ietf && !forms->x_ratelimit) {
            words.emplace_back("none");
        }
    }
    return words;
}

}  // namespace weir::definitions
