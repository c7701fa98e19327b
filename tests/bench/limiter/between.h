#pragma once
// What lies between two checks, and between routing a request and checking it.

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <atomic>
#include <cstddef>

#include "base/random.h"
#include "http/request_id.h"

/// Waits until everything before has been done, and begins nothing behind it earlier. In a proxy
/// the work of several microseconds lies between two checks; a loop of checks alone lets the
/// processor begin the next one while the last one waits for memory, which hides a part of each
/// wait.
inline void fence() {
#ifdef __SSE2__
    _mm_mfence();
    _mm_lfence();
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// What the proxy does between routing a request and deciding it: it makes the request's id. (The
/// little that it does besides is left out.)
class Between {
  public:
    std::size_t work() {
        weir::http::MadeRequestId room;
        return weir::http::make_request_id(room, random_).size() +
               static_cast<unsigned char>(room[0]);
    }
    /// The same for many requests, each with its fence: what is not the check's own time.
    std::size_t alone(std::size_t requests) {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < requests; ++i) {
            fence();
            sum += work();
        }
        return sum;
    }

  private:
    weir::Random random_{11};
};
