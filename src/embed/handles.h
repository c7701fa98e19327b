#pragma once
// The struct behind the opaque weir_worker of the C interface. Its fleet owns it.

#include "embed/worker.h"
#include "weir/weir.h"

namespace weir::embed {
class Fleet;
}

struct weir_worker {
    weir::embed::Fleet& fleet;
    weir::embed::EmbeddedWorker worker;
};
