// Every setting of the table is changed in a file that is read again: either the host tells that it
// waits for a restart, or the part of the sidecar that it is for has the new value. A new setting
// that nobody reloads fails here.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "app/live_settings.h"
#include "config/another_value.h"
#include "config/settings_reload.h"
#include "node/folder.h"
#include "node/host.h"

namespace weir::app {
namespace {

using config::Override;
using config::SettingField;
using config::Settings;
using Lines = std::vector<std::string>;

/// `a.b` with a text, or a list of texts with commas, as a line of YAML.
std::string value_text(const SettingField& field, const std::string& text) {
    std::string value = "'" + text + "'";
    if (!field.is_list) {
        return value;
    }
    for (std::size_t at = value.find(','); at != std::string::npos; at = value.find(',', at + 3)) {
        value.replace(at, 1, "','");
    }
    return "[" + value + "]";
}

/// The same settings as a file. Later values win.
std::string to_yaml(const std::vector<Override>& values) {
    std::map<std::string, std::string> latest;
    for (const Override& one : values) {
        latest[one.key] = one.text;
    }
    std::map<std::string, std::string> sections;
    std::string text;
    for (const SettingField& field : config::setting_fields()) {
        const auto found = latest.find(std::string(field.key));
        if (found == latest.end()) {
            continue;
        }
        const std::string value = value_text(field, found->second);
        const std::size_t dot = field.key.find('.');
        if (dot == std::string_view::npos) {
            text += found->first + ": " + value + "\n";
        } else {
            sections[found->first.substr(0, dot)] +=
                "  " + found->first.substr(dot + 1) + ": " + value + "\n";
        }
    }
    for (const auto& [name, lines] : sections) {
        text += name + ":\n" + lines;
    }
    return text;
}

/// The parts of a sidecar that take settings over, without sockets. The test is the control thread.
class Running final : public node::HostListener {
  public:
    explicit Running(const std::vector<Override>& values) : log_(config::LogSettings{}) {
        write(values);
        node::ConfigSource source;
        source.file = folder_.path() + "/weir.yaml";
        node::Loaded loaded = node::load(source);
        REQUIRE_MESSAGE(loaded.good(), loaded.diagnostics.text());
        host_.emplace(control_, source, std::move(loaded), *this, 1);
        live_.emplace(control_, host_->settings(), log_,
                      LiveSettings::Told{
                          .snapshot = [this](auto snapshot) { published_ = std::move(snapshot); },
                          .buffer_bytes = [](std::size_t) {},
                          .memory = [](bool, const MemoryGauge::MemoryReading&) {}});
        REQUIRE(host_->open().has_value());
        REQUIRE(host_->apply_first().has_value());
        live_->look_up_upstream();
        live_->watch_memory();
        host_->start();
    }
    ~Running() {
        host_->stop_reloading();
        host_->leave();
        host_->join();
        live_->stop();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// A quota file that settings may name.
    [[nodiscard]] std::string quota_file() const {
        return folder_.write("quotas.yaml", node::testing::quota_set("s", "[]"));
    }

    void reload(const std::vector<Override>& values) {
        write(values);
        const std::uint64_t before = readings_of_everything_;
        host_->reload(node::Reload::everything);
        for (int turns = 0; readings_of_everything_ == before && turns < 200; ++turns) {
            control_.run_one_for(std::chrono::milliseconds(100));
        }
        REQUIRE(readings_of_everything_ != before);
        CHECK(errors_ == Lines{});
    }

    [[nodiscard]] Lines waiting() { return host_->config_figures().after_restart; }

    /// `before` with what the parts hold. What no part holds stays as it was before.
    [[nodiscard]] Settings held(const Settings& before, const Settings& wanted) const {
        Settings held = before;
        static_cast<config::ServingSettings&>(held) = *published_;
        held.limits.memory = live_->memory().last().limit;
        held.log.level = log_.level();
        held.quotas = host_->watched_quotas();
        if (held.check) {
            held.check->clients = published_->check_clients;
        }
        // A router does not show its settings; it is compiled from those in force.
        if (published_->router != router_before_) {
            held.routing = host_->settings().routing;
        }
        if (upstream() != upstream_before_) {
            held.upstream = wanted.upstream;
        }
        return held;
    }
    void remember_parts() {
        router_before_ = published_->router;
        upstream_before_ = upstream();
    }

  private:
    [[nodiscard]] Endpoint upstream() const {
        return net::to_endpoint(published_->upstream.front());
    }
    /// In one step: the host may be reading the file, because it watches it.
    void write(const std::vector<Override>& values) const {
        std::filesystem::rename(drafts_.write("weir.yaml", to_yaml(values)),
                                folder_.path() + "/weir.yaml");
    }

    void keys_warned(const std::string& /*warning*/) override {}
    void keys_failed(const std::string& /*reason*/) override {}
    void reload_failed(const std::vector<std::string>& errors) override {
        errors_.insert(errors_.end(), errors.begin(), errors.end());
    }
    void sets_left_out(const std::vector<std::string>& errors) override { reload_failed(errors); }
    void sets_applied(const node::SetsOutcome& /*outcome*/) override {}
    void late_outcome(const node::SetsOutcome& /*outcome*/) override {}
    void settings_taken_over(const Settings& in_force, const Lines& /*after_restart*/) override {
        live_->take_over(in_force);
    }
    /// Tells readings that reload() asked for from those that a watched file caused.
    void read_own_files() override { ++readings_of_everything_; }

    node::testing::Folder folder_;
    node::testing::Folder drafts_;
    boost::asio::io_context control_{1};
    Log log_;
    std::optional<node::Host> host_;
    std::shared_ptr<const proxy::Snapshot> published_;
    std::optional<LiveSettings> live_;
    std::shared_ptr<const routing::Router> router_before_;
    Endpoint upstream_before_;
    Lines errors_;
    std::uint64_t readings_of_everything_ = 0;
};

/// Without a cluster, whose socket would be opened.
std::vector<Override> first_values() {
    std::vector<Override> values = config::testing::first_values();
    std::erase_if(values, [](const Override& one) { return one.key.starts_with("cluster."); });
    return values;
}

Settings settings_of(const std::vector<Override>& values) {
    config::Diagnostics diagnostics;
    return config::testing::settings_of(values, diagnostics);
}

}  // namespace

TEST_CASE("each setting is seen by the part that it is for, or told to wait for a restart") {
    Running running(first_values());
    const Settings first = settings_of(first_values());
    for (const SettingField& field : config::setting_fields()) {
        CAPTURE(std::string(field.key));
        running.reload(first_values());
        CHECK(running.waiting() == Lines{});
        running.remember_parts();
        std::vector<Override> values = config::testing::with_another(first_values(), field);
        if (field.key == "quotas") {
            values.back().text = running.quota_file();
        }
        const Settings wanted = settings_of(values);
        running.reload(values);
        const Settings held = running.held(first, wanted);
        if (config::waits_for_restart(field.at_reload)) {
            // Beside it there is at most what it needs.
            const Lines waiting = running.waiting();
            CHECK(std::any_of(waiting.begin(), waiting.end(),
                              [&](const std::string& one) { return field.key.starts_with(one); }));
            CHECK(waiting.size() <= (field.key == "role" ? 2 : 1));
            CHECK_FALSE(field.value.same(held, wanted));
        } else {
            CHECK(running.waiting() == Lines{});
            CHECK(field.value.same(held, wanted));
        }
    }
}

}  // namespace weir::app
