#include "embed/fork_count.h"

#include <pthread.h>

namespace weir::embed {

std::atomic<std::uint32_t> ForkCount::count_{0};

std::uint32_t ForkCount::here() {
    static const int installed = ::pthread_atfork(nullptr, nullptr, &ForkCount::count_child);
    static_cast<void>(installed);  // fails only if there is no memory; then forks are not noticed
    return now();
}

}  // namespace weir::embed
