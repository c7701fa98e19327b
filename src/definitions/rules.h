#pragma once
// The rules for quota definitions, and the texts that say which rule a definition breaks. All of
// weir uses them: the parser of documents, the store (by its tree), and tests. The limiter has two
// checks of its own, for definitions that would make it fail; the texts for these are here, too.
//
// Some rules concern one definition by itself (validate_alone). The others concern its place among
// all definitions. Each of these has a function of its own, so that validate(), which checks a
// whole set, and DefinitionTree, which follows changes, always agree.
//
// Pure functions, thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "definitions/definition_error.h"
#include "limiter/definition.h"

namespace weir::definitions {

/// All errors of the set at once: definitions that are wrong by themselves, duplicate names,
/// missing parents, cycles and chains that are too long. None = valid. The first parents that are
/// missing come with a suggestion, until kLettersForSuggestions are used up.
/// `incomplete` has one entry for each definition, or none at all: of definitions that could not be
/// read as a whole only errors of the parent count.
[[nodiscard]] DefinitionErrors validate(std::span<const limiter::QuotaDefinition> definitions,
                                        const std::vector<bool>& incomplete = {});
/// The errors of one definition by itself: those errors of validate() that do not depend on other
/// definitions.
[[nodiscard]] std::vector<DefinitionError> validate_alone(
    const limiter::QuotaDefinition& definition);

// --- rules about a definition's place ------------------------------------------------------------

/// The shape of a template: its name with the captures made anonymous, so that "s3/{bucket}" and
/// "s3/{b}" have the same shape. Two templates of one shape match the same names and exclude each
/// other. Nothing for exact names, which match themselves, and for a text that is no well-formed
/// name.
[[nodiscard]] std::optional<std::string> template_shape_of(std::string_view name);

/// How the chain of a definition and its ancestors can be wrong.
enum class ChainFault : std::uint8_t {
    own_ancestor,     // the definition is met again above itself
    too_long,         // more than kMaxChainDepth definitions; also below a cycle, which has no end
    too_many_limits,  // more than kMaxChainLimits limits in all of them together
    too_many_concurrency  // more than kMaxChainConcurrency of these are of requests in flight
};

/// The limits of one definition, as far as the bounds of a chain count them, in one byte.
struct LimitCounts {
    std::uint8_t all : 7 = 0;          // how many there are, at most 127
    std::uint8_t concurrency : 1 = 0;  // whether one of them is of requests in flight
    friend bool operator==(const LimitCounts&, const LimitCounts&) = default;
};
[[nodiscard]] LimitCounts count_limits(const limiter::QuotaDefinition& definition);

/// A definition and its ancestors, as far as walk_chain() came.
struct Chain {
    std::optional<ChainFault> fault;
    std::size_t ancestors = 0;
    std::size_t limits = 0;       // in the definition and these ancestors
    std::size_t concurrency = 0;  // of these, limits of requests in flight

    void add(LimitCounts counts) {
        limits += counts.all;
        concurrency += counts.concurrency;
    }
};

/// Walks up from `node`. `above(node)` returns the parent's node, or a null one at the end of the
/// chain; `limits(node)` returns the LimitCounts of the node's definition.
template <class Node, class Above, class Limits>
[[nodiscard]] Chain walk_chain(Node node, Above above, Limits limits) {
    Chain chain;
    chain.add(limits(node));
    for (Node at = above(node); at != Node{}; at = above(at)) {
        if (at == node) {
            chain.fault = ChainFault::own_ancestor;
            return chain;
        }
        WEIR_ASSERT(chain.ancestors < limiter::kMaxChainDepth);
        chain.add(limits(at));
        if (++chain.ancestors >= limiter::kMaxChainDepth) {
            chain.fault = ChainFault::too_long;
            return chain;
        }
    }
    if (chain.limits > limiter::kMaxChainLimits) {
        chain.fault = ChainFault::too_many_limits;
    } else if (chain.concurrency > limiter::kMaxChainConcurrency) {
        chain.fault = ChainFault::too_many_concurrency;
    }
    return chain;
}

// --- the words of these rules; `quota` is the name of the definition that breaks one -------------

[[nodiscard]] DefinitionError chain_error(std::string_view quota, ChainFault fault);
/// A quota has more limits than it may have.
[[nodiscard]] std::string too_many_limits();
/// The text "did you mean '…'?"; empty without a name.
[[nodiscard]] std::string did_you_mean(std::string_view name);
/// Another definition has the same name, or matches the same names.
[[nodiscard]] DefinitionError same_shape_error(std::string_view quota, std::string_view other);
[[nodiscard]] DefinitionError missing_parent_error(std::string_view quota, std::string_view parent);
/// The parent exists, but is not in force.
[[nodiscard]] DefinitionError idle_parent_error(std::string_view quota, std::string_view parent);
/// The limiter left a change out.
[[nodiscard]] DefinitionError refusal_error(const limiter::RefusedChange& refused);

}  // namespace weir::definitions
