#include "app/upstream_lookup.h"

#include "config/values.h"
#include "net/address.h"

namespace weir::app {
namespace {

std::optional<Endpoint> literal(const config::UpstreamAddress& upstream) {
    net::Address address;
    address.host = upstream.host;
    address.port = upstream.port;
    return address.literal();
}

}  // namespace

UpstreamLookup::UpstreamLookup(boost::asio::io_context& control, Found found, Failed failed)
    : resolver_(control, &cluster::look_up),
      timer_(control),
      found_(std::move(found)),
      failed_(std::move(failed)) {}

void UpstreamLookup::set(const config::UpstreamAddress& upstream) {
    if (upstream_ == upstream) {
        return;
    }
    upstream_ = upstream;
    ++round_;
    known_.clear();
    failure_.clear();
    timer_.cancel();
    if (upstream.is_unix()) {
        found_({net::to_unix_socket_address(upstream.path)});
    } else if (const auto endpoint = literal(upstream)) {
        found_({net::to_socket_address(*endpoint)});
    } else {
        look_up();
    }
}

void UpstreamLookup::stop() {
    ++round_;
    timer_.cancel();
}

void UpstreamLookup::look_up() {
    const bool asked = resolver_.request(upstream_->host, upstream_->port,
                                         [this, round = round_](Result<cluster::Addresses> result) {
                                             if (round == round_) {
                                                 answered(std::move(result));
                                             }
                                         });
    if (!asked) {
        again(kRetry);
    }
}

void UpstreamLookup::answered(Result<cluster::Addresses> result) {
    if (!result || result->empty()) {
        const std::string why = result ? "the name has no address" : result.error().message;
        if (std::exchange(failure_, why).empty()) {
            failed_(why);
        }
        again(kRetry);
        return;
    }
    failure_.clear();
    if (*result != known_) {
        known_ = *result;
        std::vector<net::SocketAddress> addresses;
        for (const Endpoint& endpoint : known_) {
            addresses.push_back(net::to_socket_address(endpoint));
        }
        found_(std::move(addresses));
    }
    again(kInterval);
}

void UpstreamLookup::again(std::chrono::milliseconds after) {
    timer_.expires_after(after);
    timer_.async_wait([this, round = round_](const boost::system::error_code& failure) {
        if (!failure && round == round_) {
            look_up();
        }
    });
}

}  // namespace weir::app
