#pragma once
// What the definitions' parts count, for metrics and for tests. All are totals since the start.

#include <cstdint>

namespace weir::definitions {

/// The exchange by datagrams.
struct DefinitionExchangeCounters {
    std::uint64_t pushes_sent = 0;
    std::uint64_t pushes_given_up = 0;  // left to the digests
    std::uint64_t entries_received = 0;
    std::uint64_t digests_sent = 0;
    std::uint64_t digests_differed = 0;
    std::uint64_t pages_sent = 0;
    std::uint64_t documents_fetched = 0;
    std::uint64_t documents_refused = 0;  // too large, other content than announced, invalid
    std::uint64_t bad_messages = 0;
    std::uint64_t bulk_wishes = 0;
    std::uint64_t bulk_failures = 0;  // pages instead, for half a minute
};

/// What came of changes.
struct DefinitionStoreCounters {
    std::uint64_t documents_applied = 0;
    std::uint64_t documents_older = 0;
    std::uint64_t document_conflicts = 0;
    std::uint64_t documents_invalid = 0;
    std::uint64_t edits = 0;
    std::uint64_t edits_refused = 0;
    std::uint64_t merged = 0;
    std::uint64_t refused_epochs = 0;
    std::uint64_t refused_full = 0;
    std::uint64_t refused_entries = 0;  // did not decode
    std::uint64_t refused_stale = 0;    // a tombstone at the end of its time
    std::uint64_t edits_outdated = 0;   // the quota had changed meanwhile
    std::uint64_t overruled = 0;        // a concurrent change that lost
};

/// The exchange in bulk.
struct BulkCounters {
    std::uint64_t pulls_begun = 0;
    std::uint64_t pulls_done = 0;
    std::uint64_t pulls_failed = 0;
    std::uint64_t served = 0;
    std::uint64_t frames_in = 0;
    std::uint64_t frames_out = 0;
    std::uint64_t frames_refused = 0;  // not opened, out of order, of another connection …
};

}  // namespace weir::definitions
