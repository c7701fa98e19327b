#pragma once

#include <cstddef>

/// What a sidecar without requests spends on this many live instances.
void print_upkeep(std::size_t instances);
