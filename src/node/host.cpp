#include "node/host.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "admin/figures.h"
#include "config/settings_reload.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "node/figures.h"
#include "node/file_stamp.h"

namespace weir::node {
namespace {

std::vector<std::string> error_lines(const config::Diagnostics& diagnostics) {
    std::vector<std::string> lines;
    for (const config::Diagnostic& diagnostic : diagnostics.sorted()) {
        if (diagnostic.severity == config::Severity::error) {
            lines.push_back(to_string(diagnostic));
        }
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += (text.empty() ? "" : "\n") + line;
    }
    return text;
}

/// Whether the file of an automatic set here has another content than that in force, and this
/// member votes for it.
bool waits(const admin::QuotaSetFigures& set, const definitions::DefinitionStore& store) {
    const definitions::SetFile* const file = store.files().find(set.name);
    return file != nullptr && admin::hash_text(file->content) != set.hash &&
           store.files().vote(set.name, definitions::kUndecided) == file->content;
}

}  // namespace

Host::Host(boost::asio::io_context& control, ConfigSource source, Loaded loaded,
           HostListener& listener, std::uint64_t seed)
    : source_(std::move(source)),
      settings_(std::move(loaded.settings)),
      first_sets_(loaded.good() ? std::move(loaded.sets) : std::vector<config::QuotaSet>()),
      first_errors_(error_lines(loaded.diagnostics)),
      first_(loaded.quotas_later ? First::reading : First::done),
      listener_(listener),
      node_(control, settings_, seed),
      quota_watch_(control, [this] { quotas_changed(); }),
      key_watch_(control, [this] { static_cast<void>(reload_keys(false)); }),
      settings_watch_(control, [this] { look_at_settings(); }),
      record_(source_.file.value_or(""), loaded.settings_hash),
      quotas_hash_(loaded.good() ? loaded.quotas_hash : 0),
      settings_hash_(loaded.settings_hash),
      empty_folders_(std::move(loaded.empty_folders)),
      reloader_(
          control, [this](Reload what) { return job(what); },
          [this](Reload what, const Loaded& again) {
              take_over(what, again, what == Reload::everything);
          }) {}

Host::~Host() { join(); }

Result<void> Host::open() {
    node_.on_snapshot([this](const SnapshotNotice& notice) { listener_.snapshot_noted(notice); });
    if (auto opened = node_.open(settings_); !opened) {
        return opened;
    }
    quotas_ = std::make_unique<admin::EngineQuotas>(cluster().engine(), limiter(), &net::now);
    return {};
}

void Host::bound_memory(std::function<std::optional<std::uint64_t>()> left) {
    room_left_ = left;
    cluster().engine().definitions().bound_memory(std::move(left));
}

Result<void> Host::apply_first() {
    std::vector<std::string> errors = std::exchange(first_errors_, {});
    if (errors.empty() && first_ == First::done) {
        node_.note_bad_files(false);
    }
    SetsOutcome outcome = node_.apply_first(std::exchange(first_sets_, {}));
    std::move(outcome.errors.begin(), outcome.errors.end(), std::back_inserter(errors));
    if (errors.empty()) {
        if (first_ == First::done) {
            apply_kept(true);
        }
        record_.start(net::unix_time());
        return {};
    }
    fail_first(Reload::quotas, errors);
    return error(ErrorCode::invalid_argument, joined(errors));
}

void Host::start() {
    node_.on_upkeep([this] {
        see_first_quotas();
        try_room_again(net::now());
    });
    node_.on_late_outcome([this](const SetsOutcome& outcome) {
        listener_.late_outcome(outcome);
        std::vector<std::string> errors = outcome.refused;
        errors.insert(errors.end(), outcome.older.begin(), outcome.older.end());
        if (!errors.empty()) {
            quotas_hash_ = outcome.refused.empty() ? quotas_hash_ : 0;
            record_.fail(Reload::quotas, std::move(errors));
        }
        if (outcome.again) {
            reload(Reload::quotas);
        }
    });
    node_.start([this] { return first_ == First::done && record_.errors().empty(); });
    quota_watch_.watch(settings_.quotas);
    reload(Reload::quotas);  // what changed between reading and watching
    watch_keys();
    watch_settings();
}

void Host::reload(Reload what) {
    reading_settings_ = reading_settings_ || what != Reload::quotas;
    reloader_.request(what);
}

Result<void> Host::reload_now() {
    if (auto keys = reload_keys(true); !keys) {
        return keys;
    }
    take_over(Reload::quotas, load_quotas(settings_, 0, source_.documents), true);
    const std::vector<std::string> errors = record_.errors();
    if (errors.empty()) {
        return {};
    }
    return error(ErrorCode::invalid_argument, joined(errors));
}

void Host::stop_reloading() {
    reloader_.stop();
    quota_watch_.stop();
    key_watch_.stop();
    settings_watch_.stop();
}

Reloader::Job Host::job(Reload what) const {
    ConfigSource source = source_;
    source.long_quotas_later = false;
    source.without_warnings = true;
    source.notes = {};
    source.room = room_left_ ? room_left_() : std::nullopt;
    return [what, settings = settings_, source, known = quotas_hash_] {
        return what == Reload::quotas ? load_quotas(settings, known, source.documents, source.room)
                                      : load(source);
    };
}

/// Sees whether the first quotas of the files have all come into force, but for those with errors.
void Host::see_first_quotas() {
    const definitions::DefinitionStore& store = cluster().engine().definitions();
    if (first_ != First::installing || store.loading() || store.waiting() > 0) {
        return;
    }
    first_ = First::done;
    apply_kept(node_.set_problems().empty());
}

/// Sets that were in force last, and that are in no file now, stay in force, as they do when their
/// file goes while the sidecar runs. Settings that name no quota files want none.
void Host::apply_kept(bool files_are_good) {
    if (settings_.quotas.empty()) {
        return;
    }
    node_.apply_kept(room_left_ ? room_left_() : std::nullopt, files_are_good);
}

void Host::take_over(Reload what, const Loaded& loaded, bool by_hand) {
    if (what != Reload::quotas) {
        reading_settings_ = false;
        quotas_hold_settings_up_ = loaded.settings_good && !loaded.good();
    }
    if (what == Reload::quotas || loaded.settings_good) {
        empty_folders_ = loaded.empty_folders;
    }
    if (loaded.quotas_unchanged) {
        return;
    }
    files_too_large_.clear();
    if (!loaded.good()) {
        refuse(what, loaded, by_hand);
        return;
    }
    node_.note_bad_files(false);
    SetsOutcome outcome = node_.apply(loaded.sets, by_hand);
    first_ = first_ == First::reading ? First::installing : first_;
    listener_.sets_applied(outcome);
    quotas_hash_ = loaded.quotas_hash;
    if (what != Reload::quotas) {
        take_over_settings(loaded);
        reload(Reload::quotas);  // what changed between reading and watching anew
    }
    read_own_files(what);
    std::vector<std::string> errors = outcome.errors;
    errors.insert(errors.end(), outcome.older.begin(), outcome.older.end());
    if (!errors.empty()) {
        // To read older generations again changes nothing.
        quotas_hash_ = outcome.errors.empty() ? loaded.quotas_hash : 0;
        const bool same = std::exchange(left_out_hash_, loaded.quotas_hash) == loaded.quotas_hash;
        if (same && !by_hand && what == Reload::quotas && record_.told(what, errors)) {
            return;
        }
        listener_.sets_left_out(errors);
        record_.fail(Reload::quotas, std::move(errors));  // the settings are taken over
        return;
    }
    if (!record_.succeed(net::unix_time())) {
        return;
    }
    listener_.reloaded(loaded.sets.size());
}

/// Leaves everything as it is, because what was read has errors. The same errors are told once,
/// unless a person asked for the reading. Quotas are not held up by bad settings: they are read
/// alone.
void Host::refuse(Reload what, const Loaded& loaded, bool by_hand) {
    if (what != Reload::quotas && loaded.settings_good) {
        watch_quotas_of(loaded.settings);
    }
    if (loaded.unreadable) {
        (what == Reload::quotas ? quota_watch_ : settings_watch_).again();
    }
    const bool quotas_bad = what == Reload::quotas || loaded.settings_good;
    if (quotas_bad) {
        node_.note_bad_files(true);
    }
    std::vector<std::string> errors = error_lines(loaded.diagnostics);
    files_too_large_ = loaded.no_room ? errors.front() : "";
    if (first_ == First::reading && quotas_bad) {
        fail_first(what, std::move(errors));
    } else if (by_hand || !record_.told(what, errors)) {
        quotas_hash_ = quotas_bad ? 0 : quotas_hash_;
        listener_.reload_failed(errors);
        record_.fail(what, std::move(errors));
    }
    if (!quotas_bad) {
        reload(Reload::quotas);
    }
    read_own_files(what);
}

/// Good settings are held up by quotas that are bad: these are watched, too, as they may be files
/// that the settings in force do not name.
void Host::watch_quotas_of(const config::Settings& held_up) {
    std::vector<std::string> paths = settings_.quotas;
    std::copy_if(held_up.quotas.begin(), held_up.quotas.end(), std::back_inserter(paths),
                 [&](const std::string& path) {
                     return std::find(settings_.quotas.begin(), settings_.quotas.end(), path) ==
                            settings_.quotas.end();
                 });
    if (paths != quota_watch_.watched()) {
        quota_watch_.watch(paths);
        reload(Reload::settings);  // what changed between reading and watching
    }
}

/// Reads quota files again that there was no memory for, after a while: there may be some now.
void Host::try_room_again(Instant now) {
    if (files_too_large_.empty() && sets_too_large().empty()) {
        room_again_.reset();
        return;
    }
    room_again_ = room_again_.value_or(now + definitions::DefinitionStore::kRoomAgain);
    if (now >= *room_again_) {
        room_again_.reset();
        quotas_hash_ = 0;
        reload(quotas_hold_settings_up_ ? Reload::settings : Reload::quotas);
    }
}

/// Keys and the admin token, when everything is asked for.
void Host::read_own_files(Reload what) {
    if (what == Reload::everything) {
        static_cast<void>(reload_keys(true));
        listener_.read_own_files();
    }
}

void Host::take_over_settings(const Loaded& loaded) {
    after_restart_ = config::changes_after_restart(settings_, loaded.settings);
    config::take_over(loaded.settings, settings_);
    listener_.settings_taken_over(settings_, after_restart_);
    quota_watch_.watch(settings_.quotas);
    record_.settings_taken_over(loaded.settings_hash);
    settings_hash_ = loaded.settings_hash;
}

/// The quotas of the files are not in force at the start.
void Host::fail_first(Reload what, std::vector<std::string> errors) {
    first_ = First::done;
    quotas_hash_ = 0;
    node_.note_bad_files(true);
    apply_kept(false);
    listener_.first_quotas_failed(errors);
    record_.fail(what, std::move(errors));
}

void Host::watch_keys() {
    if (!settings_.cluster || settings_.cluster->key_file.empty()) {
        return;
    }
    key_watch_.watch({settings_.cluster->key_file});
    static_cast<void>(reload_keys(false));  // what changed between reading and watching
}

/// A program that embeds weir reads its settings once.
bool Host::settings_are_watched() const { return source_.reader == config::Reader::sidecar; }

void Host::watch_settings() {
    if (source_.file && settings_are_watched()) {
        settings_watch_.watch({*source_.file});
        look_at_settings();  // what changed between reading and watching
    }
}

/// Reads the settings again if they have changed, or may have changed back to those in force after
/// they were refused.
void Host::look_at_settings() {
    if (reading_settings_ || record_.settings_bad() || settings_differ()) {
        reload(Reload::settings);
    }
}

/// Quotas that change together with good settings are read with them, because the settings may name
/// other files now. Bad settings do not hold up quotas.
void Host::quotas_changed() {
    const bool new_settings =
        settings_are_watched() && !record_.settings_bad() && settings_differ();
    reload(quotas_hold_settings_up_ || new_settings ? Reload::settings : Reload::quotas);
}

bool Host::settings_differ() const {
    if (!source_.file || is_read_once(*source_.file)) {
        return false;  // the file is as it was, and opening it could wait for a writer
    }
    const auto on_disk = settings_hash_on_disk(source_);
    return !on_disk || *on_disk != settings_hash_;
}

Result<void> Host::reload_keys(bool by_hand) {
    const std::vector<std::string> warnings = cluster().warnings();
    const auto changed = cluster().reload_keys();
    if (!changed) {
        const std::string& reason = changed.error().message;
        key_watch_.again();
        if (by_hand || record_.problem(OwnFile::gossip_keys) != reason) {
            record_.file_is_bad(OwnFile::gossip_keys, reason);
            listener_.keys_failed(reason);
        }
        return changed.error();
    }
    tell_new_warnings(by_hand ? std::vector<std::string>{} : warnings);
    record_.file_is_good(OwnFile::gossip_keys, *changed);
    if (*changed) {
        listener_.keys_changed();
    }
    return {};
}

void Host::tell_new_warnings(const std::vector<std::string>& told) {
    for (const std::string& warning : cluster().warnings()) {
        if (std::find(told.begin(), told.end(), warning) == told.end()) {
            listener_.keys_warned(warning);
        }
    }
}

admin::ConfigFigures Host::config_figures() {
    admin::ConfigFigures figures = with_quota_sets(record_.figures(), cluster());
    for (admin::QuotaSetFigures& set : figures.quota_sets) {
        const auto problem = node_.set_problems().find(set.name);
        if (problem != node_.set_problems().end()) {
            set.problem = problem->second;
        } else if (set.automatic && waits(set, cluster().engine().definitions())) {
            set.problem = "the file of " + set.name +
                          " here waits until more than half of the sidecars that have one have the "
                          "same";
        }
    }
    figures.after_restart = after_restart_;
    figures.snapshot = node_.snapshot();
    return figures;
}

admin::MetricsSources Host::metrics_sources() {
    admin::MetricsSources sources;
    sources.limiter = [this] { return admin::to_figures(limiter(), net::now()); };
    sources.cluster = [this] { return cluster_figures(cluster()); };
    sources.config = [this] { return config_figures(); };
    sources.build = build_figures();
    sources.max_quota_series = settings_.max_quota_series;
    sources.max_quota_bytes = settings_.max_quota_bytes;
    return sources;
}

}  // namespace weir::node
