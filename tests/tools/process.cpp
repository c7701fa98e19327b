#include "tools/process.h"

#include <sys/prctl.h>

#include <csignal>

namespace weir::tools {
namespace {

volatile std::sig_atomic_t stop = 0;

void request_stop(int) { stop = 1; }

}  // namespace

void follow_parent_and_signals() {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct sigaction action {};
    action.sa_handler = request_stop;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() { return stop != 0; }

}  // namespace weir::tools
