#pragma once
// Keeps the quota documents that are in force in a file, for a start at which this member's quota
// files are missing or bad, or no longer have a set that is in force. The file lies beside the
// snapshot of overrides and is written soon after the documents change, but only while the quota
// files are good: so it has what was in force when they were good last.
//
// A failure to write is told once for each reason and tried again after longer and longer pauses.
// A file that belongs to another program is not written over.
//
// Thread-safety: for the control thread; a helper thread writes the file. load() and stop() block
// on the disk. Ownership: it owns the helper thread; store and io_context must outlive it. Bounds:
// one writing at a time, which shares the documents' bytes with the store.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "definitions/kept_documents.h"
#include "node/quota_sets.h"
#include "node/snapshot_keeper.h"

namespace weir::node {

class DocumentKeeper {
  public:
    using Tell = SnapshotKeeper::Tell;

    /// `cluster` as for the SnapshotKeeper. Of `timing` only `look` and the pauses of retries are
    /// used.
    DocumentKeeper(boost::asio::io_context& control, const definitions::DefinitionStore& store,
                   std::string file, std::string cluster, Tell tell, SnapshotTiming timing = {});
    DocumentKeeper(const DocumentKeeper&) = delete;
    DocumentKeeper& operator=(const DocumentKeeper&) = delete;
    ~DocumentKeeper();

    [[nodiscard]] const std::string& file() const { return file_; }
    /// The documents of the file; none if there is no file, or if it is bad or larger than there is
    /// room, which is told. `room`: how many bytes may be taken, if there is a bound.
    [[nodiscard]] std::vector<definitions::KeptDocument> load(
        std::optional<std::uint64_t> room = std::nullopt) const;
    /// Tells which of the documents are used.
    void tell_used(const KeptOutcome& outcome) const;
    /// Begins to write; `are_good` says whether the quota files are good and all in force.
    void start(std::function<bool()> are_good);
    /// Writes what has changed, and stops.
    void stop();

  private:
    [[nodiscard]] std::uint64_t fingerprint() const;
    void look_again();
    void look(Instant now);
    void on_written(const Result<void>& outcome, std::uint64_t what);
    void tell(bool is_warning, std::string message, std::string reason) const;

    boost::asio::io_context& control_;
    const definitions::DefinitionStore& store_;
    std::string file_;
    std::string cluster_;
    Tell tell_;
    SnapshotTiming timing_;
    std::function<bool()> are_good_;
    boost::asio::steady_timer timer_;
    std::optional<std::uint64_t> saved_;  ///< fingerprint of what is on the disk
    std::uint64_t seen_ = 0;              ///< that of the last look: documents settle first
    bool writing_ = false;
    bool stopped_ = false;
    Instant next_attempt_{};
    Duration retry_;
    std::string problem_;

    /// The last member, because its thread must end before the others are destroyed.
    boost::asio::thread_pool helper_;
};

}  // namespace weir::node
