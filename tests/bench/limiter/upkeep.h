#pragma once

#include <cstddef>

/// Measures what a sidecar without requests spends on so many instances.
void print_upkeep(std::size_t instances);
