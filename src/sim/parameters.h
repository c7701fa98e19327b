#pragma once
// Fills in the parameters of a document: "$name" in any of its values stands for the text that is
// given for this name. So one file describes several stories that differ by a number. Pure.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "config/diagnostics.h"
#include "config/document.h"

namespace weir::sim {

using Parameters = std::map<std::string, std::string, std::less<>>;

/// A copy of the document in which the parameters are filled in; "$$" stands for a dollar sign.
/// Keys of maps stay as they are. Every value keeps its place, so that errors can name it. A name
/// for which no text is given is an error; the result is nothing then.
[[nodiscard]] std::optional<config::Document> fill_in(const config::Document& document,
                                                      const Parameters& parameters,
                                                      config::Diagnostics& diagnostics);

}  // namespace weir::sim
