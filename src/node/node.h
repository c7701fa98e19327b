#pragma once
// One member of a fleet without anything that serves requests: the limiter, the engine over its
// real UDP socket, the quota files given to it, and their upkeep. A sidecar (app) is a member with
// a proxy and listeners, an embedding program (embed) one without.
//
// Thread-safety: control thread, but for the limiter's own workers. Ownership: owns limiter and
// cluster; the io_context must outlive it.

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
#include "node/quota_sets.h"
#include "node/snapshot_keeper.h"

namespace weir::node {

class Member {
  public:
    /// The seed feeds every random choice of its parts.
    Member(boost::asio::io_context& control, const config::Settings& settings, std::uint64_t seed);
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    /// Binds the gossip socket. POD_IP of the environment is advertised unless the settings say
    /// what.
    [[nodiscard]] Result<void> open(const config::Settings& settings);
    /// Before start(): these sets, and the overrides of the snapshot, are in force when it returns,
    /// so that no request comes earlier.
    /// An error is a conflict between documents.
    [[nodiscard]] Result<void> apply_first(const std::vector<config::QuotaSet>& sets);
    /// Begins to gossip and to look after the limiter.
    void start();
    /// Later documents: the engine's next tick puts them in force. `by_hand`: not because a file
    /// changed, but because somebody asked for all of them.
    [[nodiscard]] SetsOutcome apply(const std::vector<config::QuotaSet>& sets, bool by_hand);
    /// Told what comes of long documents later on, of conflicts with what peers have, and when
    /// files that were refused are to be read again.
    void on_late_outcome(std::function<void(const SetsOutcome&)> told) { told_ = std::move(told); }
    /// Told of the snapshot; set it before open().
    void on_snapshot(SnapshotKeeper::Tell told) { told_of_snapshot_ = std::move(told); }
    /// Nothing without snapshot.file.
    [[nodiscard]] std::optional<admin::SnapshotFigures> snapshot() const;
    /// By set: why the file here is not what is in force.
    [[nodiscard]] const std::map<std::string, std::string>& set_problems() const {
        return sets_.problems();
    }
    /// Says goodbye to the peers; limits are only local from here on. Waits for the snapshot.
    void leave();

    [[nodiscard]] limiter::Limiter& limiter() { return limiter_; }
    /// After open().
    [[nodiscard]] cluster::Cluster& cluster() { return *cluster_; }

  private:
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
    SnapshotKeeper::Tell told_of_snapshot_;
    std::unique_ptr<SnapshotKeeper> snapshot_;  ///< of the cluster's definitions
};

}  // namespace weir::node
