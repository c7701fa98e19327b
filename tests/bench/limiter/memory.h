#pragma once
// Measures the bytes that an instance takes, by how much the process grows.

#include <cstddef>

/// Makes so many instances in the way in which the proxy does, from request heads by way of
/// routing::Router and Limiter::find, and prints by how many bytes the process grew for each.
void print_memory(std::size_t instances);
