#pragma once
// What the parts of the module definitions count, for metrics and for tests. All counts are totals
// since the start. Plain values.

#include <cstdint>

namespace weir::definitions {

/// The counts of the exchange by datagrams (exchange.h).
struct DefinitionExchangeCounters {
    std::uint64_t pushes_sent = 0;
    /// Pushes that were not acknowledged in time; a later digest shows the peer what it lacks.
    std::uint64_t pushes_given_up = 0;
    std::uint64_t entries_received = 0;
    std::uint64_t digests_sent = 0;
    std::uint64_t digests_differed = 0;  // of those received: the peer has other overrides
    std::uint64_t pages_sent = 0;        // of overrides or of a document, for a peer that asked
    std::uint64_t documents_fetched = 0;
    std::uint64_t documents_refused = 0;  // too large, invalid, or not the announced content
    std::uint64_t set_counts_sent = 0;    // how files are counted, told to those that vote
    std::uint64_t sets_decided = 0;       // decisions of this member about automatic sets
    std::uint64_t epochs_refused = 0;     // of such decisions, told by peers and impossible
    std::uint64_t bad_messages = 0;
    std::uint64_t bulk_wishes = 0;    // pulls in bulk that were decided upon
    std::uint64_t bulk_failures = 0;  // failed pulls; for 30 s that peer is asked for pages instead
};

/// What became of documents, of edits, and of entries that peers sent.
struct DefinitionStoreCounters {
    // Documents by their DocumentOutcome (store_reports.h).
    std::uint64_t documents_applied = 0;
    std::uint64_t documents_older = 0;
    std::uint64_t document_conflicts = 0;
    std::uint64_t documents_invalid = 0;
    std::uint64_t documents_without_room = 0;  // there was not enough memory left for them
    std::uint64_t edits = 0;
    std::uint64_t edits_refused = 0;
    // Entries of peers by their MergeOutcome (map.h).
    std::uint64_t merged = 0;
    std::uint64_t refused_epochs = 0;
    std::uint64_t refused_full = 0;     // there were too many, or too little memory was left
    std::uint64_t refused_entries = 0;  // the value was not a well-formed definition
    std::uint64_t refused_stale = 0;    // a tombstone whose 24 hours were over
    std::uint64_t edits_outdated = 0;   // the quota had changed since its editor read it
    std::uint64_t overruled = 0;  // changes that arrived after a newer one and never held here
};

/// The counts of the exchange in bulk.
struct BulkCounters {
    std::uint64_t pulls_begun = 0;
    std::uint64_t pulls_done = 0;
    std::uint64_t pulls_failed = 0;
    std::uint64_t served = 0;
    std::uint64_t frames_in = 0;
    std::uint64_t frames_out = 0;
    std::uint64_t frames_refused = 0;  // forged, out of order, of another connection …
};

}  // namespace weir::definitions
