#pragma once
// While an object of this class lives, the thread that made it blocks all signals except those that
// a thread causes itself, for instance by a wild pointer. Threads that it starts in that time
// inherit this, because the signal handlers of the embedding program must not run on the library's
// threads. Each thread uses an object of its own.

#include <pthread.h>
#include <csignal>

namespace weir::embed {

class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        // Signals for faults of the thread itself: a crash reporter of the embedding program may
        // need them.
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
