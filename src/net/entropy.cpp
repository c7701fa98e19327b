#include "net/entropy.h"

#include <random>

namespace weir::net {

std::uint64_t system_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
}

}  // namespace weir::net
