#pragma once
// Routes that are given as flags: --route '/{tenant}/**=shop/{tenant}'. They are made into the same
// tree that a file has, so that they are read and checked like the routes of a file. Stateless.

#include <optional>
#include <string_view>

#include "config/diagnostics.h"
#include "config/document.h"
#include "config/load_settings.h"

namespace weir::config {

/// The key of an Override that holds routes, one on each line of its text.
inline constexpr std::string_view kRoutesKey = "routes";
inline constexpr std::string_view kRouteFlag = "--route";
inline constexpr std::string_view kRouteVariable = "WEIR_ROUTE";

/// A map whose member `routes` is the list of these routes. Nothing, with an error in
/// `diagnostics`, if one of them is not a path pattern, `=` and names of quotas.
[[nodiscard]] std::optional<Document> flag_routes(const Override& given, Diagnostics& diagnostics);

}  // namespace weir::config
