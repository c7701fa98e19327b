#pragma once
// Work that comes again and again, and the step that arranges its next time.

namespace weir {

/// Arranges the next time also when the work throws, which goes on to the caller: whoever catches
/// on the control thread (an embedding program's does) would otherwise never see this work again.
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
