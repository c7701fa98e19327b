#pragma once
// A bound, non-blocking UDP socket that reads and writes datagrams in batches (recvmmsg,
// sendmmsg). It knows no event loop: the caller waits until native_handle() is readable (with a
// boost::asio::posix::stream_descriptor that does not own it) and then calls receive() until it
// returns nothing.
//
// Thread-safety: none. Ownership: owns the descriptor. The views in a ReceivedDatagram point into
// the socket's own buffers and are valid until the next receive(). A socket that is bound to "::"
// receives IPv4 datagrams as well.

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
    /// The datagram was longer than max_datagram and the rest is lost; it must not be parsed.
    bool truncated = false;
};

/// `would_block`: the kernel's buffer is full. `failed`: any other error; the datagram is lost.
enum class SendResult { sent, would_block, failed };

class UdpSocket {
  public:
    struct Options {
        std::size_t batch = 32;           ///< the most datagrams of one receive()
        std::size_t max_datagram = 2048;  ///< the most bytes of a datagram
        int receive_buffer_bytes = 0;     ///< SO_RCVBUF; 0 keeps the kernel's default
        int send_buffer_bytes = 0;        ///< SO_SNDBUF; 0 keeps the kernel's default
    };

    [[nodiscard]] static Result<UdpSocket> open(const Endpoint& local, const Options& options);
    UdpSocket(UdpSocket&&) noexcept;
    UdpSocket& operator=(UdpSocket&&) noexcept;
    ~UdpSocket();

    [[nodiscard]] int native_handle() const;
    /// The bound address, with the port that the kernel chose if 0 was asked for.
    [[nodiscard]] const Endpoint& local() const;

    /// Up to `batch` of the datagrams that wait in the kernel; an empty span when none does. Errors
    /// that belong to earlier sends (ICMP unreachable) are only counted, in receive_errors().
    [[nodiscard]] std::span<const ReceivedDatagram> receive();
    /// Addresses at which no process listens, as their hosts have answered since the last call
    /// (ICMP port unreachable); each address once, at most 64. Such an answer can be forged: it is
    /// a hint and no proof.
    [[nodiscard]] std::vector<Endpoint> take_refused();
    [[nodiscard]] SendResult send(const Endpoint& to, ByteSpan bytes);

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
