#include "net/socket_buffers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>

namespace weir::net {
namespace {

/// Since Linux 5.14; older kernels go on with the size that was set last.
constexpr int kBufferLock = 72;  // SO_BUF_LOCK

void set(int descriptor, int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof(value));
}

}  // namespace

void bound_socket_buffers(int descriptor, int family, std::size_t bytes) {
    const auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    const int size = static_cast<int>(std::min(bytes, most));
    if (family != AF_UNIX) {
        set(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, size);
    }
    if (size == 0) {
        set(descriptor, SOL_SOCKET, kBufferLock, 0);
        return;
    }
    // The kernel doubles these, because it counts its own overhead as well.
    set(descriptor, SOL_SOCKET, family == AF_UNIX ? SO_SNDBUF : SO_RCVBUF, std::max(1, size / 2));
}

}  // namespace weir::net
