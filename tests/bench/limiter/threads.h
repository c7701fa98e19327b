#pragma once

#include <cstddef>

/// Two threads on the same hot quotas, on quotas of their own, and at random among `leaves`:
/// against one thread that does the same alone. Aborts if a charge was lost or made twice.
void print_threads(int rounds, std::size_t leaves);
