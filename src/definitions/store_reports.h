#pragma once
// What the store of definitions takes, and what it reports about documents, edits and quotas. Plain
// values, as thread-safe as any value.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "definitions/definition_error.h"
#include "definitions/map.h"
#include "limiter/definition.h"

namespace weir::definitions {

/// The document of a file. The reader of the file has validated it, because it knows lines and
/// columns.
struct FileDocument {
    std::string set;
    /// kUndecided (generation.h) for an automatic set of the fleet, nothing for this sidecar alone.
    std::optional<std::uint64_t> generation;
    std::vector<limiter::QuotaDefinition> quotas;
    /// A person asked for it: it is treated as new here, even if it was refused before.
    bool by_hand = false;
};

/// A document in its encoded form (codec.h), for large ones and for those of peers.
struct EncodedDocument {
    std::string set;
    std::optional<std::uint64_t> generation;
    std::shared_ptr<const std::vector<std::byte>> bytes;
    std::uint64_t content_hash = 0;
    /// It comes from a peer, and not from a file of this sidecar.
    bool of_peer = false;
    /// The same as in FileDocument.
    bool by_hand = false;
};

/// What became of a document that was given to the store.
enum class DocumentOutcome : std::uint8_t {
    applied,    // it is in force now
    loading,    // tick() is installing it; DefinitionStore::take_reports() gives the result
    pending,    // it waits for the fleet: another content of this automatic set is in force
    unchanged,  // the same generation with the same content was in force already
    older,      // refused: a newer generation is in force
    conflict,   // refused: the same generation with other content is in force
    invalid,    // refused: it or the name of its set has errors, or there are too many sets
    no_room     // refused: it would take more memory than is left
};

struct DocumentReport {
    DocumentOutcome outcome = DocumentOutcome::applied;
    std::optional<std::uint64_t> in_force;  // the generation in force afterwards
    std::vector<DefinitionError> errors;
    std::string message;  // for people; empty when the outcome is applied, loading or unchanged
};

/// Who made a change by the API, why, and for how long it holds.
struct Edit {
    std::string who;
    std::string why;
    std::optional<Duration> lifetime;
    /// The change is made only if the quota still has this tag (ListedDefinition::tag). An empty
    /// tag stands for a quota that does not exist.
    std::optional<std::string> expected{};
    /// If no lifetime is given, the change ends when the present override would end.
    bool keep_lifetime = false;
    /// Everything is checked, but nothing changes. The result is the version that the change would
    /// get.
    bool dry_run = false;
};
/// An override of the API that ended with its lifetime.
struct ExpiredOverride {
    std::string quota;
    std::string who;  ///< made it
    std::string why;
};
struct ExpiredOverrides {
    std::vector<ExpiredOverride> listed;  ///< at most DefinitionStore::kMaximumExpired
    std::uint64_t more = 0;               ///< that are not listed
};

inline constexpr std::size_t kMaximumWho = 64;
inline constexpr std::size_t kMaximumWhy = 256;
/// How many quotas one change may set. While they are checked and changed, the control thread does
/// nothing else.
inline constexpr std::size_t kMaximumTogether = 1000;

/// One of several changes that are made together; `expected` as in Edit.
struct WantedDefinition {
    limiter::QuotaDefinition definition;
    std::optional<std::string> expected{};
};

/// The result of several changes made together.
struct TogetherReport {
    /// The versions in the order of the changes; empty when they were refused.
    std::vector<Version> versions;
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;
    /// The errors in the definitions, if these are the reason for the refusal.
    std::vector<DefinitionError> errors;
};

/// A quota's definition as it is shown to people.
struct ListedDefinition {
    std::string name;
    /// Nothing if an override hides the quota of a file.
    std::optional<limiter::QuotaDefinition> definition;
    /// Its origin: "file storage#7", "file storage" (local), "api epoch 12 by 5f0c…".
    std::string source;
    bool in_force = true;
    /// Why it is not in force; or, if it is, which of its limits are not held here.
    std::string problem;
    std::string who;
    std::string why;
    std::optional<Duration> expires_in;
    /// A text that changes whenever the definition or its origin does; for conditional edits.
    std::string tag{};
    /// The version of the override, if there is one.
    std::optional<Version> version{};
    /// The definition of the files beneath the override, if there is one.
    std::optional<limiter::QuotaDefinition> file_definition{};
};

/// A document that is in force here.
struct SetStatus {
    std::string set;
    std::optional<std::uint64_t> generation;
    std::uint64_t content_hash = 0;
    std::size_t quotas = 0;
    /// The file of this sidecar, or a live peer, has the same generation with other content.
    bool conflict = false;
    /// The newer generation that is being loaded, if any.
    std::optional<std::uint64_t> loading{};
    /// The file of this sidecar was refused, and by now more live peers have its content than have
    /// the content in force here, where this sidecar counts among the latter. If the file is
    /// offered again, it is accepted.
    bool outvoted = false;
};

/// The contents of a generation by hash, with the number of live peers that have each.
using PeerContents = std::map<std::uint64_t, std::size_t>;

}  // namespace weir::definitions
