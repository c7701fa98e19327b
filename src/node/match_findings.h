#pragma once
// Finds conditions of routes that are valid, but that were probably meant otherwise: methods that
// HTTP does not know and that are nearly spelt like one that it knows, and paths in the notation
// of other programs (regular expressions, ":tenant", "<tenant>", "[tenant]"). Such a route hardly
// matches what a client sends, and so limits nothing. `weir validate` and a start warn of them.
//
// Pure functions, thread-safe.

#include <string>
#include <vector>

#include "routing/route_settings.h"

namespace weir::node {

/// A condition that was probably meant otherwise.
struct MatchFinding {
    std::string place;  ///< of the condition in the settings, such as "routes[2].match.path"
    std::string what;   ///< what is odd, as part of a sentence
    std::string
        suggestion;  ///< the text that was probably meant, or a sentence that says what to do
    friend bool operator==(const MatchFinding&, const MatchFinding&) = default;
};

/// The odd conditions of these routes, in their order. Whoever does mean such a path writes the
/// first odd character as an escape ("%3Atenant"), which is taken as it is.
[[nodiscard]] std::vector<MatchFinding> odd_conditions(
    const std::vector<routing::RouteSettings>& routes);

}  // namespace weir::node
