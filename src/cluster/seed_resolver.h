#pragma once
// Looks host names up without ever making the control thread wait. getaddrinfo cannot be cancelled
// and may take a minute when the name servers are gone, so it runs on one helper thread. Nobody
// joins that thread, because SIGTERM must not wait for a dead name server: it is detached from the
// beginning, and ends by itself after the resolver is destroyed and its look-up has returned.
//
// Thread-safety: request() and the destructor belong to the control thread, and handlers run there.
// Bounds: at most kMaxPendingLookups wait; further requests are refused.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"

namespace boost::asio {
class io_context;
}

namespace weir::cluster {

inline constexpr std::size_t kMaxPendingLookups = 64;
/// The largest number of addresses of one name; further ones are ignored.
inline constexpr std::size_t kMaxAddressesPerName = 256;

using Addresses = std::vector<Endpoint>;
/// A function that looks a name up. It may block; it is called on the helper thread.
using Lookup = std::function<Result<Addresses>(const std::string& host, std::uint16_t port)>;

/// All A and AAAA addresses of the name, sorted, without duplicates.
[[nodiscard]] Result<Addresses> look_up(const std::string& host, std::uint16_t port);

class SeedResolver {
  public:
    using Done = std::function<void(Result<Addresses>)>;

    SeedResolver(boost::asio::io_context& control, Lookup lookup);
    SeedResolver(const SeedResolver&) = delete;
    SeedResolver& operator=(const SeedResolver&) = delete;
    /// No handler runs after the destructor.
    ~SeedResolver();

    /// False when too many requests wait already; then `done` is never called.
    [[nodiscard]] bool request(std::string host, std::uint16_t port, Done done);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace weir::cluster
