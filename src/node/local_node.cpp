#include "node/local_node.h"

#include <algorithm>
#include <cstdlib>

#include "base/work_then.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "net/clock.h"

namespace weir::node {
namespace {

constexpr std::chrono::milliseconds kMaintenance{100};

limiter::LimiterOptions limiter_options(const config::Settings& settings, std::uint64_t seed) {
    limiter::LimiterOptions options;
    options.max_instances = static_cast<std::uint32_t>(settings.limiter.max_instances);
    options.max_weight = settings.limiter.max_weight;
    options.max_statistics =
        std::max(options.max_statistics, static_cast<std::uint32_t>(settings.max_quota_series));
    options.seed = seed;
    return options;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

LocalNode::LocalNode(boost::asio::io_context& control, const config::Settings& settings,
                     std::uint64_t seed)
    : control_(control),
      random_(seed),
      maintenance_(control),
      limiter_(limiter_options(settings, random_.next())),
      sets_(settings.cluster.has_value()) {
    limiter_.set_wall_clock(net::unix_ahead());
}

Result<void> LocalNode::open(const config::Settings& settings) {
    cluster::ClusterOptions options;
    options.settings = settings.cluster;
    options.anchor = settings.role == config::MemberRole::anchor;
    options.pod_ip = environment("POD_IP");
    auto opened = cluster::Cluster::open(control_, limiter_, std::move(options), random_.next());
    if (!opened) {
        return opened.error();
    }
    cluster_ = std::move(*opened);
    if (!settings.snapshot.file.empty()) {
        snapshot_ = std::make_unique<SnapshotKeeper>(
            control_, cluster_->engine().definitions(),
            KeptOfLimits{cluster_->engine().kept_counts(), cluster_->engine().kept_levels()},
            settings.snapshot, settings.cluster ? settings.cluster->name : "", told_of_snapshot_);
        documents_ = std::make_unique<DocumentKeeper>(
            control_, cluster_->engine().definitions(), settings.snapshot.file + ".quotas",
            settings.cluster ? settings.cluster->name : "", told_of_snapshot_);
    }
    return {};
}

SetsOutcome LocalNode::apply_first(const std::vector<config::QuotaSet>& sets) {
    definitions::DefinitionStore& store = cluster_->engine().definitions();
    SetsOutcome outcome = sets_.apply(sets, store, net::now(), true);
    if (snapshot_) {
        snapshot_->load(net::now(), net::unix_time());
    }
    apply_definitions();
    return outcome;
}

void LocalNode::apply_kept(std::optional<std::uint64_t> room, bool files_are_good) {
    if (!documents_) {
        return;
    }
    definitions::DefinitionStore& store = cluster_->engine().definitions();
    documents_->tell_used(sets_.apply_kept(documents_->load(room), documents_->file(), store,
                                           net::now(), !started_, files_are_good));
    if (!started_) {
        apply_definitions();
    }
}

/// Puts all of them in force. The engine would begin with it only at its first tick, and no request
/// may come before it.
void LocalNode::apply_definitions() {
    while (cluster_->engine().apply_definitions(net::now())) {
    }
}

void LocalNode::start(std::function<bool()> files_are_good) {
    started_ = true;
    cluster_->start();
    if (snapshot_) {
        snapshot_->start();
        documents_->start(std::move(files_are_good));
    }
    maintain();
}

SetsOutcome LocalNode::apply(const std::vector<config::QuotaSet>& sets, bool by_hand) {
    return sets_.apply(sets, cluster_->engine().definitions(), net::now(), false, by_hand);
}

void LocalNode::note_bad_files(bool bad) { cluster_->engine().definitions().files().note_bad(bad); }

void LocalNode::leave() {
    cluster_->leave();
    cluster_->stop();
    maintenance_.cancel();
    if (snapshot_) {
        documents_->stop();
        snapshot_->stop();
    }
}

std::optional<admin::SnapshotFigures> LocalNode::snapshot() const {
    if (!snapshot_) {
        return std::nullopt;
    }
    return snapshot_->figures();
}

void LocalNode::maintain() {
    work_then([this] { work(); }, [this] { schedule_maintenance(); });
}

void LocalNode::work() {
    limiter_.maintain(net::now());
    const SetsOutcome late = sets_.poll(cluster_->engine().definitions(), net::now());
    const bool news =
        !late.errors.empty() || !late.older.empty() || !late.over.empty() || !late.gone.empty();
    if (told_ && (news || late.again)) {
        told_(late);
    }
    if (upkeep_) {
        upkeep_();
    }
}

void LocalNode::schedule_maintenance() {
    maintenance_.expires_after(kMaintenance);
    maintenance_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure) {
            maintain();
        }
    });
}

}  // namespace weir::node
