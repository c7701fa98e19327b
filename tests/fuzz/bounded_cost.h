#pragma once
// Ends a fuzz target that needs too much memory or time for one input. To be included by the one
// source file of a target. The allocator of the address sanitizer tells of each allocation.

#include <sanitizer/allocator_interface.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

std::size_t bytes_in_use = 0;
std::size_t most_in_use = 0;

[[maybe_unused]] const int counting = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t size) {
        bytes_in_use += size;
        most_in_use = most_in_use < bytes_in_use ? bytes_in_use : most_in_use;
    },
    [](const volatile void* memory) {
        bytes_in_use -= __sanitizer_get_allocated_size(const_cast<void*>(memory));
    });

/// What one input may cost: processor time, not that of the clock, because fuzz targets run beside
/// others.
class BoundedCost {
  public:
    BoundedCost(std::size_t most_bytes, double most_seconds)
        : before_(bytes_in_use),
          begin_(std::clock()),
          most_bytes_(most_bytes),
          most_seconds_(most_seconds) {
        most_in_use = bytes_in_use;
    }
    ~BoundedCost() {
        const double seconds = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
        const std::size_t bytes = most_in_use - before_;
        if (bytes > most_bytes_ || seconds > most_seconds_) {
            std::fprintf(stderr, "the input took %zu bytes and %.2f s\n", bytes, seconds);
            std::abort();
        }
    }
    BoundedCost(const BoundedCost&) = delete;
    BoundedCost& operator=(const BoundedCost&) = delete;

  private:
    std::size_t before_;
    std::clock_t begin_;
    std::size_t most_bytes_;
    double most_seconds_;
};

}  // namespace
