#pragma once

#include <cstddef>

/// Measures two threads on the same hot quotas, on quotas of their own, and on random ones among
/// `leaves`, and compares each with one thread that does the same alone. Aborts if a charge was
/// lost or made twice.
void print_threads(int rounds, std::size_t leaves);
