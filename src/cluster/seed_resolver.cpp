#include "cluster/seed_resolver.h"

#include <netdb.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "net/socket_address.h"

namespace weir::cluster {
namespace {

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

Endpoint to_endpoint(const addrinfo& entry, std::uint16_t port) {
    net::SocketAddress address;
    address.length = std::min<socklen_t>(entry.ai_addrlen, sizeof(address.storage));
    std::copy_n(reinterpret_cast<const std::byte*>(entry.ai_addr), address.length,
                reinterpret_cast<std::byte*>(&address.storage));
    Endpoint endpoint = net::to_endpoint(address);
    endpoint.port = port;
    return endpoint;
}

struct LookupRequest {
    std::string host;
    std::uint16_t port = 0;
    SeedResolver::Done done;
};

}  // namespace

Result<Addresses> look_up(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* raw = nullptr;
    if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &raw); failed != 0) {
        return error(ErrorCode::not_found, host + ": " + ::gai_strerror(failed));
    }
    const std::unique_ptr<addrinfo, FreeAddresses> list(raw);
    Addresses addresses;
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
        if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) {
            continue;
        }
        addresses.push_back(to_endpoint(*entry, port));
    }
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    if (addresses.size() > kMaxAddressesPerName) {
        addresses.resize(kMaxAddressesPerName);
    }
    if (addresses.empty()) {
        return error(ErrorCode::not_found, host + ": no address");
    }
    return addresses;
}

/// What the control thread and the helper share. The helper keeps it alive: a look-up that takes
/// longer than the resolver lives finds `closed` set, and does not use the io_context.
struct SeedResolver::Shared {
    Shared(boost::asio::io_context& io, Lookup function)
        : control(io), lookup(std::move(function)) {}

    void run(const std::shared_ptr<Shared>& self) {
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return closed || !waiting.empty(); });
            if (closed) {
                return;
            }
            LookupRequest request = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            auto result = lookup(request.host, request.port);
            lock.lock();
            if (closed) {
                return;
            }
            // This is done under the lock, because the io_context exists until `closed` is set.
            boost::asio::post(control, [self, done = std::move(request.done),
                                        answer = std::move(result)]() mutable {
                // No lock is needed, because only the control thread writes `closed`, and this runs
                // on it.
                if (!self->closed) {
                    done(std::move(answer));
                }
            });
        }
    }

    boost::asio::io_context& control;
    const Lookup lookup;
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<LookupRequest> waiting;
    bool closed = false;
};

SeedResolver::SeedResolver(boost::asio::io_context& control, Lookup lookup)
    : shared_(std::make_shared<Shared>(control, std::move(lookup))) {
    std::thread([shared = shared_] { shared->run(shared); }).detach();
}

SeedResolver::~SeedResolver() {
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->closed = true;
        shared_->waiting.clear();
    }
    shared_->wake.notify_all();
}

bool SeedResolver::request(std::string host, std::uint16_t port, Done done) {
    {
        const std::lock_guard lock(shared_->mutex);
        if (shared_->waiting.size() >= kMaxPendingLookups) {
            return false;
        }
        shared_->waiting.push_back({std::move(host), port, std::move(done)});
    }
    shared_->wake.notify_one();
    return true;
}

}  // namespace weir::cluster
