#pragma once
// Which address peers are told to send to.

#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"

namespace weir::cluster {

struct AdvertiseInputs {
    /// From the settings; port 0 stands for the bound one.
    std::optional<Endpoint> configured;
    /// POD_IP, or empty.
    std::string pod_ip;
    /// Where the socket is bound.
    Endpoint bound;
    /// Of this machine's interfaces, see interface_addresses().
    std::vector<Endpoint> interfaces;
};

/// In this order: what is configured; POD_IP; the bound address, if it is one; the first interface
/// address of the socket's family, loopback ones last. Pure.
[[nodiscard]] Result<Endpoint> choose_advertised(const AdvertiseInputs& inputs);

/// The addresses (port 0) of all interfaces that are up, without link-local ones, in the kernel's
/// order.
[[nodiscard]] std::vector<Endpoint> interface_addresses();

[[nodiscard]] bool is_unspecified(const Endpoint& endpoint);
[[nodiscard]] bool is_loopback(const Endpoint& endpoint);

}  // namespace weir::cluster
