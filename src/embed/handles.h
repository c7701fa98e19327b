#pragma once
// What the opaque weir_worker of the C interface is. Owned by its fleet.

#include "embed/worker.h"
#include "weir/weir.h"

namespace weir::embed {
class Fleet;
}

struct weir_worker {
    weir::embed::Fleet& fleet;
    weir::embed::EmbeddedWorker worker;
};
