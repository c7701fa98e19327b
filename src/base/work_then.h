#pragma once
// Runs repeated work and then schedules its next run, whatever the work does. No state,
// thread-safe.

namespace weir {

/// Calls work() and then next(), which schedules the next run. When work() throws, next() is called
/// as well and the exception passes on to the caller: the control thread of an embedding program
/// catches it, and without next() the work would never run again.
template <class Work, class Next>
void work_then(Work work, Next next) {
    try {
        work();
    } catch (...) {
        next();
        throw;
    }
    next();
}

}  // namespace weir
