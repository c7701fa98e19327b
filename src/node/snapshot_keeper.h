#pragma once
// Keeps the overrides of this member in a file, and the counts of windows and long levels that it
// knows. It reads them at start. It writes them again soon after each change of the overrides, and
// counts and levels that changed once a second. It also writes them every hour, so that the file's
// age tells how long the member was away.
//
// A snapshot that cannot be used is refused as a whole, reported, and set aside; of one that is too
// old the counts and levels are used. A file that could not be read, that is no snapshot, or that
// could not be set aside stays as it is, and is not written over. A failure to write a snapshot is
// reported and counted, and the keeper tries again after longer and longer pauses. Nothing waits
// for it: the control thread makes pieces of 64 KiB, one after the other with pauses, and a helper
// thread writes them.
//
// Thread-safety: for the control thread; only the helper thread uses the file. Ownership: it owns
// the helper thread; store, counts and io_context must outlive it. Bounds: there is one piece in
// memory and one attempt at a time, and the share of time that saving takes is limited.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/sources.h"
#include "base/instant.h"
#include "base/result.h"
#include "config/settings.h"
#include "definitions/snapshot.h"
#include "node/snapshot_file.h"
#include "sync/kept_counts.h"
#include "sync/kept_levels.h"

namespace weir::definitions {
class DefinitionStore;
}

namespace weir::node {

/// An event that a person should know of, and its reason.
struct SnapshotNotice {
    bool is_warning = false;
    std::string message;
    std::string reason;
};

/// What of limits is kept beside the overrides.
struct KeptOfLimits {
    sync::KeptCounts& counts;
    sync::KeptLevels& levels;
};

struct SnapshotTiming {
    Duration look = std::chrono::milliseconds(100);    ///< for changes
    Duration settle = std::chrono::milliseconds(200);  ///< several changes in a row are one
    /// After a save, and 20 times what it took; so counts and levels are written once in this time.
    Duration pause = std::chrono::seconds(1);
    Duration refresh = std::chrono::hours(1);  ///< written again without a change
    Duration between_pieces = std::chrono::milliseconds(1);
    Duration first_retry = std::chrono::seconds(1);  ///< after a failure; doubles each time
    Duration last_retry = std::chrono::minutes(5);
};

class SnapshotKeeper {
  public:
    using Tell = std::function<void(const SnapshotNotice&)>;

    /// `cluster` is the name of this member's cluster, empty if it has none. The snapshot of
    /// another cluster is refused.
    SnapshotKeeper(boost::asio::io_context& control, definitions::DefinitionStore& store,
                   const KeptOfLimits& kept, config::SnapshotSettings settings, std::string cluster,
                   Tell tell, SnapshotTiming timing = {});
    SnapshotKeeper(const SnapshotKeeper&) = delete;
    SnapshotKeeper& operator=(const SnapshotKeeper&) = delete;
    ~SnapshotKeeper();

    /// Merges the overrides of the file into the store, and gives its counts and levels away. To be
    /// called before start(). It blocks on the disk.
    void load(Instant now, Duration unix_now);
    void start();
    /// Writes the changes that are not on the disk yet, and stops. It blocks on the disk.
    void stop();

    [[nodiscard]] admin::SnapshotFigures figures() const;

  private:
    /// Why a file is not to be used.
    struct SnapshotRefusal {
        std::string reason;
        /// False: the file stays as it is, because it may belong to another program.
        bool set_aside_wanted = false;
        /// The snapshot is correct, and its counts and levels may be used.
        bool is_old = false;
    };
    [[nodiscard]] static std::optional<SnapshotRefusal> read_whole(
        const SnapshotInput& input, const definitions::SnapshotExpectation& expected,
        definitions::SnapshotReader& reader);
    void take(std::vector<definitions::DefinitionEntry> entries, Duration age, Instant now);
    void take_counts(const std::vector<std::vector<std::byte>>& blocks);
    void take_levels(const std::vector<std::vector<std::byte>>& blocks, Instant now,
                     Duration unix_now);
    [[nodiscard]] std::uint64_t merge(std::vector<definitions::DefinitionEntry> entries,
                                      Instant now);
    void refuse(const SnapshotRefusal& refusal);
    [[nodiscard]] Result<void> may_write_over();
    void look_again();
    void look(Instant now);
    void begin(Instant now);
    void open_writer(Instant now);
    void next_piece();
    /// Writes a piece, on the helper thread: the first piece creates the file, an empty one
    /// completes it.
    [[nodiscard]] Result<std::uint64_t> write(ByteSpan piece);
    void on_written(const Result<std::uint64_t>& outcome, bool was_last);
    void succeed(std::uint64_t bytes, Instant now);
    void fail(const std::string& reason, Instant now);
    void save_at_once();
    void tell(bool is_warning, std::string message, std::string reason) const;
    /// Nothing is told of none.
    void tell_number(bool is_warning, std::string message, std::uint64_t number) const;
    [[nodiscard]] bool changed() const;

    boost::asio::io_context& control_;
    definitions::DefinitionStore& store_;
    sync::KeptCounts& counts_;
    sync::KeptLevels& levels_;
    config::SnapshotSettings settings_;
    std::string cluster_;
    Tell tell_;
    SnapshotTiming timing_;
    boost::asio::steady_timer look_timer_;
    boost::asio::steady_timer piece_timer_;

    admin::SnapshotFigures figures_;
    std::optional<std::uint64_t> saved_;  ///< hash of the overrides on the disk
    std::uint64_t saving_ = 0;            ///< hash of the overrides that are being written
    std::uint64_t saved_counts_ = 0;      ///< KeptCounts::news() of those on the disk
    std::uint64_t saving_counts_ = 0;
    std::uint64_t saved_levels_ = 0;  ///< KeptLevels::news() of those on the disk
    std::uint64_t saving_levels_ = 0;
    std::optional<Instant> changed_since_;
    std::optional<Instant> last_success_;
    Instant began_{};
    Instant next_attempt_{};
    Duration retry_{};
    /// Set while a snapshot is being written.
    std::unique_ptr<definitions::SnapshotWriter> writer_;
    bool stopped_ = false;

    std::optional<SnapshotFile> file_;  ///< used by the helper thread only
    /// A refused file is still in its place. Used by the helper thread only after start().
    bool refused_is_there_ = false;
    /// The last member, because its thread must end before the others are destroyed.
    boost::asio::thread_pool helper_;
};

}  // namespace weir::node
