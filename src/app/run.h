#pragma once
// `weir run`: puts the parts together and keeps them running until a signal says otherwise.
//
// Threads: the calling one becomes the control thread (gossip, admin, status, reload); the proxy
// has workers of its own; files are read and parsed on a helper thread, so that a large quota set
// never holds gossip up.
// Signals: SIGTERM and SIGINT finish what is in flight and end with 0, a second one ends at once
// with 1; SIGHUP reads everything again.

#include "node/loader.h"

namespace weir::app {

/// The process' exit code: 0, or 1 with the reason on standard error.
[[nodiscard]] int run(const node::ConfigSource& source);

/// `weir run --check`: whether run() could start here: settings, quotas, key and token files, free
/// ports. Says what is wrong, starts nothing.
[[nodiscard]] int check(const node::ConfigSource& source);

}  // namespace weir::app
