#pragma once
// Says in words how the files of an automatic set differ among the sidecars of a fleet. Pure.

#include <string>

namespace weir::definitions {
struct FileDifference;
}

namespace weir::node {

/// "the files of storage differ: 2 of 4 sidecars have 5f0c12ab (in force), 2 have 8a12cd34 (among
/// them 10.0.0.3:7946)".
[[nodiscard]] std::string words_of(const definitions::FileDifference& difference);

}  // namespace weir::node
