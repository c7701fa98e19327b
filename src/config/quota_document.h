#pragma once
// Quota documents (apiVersion weir/v1, kind QuotaSet): text to validated definitions, and one
// definition back to text. docs/configuration.md describes the format. Pure and strict: anything
// unknown, given twice or not in this version is an error with its place; all errors at once.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "limiter/definition.h"

namespace weir::config {

struct QuotaSet {
    std::string file;
    std::string name;
    std::optional<std::uint64_t> generation;
    std::vector<limiter::QuotaDefinition> quotas;
    /// A long one may be given on in its encoded form instead (made off the control thread): the
    /// quotas are left out then.
    std::shared_ptr<const std::vector<std::byte>> encoded{};
    std::uint64_t encoded_hash = 0;
};

/// A file's text, read already.
struct SourceText {
    std::string file;
    std::string text;
};

/// Whether quotas are validated with each other (parents, cycles, doubles …) or, where others that
/// are not here belong to them, each by itself.
enum class Together { yes, no };

/// The sets of all these files. Files that name one set and one generation are parts of it. Worth
/// nothing if `diagnostics` has errors afterwards.
[[nodiscard]] std::vector<QuotaSet> parse_quota_sets(const std::vector<SourceText>& sources,
                                                     Diagnostics& diagnostics,
                                                     Together together = Together::yes);

/// One quota in the form it has within a set, as the admin API takes it; its fields are checked,
/// its parent is not looked for.
[[nodiscard]] std::optional<limiter::QuotaDefinition> parse_quota(const SourceText& source,
                                                                  Diagnostics& diagnostics);

/// The same form as JSON, only with what differs from the defaults; `indent` as nlohmann has it
/// (-1: one line).
[[nodiscard]] std::string quota_json(const limiter::QuotaDefinition& definition, int indent);

}  // namespace weir::config
