#pragma once
// One running member of a fleet with its files. It has the node and the settings in force. It
// watches the settings' file (that of a sidecar only), quota files and gossip keys, and reads them
// again when they change. A sidecar (app) has a host, a proxy and listeners, an embedding program
// (embed) only a host. Each reports to its users what it learns through a HostListener.
//
// If the files have errors, what was in force stays in force. Settings and quotas that are read
// together are put in force together or not at all, keys independently of them. Each quota set that
// is older, in conflict or has no room is left out, and the settings and other sets take effect
// without it. Quotas that came with bad settings are read alone.
//
//     Host() ──► open() ──► apply_first() ──► start() ──► stop_reloading() ──► leave() ──► join()
//
// Thread-safety: for the control thread; only the limiter is also used by workers. Ownership: owns
// the node and a helper thread that reads files; listener and io_context must outlive it.

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/engine_quotas.h"
#include "admin/sources.h"
#include "base/instant.h"
#include "base/result.h"
#include "node/file_watch.h"
#include "node/loader.h"
#include "node/local_node.h"
#include "node/reload_record.h"
#include "node/reloader.h"

namespace weir::node {

/// Gets the events of a host, on the control thread, and puts them into words for people.
class HostListener {
  public:
    HostListener(const HostListener&) = delete;
    HostListener& operator=(const HostListener&) = delete;

    /// The key file was read again, and something about it should be corrected.
    virtual void keys_warned(const std::string& warning) = 0;
    /// The key file could not be read again. The keys in use stay.
    virtual void keys_failed(const std::string& reason) = 0;
    virtual void keys_changed() {}
    /// The quota files were bad or missing at the start. The member runs with what its fleet and
    /// its snapshot have, and the files are read again when they change.
    virtual void first_quotas_failed(const std::vector<std::string>& /*errors*/) {}
    /// Settings or quotas had errors, and nothing of them is put in force.
    virtual void reload_failed(const std::vector<std::string>& errors) = 0;
    /// What was read is in force, but for quota sets that are older, in conflict or have no room.
    virtual void sets_left_out(const std::vector<std::string>& errors) = 0;
    /// Quota sets were given to the fleet. Their errors come with sets_left_out().
    virtual void sets_applied(const SetsOutcome& outcome) = 0;
    /// Later results of quota sets: of long ones, or of conflicts with a peer that have shown.
    virtual void late_outcome(const SetsOutcome& outcome) = 0;
    /// These settings are in force now; `after_restart` has the keys that wait for a restart.
    virtual void settings_taken_over(const config::Settings& /*in_force*/,
                                     const std::vector<std::string>& /*after_restart*/) {}
    /// A reload of everything was requested: the owner of the host reads its own files again.
    virtual void read_own_files() {}
    virtual void reloaded(std::size_t /*quota_sets*/) {}
    virtual void snapshot_noted(const SnapshotNotice& /*notice*/) {}

  protected:
    HostListener() = default;
    ~HostListener() = default;
};

class Host {
  public:
    /// The settings in `loaded` must have no errors; of quotas with errors none is used. The seed
    /// determines every random choice of all parts.
    Host(boost::asio::io_context& control, ConfigSource source, Loaded loaded,
         HostListener& listener, std::uint64_t seed);
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    ~Host();

    /// Binds the gossip socket.
    [[nodiscard]] Result<void> open();
    /// From now on sets of quotas that would take more bytes than `left` says are refused as a
    /// whole; it says nothing if there is no bound. Valid after open().
    void bound_memory(std::function<std::optional<std::uint64_t>()> left);
    /// Puts the quota sets of the files in force before it returns. The error says what is wrong
    /// with them; the host can run nevertheless, and the listener was told.
    [[nodiscard]] Result<void> apply_first();
    /// Begins to gossip and to watch files. Files that have changed since they were read are read
    /// again.
    void start();

    /// Reads files again on the helper thread, and puts them in force if they have no errors.
    void reload(Reload what);
    /// Reads keys and quota files again on the calling thread, which it blocks. The error says what
    /// is wrong.
    [[nodiscard]] Result<void> reload_now();
    /// The results of reloads. The owner of the host adds the results for files that it reads
    /// itself (HostListener::read_own_files()).
    [[nodiscard]] ReloadRecord& record() { return record_; }

    /// From here on no file is read again and nothing is put in force.
    void stop_reloading();
    /// Says goodbye to the peers; limits are only local from here on. Waits until the snapshot is
    /// written.
    void leave() { node_.leave(); }
    /// Waits for files that are being read. To be called before anything is destroyed that the
    /// listener uses.
    void join() { reloader_.join(); }
    /// Quota files or sets that were refused because there was no memory for them are read again
    /// after DefinitionStore::kRoomAgain. start() lets it be called regularly.
    void try_room_again(Instant now);

    /// Whether the quotas of the files are still being loaded for the first time.
    [[nodiscard]] bool loading() const { return first_ != First::done; }
    [[nodiscard]] const config::Settings& settings() const { return settings_; }
    [[nodiscard]] const std::vector<std::string>& watched_quotas() const {
        return quota_watch_.watched();
    }
    [[nodiscard]] limiter::Limiter& limiter() { return node_.limiter(); }
    /// Valid after open().
    [[nodiscard]] cluster::Cluster& cluster() { return node_.cluster(); }
    /// Valid after open().
    [[nodiscard]] admin::EngineQuotas& quotas() { return *quotas_; }
    /// Valid after open(). Without `settings_json`.
    [[nodiscard]] admin::ConfigFigures config_figures();
    /// By set, why one was refused that does not fit into the memory.
    [[nodiscard]] const std::map<std::string, std::string>& sets_too_large() const {
        return node_.sets_too_large();
    }
    /// Why quota files were not even read, because there is no memory for that; empty if they were.
    [[nodiscard]] const std::string& files_too_large() const { return files_too_large_; }
    /// By set, how it stays in force although its file is gone.
    [[nodiscard]] const std::map<std::string, std::string>& sets_without_file() const {
        return node_.sets_without_file();
    }
    /// The folders that the settings name for quotas and that held no document when they were last
    /// read.
    [[nodiscard]] const std::vector<std::string>& empty_folders() const { return empty_folders_; }
    /// By set, why the file here is not in force.
    [[nodiscard]] const std::map<std::string, std::string>& set_problems() const {
        return node_.set_problems();
    }
    /// The sources of metrics that every member has; the owner adds its own. Valid after open().
    [[nodiscard]] admin::MetricsSources metrics_sources();

  private:
    [[nodiscard]] Reloader::Job job(Reload what) const;
    void take_over(Reload what, const Loaded& loaded, bool by_hand);
    void take_over_settings(const Loaded& loaded);
    void fail_first(Reload what, std::vector<std::string> errors);
    void refuse(Reload what, const Loaded& loaded, bool by_hand);
    void watch_quotas_of(const config::Settings& held_up);
    void read_own_files(Reload what);
    void see_first_quotas();
    void watch_settings();
    void look_at_settings();
    void quotas_changed();
    /// Whether the settings' file on disk is another one than that in force.
    [[nodiscard]] bool settings_differ() const;
    [[nodiscard]] bool settings_are_watched() const;
    void watch_keys();
    /// Reads the keys again. The same problem is reported once, unless a person asked for the
    /// reload.
    Result<void> reload_keys(bool by_hand);
    void apply_kept(bool files_are_good);
    void tell_new_warnings(const std::vector<std::string>& told);

    ConfigSource source_;
    config::Settings settings_;
    std::function<std::optional<std::uint64_t>()> room_left_;
    std::vector<config::QuotaSet> first_sets_;
    std::vector<std::string> first_errors_;
    /// How far the first quotas of the files are: being read, being installed, or all in force.
    enum class First : std::uint8_t { reading, installing, done };
    First first_;
    HostListener& listener_;
    LocalNode node_;
    FileWatch quota_watch_;
    FileWatch key_watch_;
    FileWatch settings_watch_;
    std::unique_ptr<admin::EngineQuotas> quotas_;
    ReloadRecord record_;
    std::uint64_t quotas_hash_;        ///< 0: the last reload failed, so read again
    std::uint64_t left_out_hash_ = 0;  ///< of the quotas of which sets were left out last
    std::uint64_t settings_hash_;      ///< of the settings in force
    bool reading_settings_ = false;    ///< a reading that was asked for is not over yet
    bool quotas_hold_settings_up_ =
        false;  ///< new settings are good, the quotas read with them bad
    std::string files_too_large_;
    std::vector<std::string> empty_folders_;  ///< named for quotas, without a document
    std::optional<Instant> room_again_;       ///< when files without room are read again
    std::vector<std::string> after_restart_;  ///< keys whose change waits for a restart

    /// The last member, because its thread must end before the others are destroyed.
    Reloader reloader_;
};

}  // namespace weir::node
