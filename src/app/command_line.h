#pragma once
// The command line: flags, WEIR_… variables, help, and the dispatch to what they ask for.
// docs/command-line.md describes it. Exit codes: 0 done, 1 it failed, 2 the command line is wrong.

namespace weir::app {

[[nodiscard]] int main_with(int count, const char* const* arguments);

}  // namespace weir::app
