#include "base/loopback.h"

#include <algorithm>

namespace weir {

Endpoint loopback_address(std::uint16_t port) { return Endpoint::v4(0x7f000001, port); }

bool is_loopback(const Endpoint& endpoint) {
    constexpr std::size_t kV4 = 12;  // where the four bytes of an IPv4 address begin
    const auto& address = endpoint.address;
    if (endpoint.is_v4()) {
        return address[kV4] == 127;
    }
    const bool zeros = std::all_of(address.begin(), address.end() - 1,
                                   [](std::uint8_t byte) { return byte == 0; });
    return zeros && address.back() == 1;
}

}  // namespace weir
