#pragma once
// What a quota is, as plain values: no state, no format. A set of these is validated as a whole and
// then given to the Limiter. Value types: copy them freely, thread-safe as any value is.
// A limit's identity is (quota name, unit, period): editing its amount or its bursts keeps its
// level.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "limiter/laws.h"
#include "limiter/quota_options.h"

namespace weir::limiter {

/// What a limit counts. Weights of response bytes are only known after the decision: the running
/// mean is charged and corrected (Limiter::correct).
enum class Unit : std::uint8_t { requests, request_bytes, response_bytes, cost };
inline constexpr std::size_t kUnits = 4;

/// enforce: refuse; shadow: decide and charge as if it were enforced, but refuse nothing; off:
/// skip.
enum class Mode : std::uint8_t { enforce, shadow, off };

/// fleet: the level is shared by all sidecars; sidecar: it stays local (it protects the pod).
enum class Scope : std::uint8_t { fleet, sidecar };

/// What becomes of a limit while its owners cannot be heard, for the hold time. safe: the others'
/// share stays reserved, or RateLimit::safe holds where it is given; optimistic: only what is heard
/// counts; pessimistic: refuse.
enum class IsolationMode : std::uint8_t { safe, optimistic, pessimistic };

[[nodiscard]] std::string_view to_string(Unit unit);
[[nodiscard]] std::string_view to_string(Law law);
[[nodiscard]] std::string_view to_string(Mode mode);
[[nodiscard]] std::string_view to_string(Scope scope);
[[nodiscard]] std::string_view to_string(IsolationMode mode);

/// A border as it was written: an amount of weight or a number of seconds of the rate.
struct BurstSpec {
    enum class Kind : std::uint8_t { amount, seconds };
    Kind kind = Kind::amount;
    double value = 0;
    friend bool operator==(const BurstSpec&, const BurstSpec&) = default;
    [[nodiscard]] double resolve(double rate) const {
        return kind == Kind::amount ? value : value * rate;
    }
};

/// A leaky bucket: `amount` of `unit` per `period`. Absent borders take design defaults:
/// low = amount if the period is longer than a second, else one second of the rate;
/// high = low + one second of the rate where the unit is not requests or the rate is at least
/// 20/s, else high = low, a hard edge. amount 0 refuses everything.
struct RateLimit {
    Unit unit = Unit::requests;
    double amount = 0;
    Duration period = std::chrono::seconds(1);
    std::optional<BurstSpec> low{};
    std::optional<BurstSpec> high{};
    std::optional<BurstSpec> debt{};
    Law law = Law::adaptive;
    Scope scope = Scope::fleet;
    /// Weight per second that each sidecar may admit by itself while it is isolated (Doorman's safe
    /// capacity); only with IsolationMode::safe.
    std::optional<double> safe{};

    /// Weight per second.
    [[nodiscard]] double rate() const { return amount / to_seconds(period); }
    /// Rate and borders in weight, defaults filled in.
    [[nodiscard]] LimitParameters resolved() const;
    friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

/// A vertex of the quota tree. The name may hold captures, one or several per name but at most one
/// per segment: "s3/{bucket}/write", "user-{id}". A capture matches a non-empty text without '/'.
/// `parent` may use the captures of the name. An exact name beats templates, the more literal
/// template wins.
struct QuotaDefinition {
    std::string name{};
    std::optional<std::string> parent{};
    std::vector<RateLimit> limits{};
    Mode mode = Mode::enforce;
    /// Most live instances of this template; 0 = the limiter's default.
    std::uint32_t max_instances = 0;
    /// Most live children of one instance of this quota; 0 = the limiter's default.
    std::uint32_t max_children = 0;
    /// Do not name this quota in answers.
    bool hide_headers = false;
    IsolationMode when_isolated = IsolationMode::safe;
    /// Of Mode::enforce: the share of keys, 0 to 1, for which it refuses; the others it shadows. A
    /// key is the leaf's name, or the value of the request field `options->enforced_by`.
    double enforced_share = 1;
    SharedOptions options{};
    friend bool operator==(const QuotaDefinition&, const QuotaDefinition&) = default;
};

/// Does the name hold a capture?
[[nodiscard]] bool is_template(std::string_view name);

/// One thing that is wrong in a set of definitions.
struct DefinitionError {
    std::size_t index = 0;   // which definition of the span
    std::string quota;       // its name
    std::string field;       // "limits[0].low"; empty = the quota as a whole
    std::string message;     // what is wrong
    std::string suggestion;  // what may have been meant, or empty
};

/// Bounds of a definition set; each is checked by validate().
inline constexpr std::size_t kMaxNameBytes = 512;
inline constexpr std::size_t kMaxLimitsPerQuota = 8;
inline constexpr std::size_t kMaxChainDepth = 16;
inline constexpr std::size_t kMaxChainLimits = 32;  // limits of a leaf and all its ancestors
inline constexpr std::size_t kMaxRefusalBody = 1024;
inline constexpr std::size_t kMaxContentType = 127;
inline constexpr std::size_t kMaxFieldName = 127;
inline constexpr std::size_t kMaxDefinitions = 4'000'000;

/// All errors of the set at once: duplicates, names, missing parents, cycles, captures of the
/// parent that the child lacks, amounts, borders, two limits of one identity. Empty = valid.
[[nodiscard]] std::vector<DefinitionError> validate(std::span<const QuotaDefinition> definitions);
/// Only what the definition itself can get wrong, whatever is around it: of validate()'s errors
/// those that do not speak of other definitions.
[[nodiscard]] std::vector<DefinitionError> validate_alone(const QuotaDefinition& definition);
/// "did you mean '…'?", or nothing when no candidate is near; looks at 10,000 of them at most.
[[nodiscard]] std::string did_you_mean(std::string_view text,
                                       std::span<const std::string_view> candidates);

/// One change of a set that is in force.
struct DefinitionChange {
    std::string name;
    std::optional<QuotaDefinition> definition;  // nothing: taken away
};

}  // namespace weir::limiter
