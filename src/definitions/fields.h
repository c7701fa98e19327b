#pragma once
// All fields of a quota definition in one table: the key in documents, the texts of the docs and
// --help, how its value is read from a limiter::QuotaDefinition and written to it, and the number
// on the wire. This table drives the parser of documents (config/quota_reader.cpp), the JSON of the
// admin API (config/quota_json.cpp), the binary form (codec.cpp), and what `weir quota` reads and
// shows (app/quota_edit.cpp, app/limit_edit.cpp, app/quota_text.cpp). A test compares the tables of
// docs/configuration.md with it.
//
// A new field takes four steps: a member in limiter/definition.h or quota_options.h, a row here (in
// fields.cpp), a row in docs/configuration.md (and docs/protocol.md), and whatever the limiter or
// the fleet does with it. No other code has to be changed. A row names the kind of its value. Only
// a new kind needs code in the places above, and the compiler finds them, because each visits a
// std::variant of all kinds. tests/app/quota_fields_test.cpp takes every row through all of them.
//
// Immutable and thread-safe. The functions in a row get and set one value; they keep no state.

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "limiter/definition.h"

namespace weir::definitions {

// --- kinds of values. T is limiter::QuotaDefinition or limiter::RateLimit ------------------------

/// One word of a list; get() and set() work with the word's index in it. The default is that of a
/// new definition, which is not always the first word.
template <class T>
struct WordValue {
    std::span<const std::string_view> words;
    std::size_t (*get)(const T&);
    void (*set)(T&, std::size_t word);
};

/// A whole number from `least` to `most`; 0 = not given.
template <class T>
struct CountValue {
    std::uint64_t least;
    std::uint64_t most;
    std::uint64_t (*get)(const T&);
    void (*set)(T&, std::uint64_t count);
};

/// A time of whole milliseconds from `least` to `most`; nothing = not given. Set to another time,
/// it leaves out what is less than a millisecond.
struct DurationValue {
    Duration least;
    Duration most;
    std::optional<Duration> (*get)(const limiter::QuotaDefinition&);
    void (*set)(limiter::QuotaDefinition&, std::optional<Duration> time);
};

/// A text of at most `most` bytes; nothing = not given.
template <class T>
struct TextValue {
    std::size_t most;
    /// The text may have several lines; people are shown its beginning, in quotes and on one line.
    bool is_long;
    /// A view into the definition.
    std::optional<std::string_view> (*get)(const T&);
    void (*set)(T&, std::optional<std::string> text);
};

/// The share of keys for which the quota refuses, such as "25%"
/// (limiter::QuotaDefinition::enforced_share). Such a key belongs to a request: all requests with
/// the same key are treated alike. KeyValue says where it comes from. It is not a field's key.
struct ShareValue {
    double (*get)(const limiter::QuotaDefinition&);
    void (*set)(limiter::QuotaDefinition&, double share);
};

/// Yes or no; nothing = not given, and something else decides.
struct FlagValue {
    std::optional<bool> (*get)(const limiter::QuotaDefinition&);
    void (*set)(limiter::QuotaDefinition&, std::optional<bool> flag);
};

/// A number from `least` to `most`. The default is that of a new definition.
struct NumberValue {
    double least;
    double most;
    double (*get)(const limiter::QuotaDefinition&);
    void (*set)(limiter::QuotaDefinition&, double number);
};

/// What the key of a request is (limiter::QuotaOptions::enforced_by). If a document says kQuotaKey,
/// it is the leaf's name. If a document says kHeaderKey followed by the name of a request field, it
/// is the value of that field. get() returns and set() takes the name of that field; it is empty if
/// the key is the leaf's name.
inline constexpr std::string_view kQuotaKey = "quota";
inline constexpr std::string_view kHeaderKey = "header:";
struct KeyValue {
    const std::string& (*get)(const limiter::QuotaDefinition&);
    void (*set)(limiter::QuotaDefinition&, std::string field);
};

/// One list of words for two members: whether answers do not name the quota
/// (limiter::QuotaDefinition::hide_headers), and which families of rate limit fields answers have,
/// ietf or x-ratelimit (limiter::QuotaOptions::headers). See set_headers() and header_words().
struct HeadersValue {};

/// The list of limits, each with the fields of limit_fields().
struct LimitsValue {};

/// What a limit counts: limiter::RateLimit::unit, with a word for each of its values. The unit
/// decides which letters stand after the limit's amounts: "r" for requests, "c" for cost, "MiB" and
/// the like for bytes.
struct UnitValue {
    std::span<const std::string_view> words;
};

/// The limit's amount and period (limiter::RateLimit::amount and period), such as "100r/s".
struct RateValue {};

/// The amount and the length of a window (limiter::RateLimit::in_window), such as "1000r/h" or
/// "100000r/month".
struct WindowValue {};

/// The name of the time zone of a calendar's windows (limiter::RateLimit::timezone), of at most
/// `most` bytes; empty = UTC. Documents may only name zones that the machine which reads them
/// knows.
struct TimeZoneValue {
    std::size_t most;
};

/// The most requests that may be in flight at once (limiter::RateLimit::in_flight): a whole number
/// from 0 to `most`. It is the amount of a concurrency limit.
struct ConcurrencyValue {
    std::uint64_t most;
};

/// A border of the limit: its low, high or debt. It is given as an amount or as seconds of the
/// limit's rate, such as "50r" or "2s"; nothing = the default.
struct BurstValue {
    std::optional<limiter::BurstSpec> limiter::RateLimit::*member;
};

/// What each sidecar may admit by itself while the limit is isolated (limiter::RateLimit::safe). It
/// is written as a rate, such as "10r/s", and kept as weight per second; nothing = not given.
struct CapacityValue {
    std::optional<double> limiter::RateLimit::*member;
};

using QuotaValue =
    std::variant<TextValue<limiter::QuotaDefinition>, WordValue<limiter::QuotaDefinition>,
                 CountValue<limiter::QuotaDefinition>, DurationValue, ShareValue, KeyValue,
                 FlagValue, NumberValue, HeadersValue, LimitsValue>;
using LimitValue = std::variant<RateValue, WindowValue, ConcurrencyValue, UnitValue, BurstValue,
                                WordValue<limiter::RateLimit>, CapacityValue, TimeZoneValue>;

// --- the table -----------------------------------------------------------------------------------

/// Where `weir quota` shows a field of a quota. Has no meaning for the fields of a limit.
enum class Shown : std::uint8_t {
    apart,   // in a place of its own: name, parent, limits, and mode with its share and key
    options  // in the list of options, as "key value", unless it is at its default
};

/// A set of kinds of limits.
class LimitKinds {
  public:
    constexpr LimitKinds() = default;
    constexpr LimitKinds(std::initializer_list<limiter::LimitKind> kinds) {
        for (const limiter::LimitKind kind : kinds) {
            bits_ = static_cast<std::uint8_t>(bits_ | bit(kind));
        }
    }
    [[nodiscard]] constexpr bool contains(limiter::LimitKind kind) const {
        return (bits_ & bit(kind)) != 0;
    }
    [[nodiscard]] constexpr int size() const { return std::popcount(bits_); }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    /// The kinds that are in both sets.
    friend constexpr LimitKinds operator&(LimitKinds one, LimitKinds other) {
        one.bits_ = static_cast<std::uint8_t>(one.bits_ & other.bits_);
        return one;
    }
    /// The kinds that are in one of the sets or in both.
    friend constexpr LimitKinds operator|(LimitKinds one, LimitKinds other) {
        one.bits_ = static_cast<std::uint8_t>(one.bits_ | other.bits_);
        return one;
    }
    friend constexpr bool operator==(LimitKinds, LimitKinds) = default;

  private:
    static constexpr std::uint8_t bit(limiter::LimitKind kind) {
        return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
    }
    std::uint8_t bits_ = 0;
};

/// The kinds of limits, in the order in which people are told of them.
inline constexpr std::array<limiter::LimitKind, 3> kLimitKinds = {
    limiter::LimitKind::rate, limiter::LimitKind::window, limiter::LimitKind::concurrency};
inline constexpr LimitKinds kRates{limiter::LimitKind::rate};
inline constexpr LimitKinds kWindows{limiter::LimitKind::window};
inline constexpr LimitKinds kConcurrency{limiter::LimitKind::concurrency};
inline constexpr LimitKinds kAllLimits = kRates | kWindows | kConcurrency;

/// The default of the fields that tell a limit's kind: a limit has exactly one of them.
inline constexpr std::string_view kOneOfThese = "one of these";

template <class Value>
struct TableField {
    /// In documents and JSON. The key "refusal.status" is the member `status` of the map `refusal`.
    std::string_view key;
    /// The columns of the table in docs/configuration.md.
    std::string_view type;
    std::string_view default_text;  // "required" or kOneOfThese: there is no default
    std::string_view meaning;
    /// The text of --help for its flag of `weir quota set`; empty = it has no flag.
    std::string_view flag_help;
    /// The number among the numbered fields of docs/protocol.md; 0 = the field is in the part that
    /// every definition has. A new field takes the next free number, and never one that was used
    /// before. Fields with the same number are encoded together, as one numbered field.
    std::uint8_t number;
    Value value;
    Shown shown = Shown::options;
    /// Which limits may have the field. Has no meaning for the fields of a quota.
    LimitKinds kinds = kRates;

    [[nodiscard]] bool required() const { return default_text == "required"; }
    [[nodiscard]] bool one_of_these() const { return default_text == kOneOfThese; }
};
using QuotaField = TableField<QuotaValue>;
using LimitField = TableField<LimitValue>;

/// The fields of a quota, in the order in which they are written.
[[nodiscard]] std::span<const QuotaField> quota_fields();
/// The fields of one limit, in the order in which they are written.
[[nodiscard]] std::span<const LimitField> limit_fields();

/// The group of a key: "refusal" for "refusal.status"; empty for a key that belongs to the quota
/// itself. The fields of a group are neighbours in the table.
[[nodiscard]] std::string_view group_of(std::string_view key);
/// The key without its group: "status" for "refusal.status".
[[nodiscard]] std::string_view member_of(std::string_view key);

/// Whether the value of this field is another than the default. A definition that gives the default
/// is like one that leaves the field out.
[[nodiscard]] bool is_set(const QuotaField& field, const limiter::QuotaDefinition& definition);
[[nodiscard]] bool is_set(const LimitField& field, const limiter::RateLimit& limit);

/// Whether limits of this kind may have the field.
[[nodiscard]] bool fits(const LimitField& field, limiter::LimitKind kind);
/// The field that tells that a limit is of this kind, such as "window".
[[nodiscard]] const LimitField& field_of(limiter::LimitKind kind);

/// Sets the members that a HeadersValue stands for: whether answers leave the quota out, and the
/// families of fields that they carry (nothing = as the sidecar's settings say).
void set_headers(limiter::QuotaDefinition& definition, bool hidden,
                 std::optional<limiter::HeaderForms> forms);

/// The words of a HeadersValue, in the order in which they are written: "hidden" if answers do not
/// name the quota; then the families, or "none" if answers have no such fields. Without a word for
/// the families, the sidecar's settings decide.
[[nodiscard]] std::vector<std::string_view> header_words(
    const limiter::QuotaDefinition& definition);

/// A type for std::visit with one lambda for each kind.
template <class... Lambdas>
struct Overloaded : Lambdas... {
    using Lambdas::operator()...;
};
/// Clang 14 does not deduce an aggregate's arguments by itself.
template <class... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace weir::definitions
