#pragma once
// One member of a fleet without its files and without anything that serves requests: the limiter,
// the engine over its real UDP socket, the quota sets given to it, the snapshot, and their upkeep.
// Host (host.h) owns one and adds the files.
//
// Thread-safety: for the control thread; only the limiter is also used by workers. Ownership: owns
// limiter and cluster; the io_context must outlive it.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "cluster/cluster.h"
#include "config/quota_document.h"
#include "config/settings.h"
#include "limiter/limiter.h"
#include "node/document_keeper.h"
#include "node/quota_sets.h"
#include "node/snapshot_keeper.h"

namespace weir::node {

class LocalNode {
  public:
    /// The seed determines every random choice of its parts.
    LocalNode(boost::asio::io_context& control, const config::Settings& settings,
              std::uint64_t seed);
    LocalNode(const LocalNode&) = delete;
    LocalNode& operator=(const LocalNode&) = delete;

    /// Binds the gossip socket. Unless the settings name an address, the value of the variable
    /// POD_IP is advertised.
    [[nodiscard]] Result<void> open(const config::Settings& settings);
    /// Puts these sets and the overrides of the snapshot in force before it returns. To be called
    /// before start(), so that no request comes earlier. Sets with errors have no effect.
    [[nodiscard]] SetsOutcome apply_first(const std::vector<config::QuotaSet>& sets);
    /// Gives the documents that were in force last, and were kept on disk, to the store: of sets of
    /// which none is in force. Before start() they are in force when it returns. It blocks on the
    /// disk. `room`: how many bytes may be taken, if there is a bound.
    /// `files_are_good`: this member's files have no errors, so these sets are in none of them.
    void apply_kept(std::optional<std::uint64_t> room, bool files_are_good);
    /// Begins to gossip and to maintain the limiter. `files_are_good` says whether this member's
    /// quota files are good and all in force: then the documents are kept on disk.
    void start(std::function<bool()> files_are_good);
    /// Gives later documents to the store; the engine's next tick puts them in force. `by_hand`
    /// means that a person asked for all of them, and not that a file changed.
    [[nodiscard]] SetsOutcome apply(const std::vector<config::QuotaSet>& sets, bool by_hand);
    /// Notes whether this member's quota files cannot be read or have errors.
    void note_bad_files(bool bad);
    /// Sets the callback for later results of long documents, for conflicts with peers, and for
    /// files that were refused and should be read again.
    void on_late_outcome(std::function<void(const SetsOutcome&)> told) { told_ = std::move(told); }
    /// Sets a callback that is called with each upkeep, after the results are known.
    void on_upkeep(std::function<void()> upkeep) { upkeep_ = std::move(upkeep); }
    /// Sets the callback for events of the snapshot. To be called before open().
    void on_snapshot(SnapshotKeeper::Tell told) { told_of_snapshot_ = std::move(told); }
    /// The figures of the snapshot; nothing if the key snapshot.file is not set.
    [[nodiscard]] std::optional<admin::SnapshotFigures> snapshot() const;
    /// By set, why the file of this member is not in force.
    [[nodiscard]] const std::map<std::string, std::string>& set_problems() const {
        return sets_.problems();
    }
    /// By set, what is told of those that stay in force although their file is gone.
    [[nodiscard]] const std::map<std::string, std::string>& sets_without_file() const {
        return sets_.without_file();
    }
    /// By set, why one was refused that does not fit into the memory.
    [[nodiscard]] const std::map<std::string, std::string>& sets_too_large() const {
        return sets_.too_large();
    }
    /// Says goodbye to the peers; limits are only local from here on. Waits until the snapshot is
    /// written.
    void leave();

    [[nodiscard]] limiter::Limiter& limiter() { return limiter_; }
    /// Valid after open().
    [[nodiscard]] cluster::Cluster& cluster() { return *cluster_; }

  private:
    void apply_definitions();
    void maintain();
    void work();
    void schedule_maintenance();

    boost::asio::io_context& control_;
    Random random_;
    boost::asio::steady_timer maintenance_;
    limiter::Limiter limiter_;
    std::unique_ptr<cluster::Cluster> cluster_;
    QuotaSets sets_;
    std::function<void(const SetsOutcome&)> told_;
    std::function<void()> upkeep_;
    SnapshotKeeper::Tell told_of_snapshot_;
    std::unique_ptr<SnapshotKeeper> snapshot_;   ///< of the cluster's definitions
    std::unique_ptr<DocumentKeeper> documents_;  ///< of the same
    bool started_ = false;
};

}  // namespace weir::node
