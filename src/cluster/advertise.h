#pragma once
// Chooses the address that peers are told to send to.

#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"

namespace weir::cluster {

struct AdvertiseInputs {
    /// The address of the settings. Port 0 stands for the port that was bound.
    std::optional<Endpoint> configured;
    /// The variable POD_IP; empty if it is not set.
    std::string pod_ip;
    /// The address to which the socket is bound.
    Endpoint bound;
    /// The addresses of this machine's interfaces, see interface_addresses().
    std::vector<Endpoint> interfaces;
};

/// The first of these that there is: the configured address; POD_IP; the bound address, unless it
/// stands for all addresses; the first interface address of the socket's family, loopback ones
/// last. Pure.
[[nodiscard]] Result<Endpoint> choose_advertised(const AdvertiseInputs& inputs);

/// The addresses (port 0) of all interfaces that are up, without link-local ones, in the kernel's
/// order.
[[nodiscard]] std::vector<Endpoint> interface_addresses();

[[nodiscard]] bool is_unspecified(const Endpoint& endpoint);

}  // namespace weir::cluster
