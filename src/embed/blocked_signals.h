#pragma once
// While it lives, the calling thread blocks all signals that can be blocked with sense, and threads
// made meanwhile inherit that: the host program's handlers must not run on the library's threads.

#include <pthread.h>
#include <csignal>

namespace weir::embed {

class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        // Faults of the thread itself: the host's crash reporter may want them.
        for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
            sigdelset(&all, number);
        }
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace weir::embed
