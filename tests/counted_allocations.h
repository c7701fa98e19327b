#pragma once
// Replaces operator new by one that counts. For one source file of a program, since it defines
// them. The thread sanitizer's cannot be replaced, but tells of each piece of memory.

#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_MEMORY_IS_THE_SANITIZERS
#endif
#endif

namespace {
std::size_t allocations = 0;
}

#ifdef WEIR_MEMORY_IS_THE_SANITIZERS
#include <sanitizer/allocator_interface.h>

namespace {
[[maybe_unused]] const int counting = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { ++allocations; }, [](const volatile void*) {});
}
#else
// Never inlined: the compiler would see free() meet the memory of an operator new it does not see.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif
