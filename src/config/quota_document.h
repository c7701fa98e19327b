#pragma once
// Reads quota documents (apiVersion weir/v1, kind QuotaSet) into validated definitions, and writes
// one definition back as text. docs/configuration.md describes the format. Reading is strict: a key
// that is unknown, given twice or not in this version is an error with its place. All errors are
// found at once. The functions are pure.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "definitions/fields.h"
#include "limiter/definition.h"

namespace weir::config {

/// The definitions of one name and generation, from one or several files.
struct QuotaSet {
    std::string file;
    std::string name;
    std::optional<std::uint64_t> generation;
    std::vector<limiter::QuotaDefinition> quotas;
    /// A long set may be handed on in its encoded form, which is made outside of the control
    /// thread. `quotas` is empty then, and `encoded_quotas` says how many there are.
    std::shared_ptr<const std::vector<std::byte>> encoded{};
    std::uint64_t encoded_hash = 0;
    std::size_t encoded_quotas = 0;

    /// The number of its quotas, in either form.
    [[nodiscard]] std::size_t size() const { return quotas.size() + encoded_quotas; }
};

/// The text of a file that has been read.
struct SourceText {
    std::string file;
    std::string text;
};

/// yes: quotas are validated with each other (parents, cycles, duplicates …); no: each by itself,
/// because other quotas that belong to them are not here.
enum class Together { yes, no };

/// The sets in all these files. Files with the same set name and generation are parts of one set.
/// Must not be used if `diagnostics` has errors afterwards.
[[nodiscard]] std::vector<QuotaSet> parse_quota_sets(const std::vector<SourceText>& sources,
                                                     Diagnostics& diagnostics,
                                                     Together together = Together::yes);

/// Reads one quota in the form that it has within a set, as the admin API takes it. Checks its
/// fields, but not whether its parent exists.
[[nodiscard]] std::optional<limiter::QuotaDefinition> parse_quota(const SourceText& source,
                                                                  Diagnostics& diagnostics);

/// The definition in the same form as JSON, without members that have their default. `indent` is
/// the number of spaces of one level, -1 for a single line.
[[nodiscard]] std::string quota_json(const limiter::QuotaDefinition& definition, int indent);

/// The value that the limit has for a field, as documents and the command line write it ("100r/s",
/// "50r", "adaptive"). The field must be set (definitions::is_set).
[[nodiscard]] std::string limit_value_text(const definitions::LimitField& field,
                                           const limiter::RateLimit& limit);

}  // namespace weir::config
