#pragma once
// What the main programs of the test tools share: they end with their parent, and on SIGTERM or
// SIGINT.

namespace weir::tools {

/// The kernel sends SIGTERM when the process that started this one ends, so that a test that
/// crashes leaves nothing behind; SIGTERM and SIGINT make stop_requested() true.
void follow_parent_and_signals();
[[nodiscard]] bool stop_requested();

}  // namespace weir::tools
