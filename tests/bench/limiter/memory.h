#pragma once
// Bytes that an instance takes, by what the process grew.

#include <cstddef>

/// Makes this many instances the way the proxy does, from request heads over routing::Router and
/// Limiter::find, and prints what the process grew by for each.
void print_memory(std::size_t instances);
