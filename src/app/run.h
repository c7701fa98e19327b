#pragma once
// `weir run` puts the parts of a sidecar together and keeps them running until a signal ends it.
//
// Threads: the calling thread becomes the control thread, which serves gossip, the admin and status
// listeners, and reloads. The proxy has workers of its own. Files are read and parsed on a helper
// thread, so that a large quota set never delays gossip. Signals: SIGTERM and SIGINT finish the
// requests in flight and end the process with 0; a second one ends it at once with 1. SIGHUP reads
// all files again.

#include "node/loader.h"

namespace weir::app {

/// Returns the exit code of the process: 0, or 1 with the reason on standard error. Quota files
/// with errors do not keep it from starting. With `strict` they do, and so do warnings.
[[nodiscard]] int run(const node::ConfigSource& source, bool strict);

/// `weir run --check` finds out whether run() could start here: it reads settings, quotas, key file
/// and token file, and tries the ports. It prints the errors and starts nothing.
[[nodiscard]] int check(const node::ConfigSource& source, bool strict);

}  // namespace weir::app
