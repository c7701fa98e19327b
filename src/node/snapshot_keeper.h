#pragma once
// Keeps the overrides of this member in a file: reads them at start, and writes them again soon
// after each change, and every hour so that the file's age tells how long the member was away.
//
// A snapshot that cannot be used is refused whole, told, and set aside; what could not be read, is
// no snapshot or could not be set aside stays as it is and is not written over. One that cannot be
// written is told, counted, and tried again, more and more seldom. Nothing waits for either: pieces
// of 64 KiB are made on the control thread, one after the other with pauses, and written by a
// helper.
//
// Thread-safety: control thread; the file is the helper thread's. Ownership: owns the helper; store
// and io_context are borrowed and must outlive it. Bounded: one piece in memory, one attempt at a
// time, the share of time that is spent on saving.

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

namespace weir::definitions {
class DefinitionStore;
}

namespace weir::node {

/// What a person should know: an event, and why.
struct SnapshotNotice {
    bool is_warning = false;
    std::string message;
    std::string reason;
};

struct SnapshotTiming {
    Duration look = std::chrono::milliseconds(100);    ///< for changes
    Duration settle = std::chrono::milliseconds(200);  ///< several changes in a row are one
    Duration pause = std::chrono::seconds(1);          ///< after a save, and 20 times what it took
    Duration refresh = std::chrono::hours(1);          ///< written again without a change
    Duration between_pieces = std::chrono::milliseconds(1);
    Duration first_retry = std::chrono::seconds(1);  ///< after a failure; doubles each time
    Duration last_retry = std::chrono::minutes(5);
};

class SnapshotKeeper {
  public:
    using Tell = std::function<void(const SnapshotNotice&)>;

    /// Overrides of another cluster's snapshot are refused; of none, `cluster` is empty.
    SnapshotKeeper(boost::asio::io_context& control, definitions::DefinitionStore& store,
                   config::SnapshotSettings settings, std::string cluster, Tell tell,
                   SnapshotTiming timing = {});
    SnapshotKeeper(const SnapshotKeeper&) = delete;
    SnapshotKeeper& operator=(const SnapshotKeeper&) = delete;
    ~SnapshotKeeper();

    /// Before start(): merges what the file has into the store. Blocks.
    void load(Instant now, Duration unix_now);
    void start();
    /// Ends it, after what is not on the disk yet was written. Blocks.
    void stop();

    [[nodiscard]] admin::SnapshotFigures figures() const;

  private:
    /// Why a file is not to be used.
    struct Refusal {
        std::string reason;
        bool set_aside_wanted = false;  ///< else it stays as it is: it may be somebody else's
    };
    [[nodiscard]] static std::optional<Refusal> read_whole(
        const SnapshotInput& input, const definitions::SnapshotExpectation& expected,
        definitions::SnapshotReader& reader);
    void take(std::vector<definitions::DefinitionEntry> entries, Duration age, Instant now);
    [[nodiscard]] std::uint64_t merge(std::vector<definitions::DefinitionEntry> entries,
                                      Instant now);
    void refuse(const Refusal& refusal);
    [[nodiscard]] Result<void> may_write_over();
    void look_again();
    void look(Instant now);
    void begin(Instant now);
    void next_piece();
    /// On the helper: the first piece makes the file, an empty one ends it.
    [[nodiscard]] Result<std::uint64_t> write(ByteSpan piece);
    void on_written(const Result<std::uint64_t>& outcome, bool was_last);
    void succeed(std::uint64_t bytes, Instant now);
    void fail(const std::string& reason, Instant now);
    void save_at_once();
    void tell(bool is_warning, std::string message, std::string reason) const;
    [[nodiscard]] bool changed() const;

    boost::asio::io_context& control_;
    definitions::DefinitionStore& store_;
    config::SnapshotSettings settings_;
    std::string cluster_;
    Tell tell_;
    SnapshotTiming timing_;
    boost::asio::steady_timer look_timer_;
    boost::asio::steady_timer piece_timer_;

    admin::SnapshotFigures figures_;
    std::optional<std::uint64_t> saved_;  ///< hash of the overrides on the disk
    std::uint64_t saving_ = 0;            ///< of those being written
    std::optional<Instant> changed_since_;
    std::optional<Instant> last_success_;
    Instant began_{};
    Instant next_attempt_{};
    Duration retry_{};
    std::unique_ptr<definitions::SnapshotWriter> writer_;  ///< while one is being written
    bool stopped_ = false;

    std::optional<SnapshotFile> file_;  ///< the helper's
    /// Refused and still in its place. The helper's after start().
    bool refused_is_there_ = false;
    /// Last: its thread must be gone before the rest.
    boost::asio::thread_pool helper_;
};

}  // namespace weir::node
