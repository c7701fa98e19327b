#pragma once
// The command line of `weir`: it reads flags and WEIR_… variables, prints help, and calls the
// command that was asked for. docs/command-line.md describes it. The exit code is 0 when the
// command did what was asked, 1 when it failed, and 2 when the command line is wrong. Called once,
// by main(), before there is a second thread. It keeps nothing.

namespace weir::app {

[[nodiscard]] int main_with(int count, const char* const* arguments);

}  // namespace weir::app
