#pragma once
// Finds the upstream's addresses. A literal address or a unix socket is reported at once. A name is
// looked up on a helper thread, again every few seconds without end. While look-ups fail, the
// addresses of the last good one stay.
//
// Thread-safety: none; all calls come on the thread of the io_context. Ownership: it borrows the
// io_context, which must outlive it, and owns its timer and its helper. Nothing is reported after
// stop().

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "cluster/seed_resolver.h"
#include "config/settings.h"
#include "net/socket_address.h"

namespace weir::app {

class UpstreamLookup {
  public:
    static constexpr std::chrono::seconds kInterval{5};
    static constexpr std::chrono::milliseconds kRetry{500};

    using Found = std::function<void(std::vector<net::SocketAddress>)>;
    using Failed = std::function<void(const std::string& message)>;

    /// `found` is called whenever the addresses have changed, and `failed` when a look-up fails
    /// after a good one.
    UpstreamLookup(boost::asio::io_context& control, Found found, Failed failed);

    void set(const config::UpstreamAddress& upstream);
    void stop();
    /// Why the last look-up found nothing; empty if it did not fail.
    [[nodiscard]] const std::string& failure() const { return failure_; }

  private:
    void look_up();
    void answered(Result<cluster::Addresses> result);
    void again(std::chrono::milliseconds after);

    cluster::SeedResolver resolver_;
    boost::asio::steady_timer timer_;
    Found found_;
    Failed failed_;
    std::optional<config::UpstreamAddress> upstream_;
    cluster::Addresses known_;
    std::uint64_t round_ = 0;  ///< answers to an earlier set() are ignored
    std::string failure_;
};

}  // namespace weir::app
