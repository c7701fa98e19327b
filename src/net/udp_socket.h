#pragma once
// A bound, non-blocking UDP socket that reads and writes datagrams in batches (recvmmsg,
// sendmmsg). It knows no event loop: wait for native_handle() to become readable
// (boost::asio::posix::stream_descriptor, without giving it ownership), then receive() until it
// gives nothing.
//
// Thread-safety: none. Ownership: owns the descriptor. Views in ReceivedDatagram point into the
// socket's own buffers and hold until the next receive().
// A socket bound to an IPv6 address takes IPv4 traffic too, if that address is "::".

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/result.h"
#include "net/file_descriptor.h"

namespace weir::net {

struct ReceivedDatagram {
    Endpoint from;
    ByteSpan bytes;
    /// Longer than max_datagram: the rest is lost, so whoever parses it should not.
    bool truncated = false;
};

enum class SendResult { sent, would_block, failed };

class UdpSocket {
  public:
    struct Options {
        std::size_t batch = 32;           ///< datagrams of one receive()
        std::size_t max_datagram = 2048;  ///< bytes kept of each
        int receive_buffer_bytes = 0;     ///< SO_RCVBUF; 0 keeps the kernel's default
        int send_buffer_bytes = 0;        ///< SO_SNDBUF; 0 keeps the kernel's default
    };

    [[nodiscard]] static Result<UdpSocket> open(const Endpoint& local, const Options& options);
    UdpSocket(UdpSocket&&) noexcept;
    UdpSocket& operator=(UdpSocket&&) noexcept;
    ~UdpSocket();

    [[nodiscard]] int native_handle() const;
    /// The bound address; its port is known even if 0 was asked for.
    [[nodiscard]] const Endpoint& local() const;

    /// Up to `batch` datagrams that wait in the kernel, an empty span if none. Errors that belong
    /// to earlier sends (ICMP unreachable) are swallowed and counted in receive_errors().
    [[nodiscard]] std::span<const ReceivedDatagram> receive();
    /// Addresses of which a host said since the last call that nobody listens there (ICMP port
    /// unreachable), each once, at most 64. Anybody may have forged that: a hint, no proof.
    [[nodiscard]] std::vector<Endpoint> take_refused();
    [[nodiscard]] SendResult send(const Endpoint& to, ByteSpan bytes);
    /// Reads away what waits; gives the number of datagrams.
    std::size_t discard_waiting();

    [[nodiscard]] std::uint64_t receive_errors() const;

  private:
    struct Batch;
    UdpSocket(FileDescriptor descriptor, const Endpoint& local, const Options& options);

    FileDescriptor descriptor_;
    Endpoint local_;
    void read_errors();
    bool read_error();

    bool v6_ = false;
    bool errors_wait_ = false;
    std::vector<Endpoint> refused_;
    std::uint64_t receive_errors_ = 0;
    std::unique_ptr<Batch> batch_;
};

}  // namespace weir::net
