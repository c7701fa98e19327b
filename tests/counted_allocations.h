#pragma once
// Replaces operator new and delete by ones that count. To be included by one source file of a
// program, because it defines them. Those of the thread sanitizer cannot be replaced; there a hook
// of the sanitizer counts.

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
// Not inlined: the compiler would see memory of an operator new that it does not know given to
// free(), and warn.
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
