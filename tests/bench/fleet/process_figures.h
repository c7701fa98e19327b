#pragma once
// What the kernel knows of this process: run time of its threads by their names, and memory.

#include <nlohmann/json.hpp>

namespace weir::bench {

/// {"weir-control": {"run_s": …, "waited_s": …}, …}: time on a core, and time without one although
/// there was work. Threads of one name are added up.
[[nodiscard]] nlohmann::json thread_times();
/// Resident bytes that belong to no file.
[[nodiscard]] double anonymous_bytes();

}  // namespace weir::bench
