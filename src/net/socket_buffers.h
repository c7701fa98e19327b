#pragma once
// How much the kernel holds of one stream socket. Without a bound it lets a socket's buffers grow
// to megabytes, and a reader that stands still fills them.
//
// Of TCP, what is received and not read yet is bounded by SO_RCVBUF, and what is to be sent and has
// not been sent by TCP_NOTSENT_LOWAT. What was sent and is not acknowledged comes on top: it is
// what the network has under way, which a bound would make slower over long distances, and a reader
// that stands still acknowledges what it has. Of a unix socket the sender's SO_SNDBUF bounds both.
//
// Pure system calls; thread-safe.

#include <cstddef>

namespace weir::net {

/// Bounds the buffers of a socket of this family, to `bytes` for each direction; 0: the kernel
/// decides. Sockets that a listening socket accepts later have its bounds. To be called before
/// connect(). What the kernel does not allow is left out; its own bounds may be lower.
void bound_socket_buffers(int descriptor, int family, std::size_t bytes);

}  // namespace weir::net
