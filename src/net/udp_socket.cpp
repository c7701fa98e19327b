#include "net/udp_socket.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "net/socket_address.h"

namespace weir::net {

/// The arrays for recvmmsg, which are set up once.
struct UdpSocket::Batch {
    explicit Batch(const Options& options)
        : bytes(options.batch * options.max_datagram),
          addresses(options.batch),
          pieces(options.batch),
          messages(options.batch),
          received(options.batch) {
        for (std::size_t i = 0; i < options.batch; ++i) {
            pieces[i] = {.iov_base = bytes.data() + i * options.max_datagram,
                         .iov_len = options.max_datagram};
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
    }

    void prepare() {
        for (std::size_t i = 0; i < messages.size(); ++i) {
            messages[i].msg_hdr.msg_name = &addresses[i].storage;
            messages[i].msg_hdr.msg_namelen = sizeof(addresses[i].storage);
            messages[i].msg_hdr.msg_flags = 0;
        }
    }

    std::vector<std::byte> bytes;
    std::vector<SocketAddress> addresses;
    std::vector<iovec> pieces;
    std::vector<mmsghdr> messages;
    std::vector<ReceivedDatagram> received;
};

namespace {

constexpr std::size_t kMaximumRefused = 64;

/// Whether the error says that no process listens at the port.
bool is_refusal(msghdr& message) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        const bool v4 = part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR;
        const bool v6 = part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR;
        if (!v4 && !v6) {
            continue;
        }
        sock_extended_err error{};
        std::memcpy(&error, CMSG_DATA(part), sizeof(error));
        return error.ee_errno == ECONNREFUSED &&
               (error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6);
    }
    return false;
}

/// Whether an error of sending belongs to an earlier datagram, so that it says nothing about this
/// one.
bool belongs_to_earlier(int number) {
    return number == ECONNREFUSED || number == EHOSTUNREACH || number == ENETUNREACH ||
           number == EPROTO || number == EMSGSIZE;
}

Result<void> set_option(int descriptor, int level, int name, int value, std::string_view what) {
    if (::setsockopt(descriptor, level, name, &value, sizeof(value)) != 0) {
        return system_error(what, errno);
    }
    return {};
}

Result<void> configure(int descriptor, bool v6, const UdpSocket::Options& options) {
    if (v6) {
        auto done = set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY");
        if (!done) {
            return done;
        }
        done = set_option(descriptor, IPPROTO_IPV6, IPV6_RECVERR, 1, "IPV6_RECVERR");
        if (!done) {
            return done;
        }
    }
    // Without this option the kernel does not tell an unconnected socket to which address an error
    // belongs.
    auto errors = set_option(descriptor, IPPROTO_IP, IP_RECVERR, 1, "IP_RECVERR");
    if (!errors) {
        return errors;
    }
    if (options.receive_buffer_bytes > 0) {
        auto done = set_option(descriptor, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes,
                               "SO_RCVBUF");
        if (!done) {
            return done;
        }
    }
    if (options.send_buffer_bytes > 0) {
        return set_option(descriptor, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes,
                          "SO_SNDBUF");
    }
    return {};
}

}  // namespace

Result<UdpSocket> UdpSocket::open(const Endpoint& local, const Options& options) {
    const auto address = to_socket_address(local);
    FileDescriptor descriptor(
        ::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!descriptor.is_open()) {
        return system_error("socket", errno);
    }
    auto configured = configure(descriptor.get(), address.family() == AF_INET6, options);
    if (!configured) {
        return configured.error();
    }
    if (::bind(descriptor.get(), address.get(), address.length) != 0) {
        return system_error("bind " + to_string(local), errno);
    }
    auto bound = local_address(descriptor.get());
    if (!bound) {
        return bound.error();
    }
    return UdpSocket(std::move(descriptor), to_endpoint(*bound), options);
}

UdpSocket::UdpSocket(FileDescriptor descriptor, const Endpoint& local, const Options& options)
    : descriptor_(std::move(descriptor)),
      local_(local),
      v6_(!local.is_v4()),
      batch_(std::make_unique<Batch>(options)) {}

UdpSocket::UdpSocket(UdpSocket&&) noexcept = default;
UdpSocket& UdpSocket::operator=(UdpSocket&&) noexcept = default;
UdpSocket::~UdpSocket() = default;

int UdpSocket::native_handle() const { return descriptor_.get(); }
const Endpoint& UdpSocket::local() const { return local_; }
std::uint64_t UdpSocket::receive_errors() const { return receive_errors_; }

std::span<const ReceivedDatagram> UdpSocket::receive() {
    if (errors_wait_) {
        read_errors();
    }
    // Each pending ICMP error makes one call fail. A few are skipped now, the others with the next
    // receive().
    for (int attempt = 0; attempt < 8; ++attempt) {
        batch_->prepare();
        const int count =
            ::recvmmsg(descriptor_.get(), batch_->messages.data(),
                       static_cast<unsigned>(batch_->messages.size()), MSG_DONTWAIT, nullptr);
        if (count < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return {};
            }
            if (errno != EINTR) {
                ++receive_errors_;
                read_errors();
            }
            continue;
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            const auto& message = batch_->messages[i];
            batch_->addresses[i].length = message.msg_hdr.msg_namelen;
            const auto* data = static_cast<const std::byte*>(batch_->pieces[i].iov_base);
            batch_->received[i] = {.from = to_endpoint(batch_->addresses[i]),
                                   .bytes = ByteSpan(data, message.msg_len),
                                   .truncated = (message.msg_hdr.msg_flags & MSG_TRUNC) != 0};
        }
        return {batch_->received.data(), static_cast<std::size_t>(count)};
    }
    return {};
}

SendResult UdpSocket::send(const Endpoint& to, ByteSpan bytes) {
    const auto address = v6_ ? to_v6_socket_address(to) : to_socket_address(to);
    for (int attempt = 0; attempt < 3; ++attempt) {
        const auto sent = ::sendto(descriptor_.get(), bytes.data(), bytes.size(),
                                   MSG_DONTWAIT | MSG_NOSIGNAL, address.get(), address.length);
        if (sent >= 0) {
            return SendResult::sent;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
            return SendResult::would_block;
        }
        const bool earlier = belongs_to_earlier(errno);
        errors_wait_ = errors_wait_ || earlier;
        if (errno != EINTR && !earlier) {
            break;
        }
    }
    return SendResult::failed;
}

/// Reads a bounded number of errors from the queue. The others are read with the next datagrams.
void UdpSocket::read_errors() {
    errors_wait_ = false;
    for (std::size_t i = 0; i < kMaximumRefused; ++i) {
        if (!read_error()) {
            return;
        }
    }
    errors_wait_ = true;
}

bool UdpSocket::read_error() {
    SocketAddress to;
    std::array<std::byte, 64> bytes;
    alignas(cmsghdr) std::array<std::byte, 512> control;
    iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr message{};
    message.msg_name = &to.storage;
    message.msg_namelen = sizeof(to.storage);
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(descriptor_.get(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        return false;
    }
    to.length = message.msg_namelen;
    if (!is_refusal(message) || refused_.size() >= kMaximumRefused) {
        return true;
    }
    const Endpoint address = to_endpoint(to);
    if (std::find(refused_.begin(), refused_.end(), address) == refused_.end()) {
        refused_.push_back(address);
    }
    return true;
}

std::vector<Endpoint> UdpSocket::take_refused() { return std::exchange(refused_, {}); }

}  // namespace weir::net
