#include "node/host.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "definitions/store.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "node/folder.h"

namespace weir::node {
namespace {

using testing::Folder;
using testing::quota_set;
using Lines = std::vector<std::string>;

const std::string kFirstKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const std::string kSecondKey = "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f";
const std::string kQuotas = quota_set("s\ngeneration: 1", "[{name: a, limits: [{rate: 5r/s}]}]");

/// A host over files of its own, and what it told. The test is its control thread.
class Running final : public HostListener {
  public:
    explicit Running(const std::string& settings, std::vector<config::Override> flags = {}) {
        folder.write("quotas.yaml", kQuotas);
        write_settings(settings);
        ConfigSource source;
        source.file = folder.path() + "/weir.yaml";
        source.overrides = std::move(flags);
        Loaded loaded = load(source);
        REQUIRE_MESSAGE(loaded.good(), loaded.diagnostics.text());
        host.emplace(control, source, std::move(loaded), *this, 1);
    }
    ~Running() {
        host->stop_reloading();
        if (opened_) {
            host->leave();
        }
        host->join();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void open() {
        const auto opened = host->open();
        REQUIRE_MESSAGE(opened.has_value(), opened.error().message);
        opened_ = true;
        REQUIRE(host->apply_first().has_value());
    }
    void start() {
        open();
        host->start();
    }
    void write_settings(const std::string& settings) const {
        folder.write("weir.yaml", "upstream: http://127.0.0.1:3000\nquotas: [" + folder.path() +
                                      "/quotas.yaml]\n" + settings);
    }
    void write_quotas(const std::string& quotas) const { folder.write("quotas.yaml", quotas); }
    /// Until so many readings came to an end, good or bad.
    void reload(Reload what) {
        const std::uint64_t before = endings;
        host->reload(what);
        for (int turns = 0; endings == before && turns < 200; ++turns) {
            control.run_one_for(std::chrono::milliseconds(100));
        }
        REQUIRE(endings != before);
    }
    /// Runs the control thread until the condition holds.
    template <class Condition>
    void wait_for(const Condition& condition) {
        for (int turns = 0; !condition() && turns < 2000; ++turns) {
            control.run_one_for(std::chrono::milliseconds(10));
        }
        CHECK(condition());
    }
    /// Runs the control thread for so long.
    void turn(std::chrono::milliseconds time) { control.run_for(time); }
    [[nodiscard]] Duration body_idle() const { return host->settings().timeouts.body_idle; }
    [[nodiscard]] bool has_quota(const std::string& name) {
        return host->quotas().find(name).has_value();
    }

    Folder folder;
    boost::asio::io_context control{1};
    std::optional<Host> host;
    Lines told;
    std::uint64_t endings = 0;
    std::function<void()> on_settings;  ///< when settings are taken over

  private:
    void keys_warned(const std::string& warning) override { told.push_back("warned " + warning); }
    void keys_failed(const std::string& /*reason*/) override { told.emplace_back("keys failed"); }
    void keys_changed() override { told.emplace_back("keys changed"); }
    void reload_failed(const std::vector<std::string>& errors) override {
        ++endings;
        told.push_back("failed " + std::to_string(errors.size()));
    }
    void sets_left_out(const std::vector<std::string>& errors) override {
        ++endings;
        told.push_back("left out " + std::to_string(errors.size()));
    }
    void sets_applied(const SetsOutcome& outcome) override {
        told.insert(told.end(), outcome.gone.size(), "gone");
    }
    void late_outcome(const SetsOutcome& /*outcome*/) override {}
    void settings_taken_over(const config::Settings& /*in_force*/,
                             const std::vector<std::string>& after_restart) override {
        if (on_settings) {
            on_settings();
        }
        told.emplace_back("settings");
        told.insert(told.end(), after_restart.begin(), after_restart.end());
    }
    void read_own_files() override { told.emplace_back("own files"); }
    void reloaded(std::size_t quota_sets) override {
        ++endings;
        told.push_back("reloaded " + std::to_string(quota_sets));
    }

    bool opened_ = false;
};

std::vector<std::uint32_t> key_ids(Running& running) {
    return running.host->cluster().engine().key_ids();
}

std::string sealed_with(const std::string& key_file) {
    return "cluster: {listen: '127.0.0.1:0', key_file: '" + key_file + "'}\n";
}

}  // namespace

TEST_CASE("good quotas are taken over, of bad ones nothing") {
    Running running("");
    running.open();
    CHECK(running.has_quota("a"));
    running.write_quotas(quota_set("s", "[{name: a, limits: [{rate: 5r/s}]}, {nmae: b}]"));
    running.reload(Reload::quotas);
    CHECK(running.told == Lines{"failed 2"});  // an unknown field, and no name
    CHECK(running.has_quota("a"));
    CHECK(running.host->config_figures().errors.size() == 2);
    CHECK_FALSE(running.host->config_figures().last_reload_successful);

    running.told.clear();
    running.write_quotas(quota_set("s\ngeneration: 2", "[{name: b, limits: [{rate: 5r/s}]}]"));
    running.reload(Reload::quotas);
    CHECK(running.told == Lines{"reloaded 1"});
    CHECK(running.has_quota("b"));
    CHECK_FALSE(running.has_quota("a"));
    CHECK(running.host->config_figures().last_reload_successful);
}

TEST_CASE("settings are taken over when everything is asked for, but for what needs a restart") {
    Running running("");
    running.open();
    running.write_settings("workers: 3\nlimits: {buffer: 8KiB, connections: 7}\n");
    running.reload(Reload::everything);
    CHECK(running.told ==
          Lines{"settings", "workers", "limits.connections", "own files", "reloaded 1"});
    CHECK(running.host->settings().limits.buffer == 8 * 1024);
    CHECK(running.host->settings().workers == 0);
    CHECK(running.host->config_figures().after_restart == Lines{"workers", "limits.connections"});
}

TEST_CASE("the settings' file is read again by itself when its content changes") {
    Running running("");
    running.start();
    running.write_settings("workers: 3\ntimeouts: {body_idle: 7s}\n");
    running.wait_for([&] { return running.body_idle() == std::chrono::seconds(7); });
    CHECK(running.told == Lines{"settings", "workers", "reloaded 1"});
    CHECK(running.host->config_figures().after_restart == Lines{"workers"});
    running.write_settings("");
    running.wait_for([&] { return running.body_idle() != std::chrono::seconds(7); });
    CHECK(running.host->config_figures().after_restart.empty());
    const std::uint64_t reloads = running.host->config_figures().reloads;
    running.write_settings("");
    running.turn(std::chrono::milliseconds(500));
    CHECK(running.host->config_figures().reloads == reloads);
}

TEST_CASE("bad settings change nothing until they are mended or as they were") {
    Running running("");
    running.start();
    const auto is_well = [&] { return running.host->config_figures().last_reload_successful; };
    running.write_settings("timeouts: {body_idle: 7}\n");
    running.wait_for([&] { return !is_well(); });
    CHECK(running.told == Lines{"failed 1"});
    // Quotas are not held up by settings that are bad.
    running.write_quotas(quota_set("s\ngeneration: 2", "[{name: b, limits: [{rate: 5r/s}]}]"));
    running.wait_for([&] { return running.has_quota("b"); });
    CHECK_FALSE(is_well());
    running.write_settings("");
    running.wait_for(is_well);
    running.folder.remove("weir.yaml");
    running.wait_for([&] { return !is_well(); });
    CHECK(running.has_quota("b"));
    running.write_settings("timeouts: {body_idle: 7s}\n");
    running.wait_for(is_well);
    CHECK(running.body_idle() == std::chrono::seconds(7));
}

TEST_CASE("good settings that came with bad quotas take effect when these are mended") {
    Running running("");
    running.start();
    running.write_quotas("kind: Nothing\n");
    running.write_settings("timeouts: {body_idle: 7s}\n");
    running.wait_for([&] { return !running.host->config_figures().errors.empty(); });
    running.turn(std::chrono::milliseconds(500));
    CHECK(running.body_idle() != std::chrono::seconds(7));
    running.write_quotas(kQuotas);
    running.wait_for([&] { return running.body_idle() == std::chrono::seconds(7); });
    CHECK(running.host->config_figures().last_reload_successful);
}

TEST_CASE("bad quotas that only new settings name are read again when they are mended") {
    Running running("");
    running.start();
    const std::string other = running.folder.write("b.yaml", "kind: Nothing\n");
    running.folder.write("weir.yaml", "upstream: http://127.0.0.1:3000\nquotas: [" +
                                          running.folder.path() + "/quotas.yaml, " + other + "]\n");
    running.wait_for([&] { return !running.host->config_figures().errors.empty(); });
    running.turn(std::chrono::milliseconds(500));
    running.folder.write("b.yaml", quota_set("t", "[{name: b, limits: [{rate: 5r/s}]}]"));
    running.wait_for([&] { return running.has_quota("b"); });
    CHECK(running.host->config_figures().last_reload_successful);
}

TEST_CASE("quotas that there was no memory for are read again after a while") {
    Running running("");
    running.open();
    std::uint64_t room = 0;
    running.host->bound_memory([&room] { return std::optional(room); });
    running.write_quotas(quota_set("s\ngeneration: 2",
                                   "[{name: b, limits: [{rate: 5r/s}]}, "
                                   "{name: c, limits: [{rate: 5r/s}]}]"));
    running.reload(Reload::quotas);
    CHECK(running.told == Lines{"left out 1"});
    room = std::uint64_t{1} << 30U;
    const Instant now = net::now();
    running.host->try_room_again(now);
    running.turn(std::chrono::milliseconds(100));
    CHECK_FALSE(running.has_quota("b"));
    running.host->try_room_again(now + definitions::DefinitionStore::kRoomAgain);
    running.wait_for([&] { return running.has_quota("b"); });
    CHECK(running.told == Lines{"left out 1", "reloaded 1"});
}

TEST_CASE("a bad file does not wait for the fleet, although the one before it did") {
    const Folder keys;
    Running running(sealed_with(keys.write("keys", kFirstKey)));
    running.open();
    const auto problem = [&] {
        for (const auto& set : running.host->config_figures().quota_sets) {
            if (set.name == "t") {
                return set.problem;
            }
        }
        return std::string("there is no such set");
    };
    running.write_quotas(quota_set("t", "[{name: b, limits: [{rate: 5r/s}]}]"));
    running.reload(Reload::quotas);
    CHECK(problem().empty());
    running.host->cluster().engine().definitions().note_alone(false);
    running.write_quotas(quota_set("t", "[{name: b, limits: [{rate: 6r/s}]}]"));
    running.reload(Reload::quotas);
    CHECK(problem().find("waits until more than half") != std::string::npos);
    running.write_quotas("kind: Nothing\n");
    running.reload(Reload::quotas);
    CHECK(problem().empty());
}

TEST_CASE("quotas that were bad beside bad settings and are mended are no error any more") {
    Running running("");
    running.start();
    const auto errors = [&] { return running.host->config_figures().errors; };
    running.write_settings("timeouts: {body_idle: 7}\n");
    running.wait_for([&] { return errors().size() == 1; });
    running.write_quotas("kind: Nothing\n");
    running.wait_for([&] { return errors().size() > 1; });
    running.write_quotas(quota_set("s\ngeneration: 2", "[{name: b, limits: [{rate: 5r/s}]}]"));
    running.wait_for([&] { return running.has_quota("b"); });
    REQUIRE(errors().size() == 1);
    CHECK(errors()[0].find("weir.yaml") != std::string::npos);
    CHECK_FALSE(running.host->config_figures().last_reload_successful);
}

TEST_CASE("flags win over the file also when it is read again") {
    Running running("", {{"timeouts.body_idle", "--timeouts-body-idle", "9s"}});
    running.open();
    CHECK(running.body_idle() == 9s);
    running.write_settings("timeouts: {body_idle: 7s, connect: 3s}\n");
    running.reload(Reload::settings);
    CHECK(running.body_idle() == 9s);
    CHECK(running.host->settings().timeouts.connect == 3s);
}

TEST_CASE("bad settings do not hold up keys and token when everything is asked for") {
    Running running("");
    running.open();
    running.write_settings("timeouts: {body_idle: 7}\n");
    running.reload(Reload::everything);
    CHECK(running.told == Lines{"failed 1", "own files"});
}

TEST_CASE("bad settings do not hold up good quotas that came with them") {
    Running running("");
    running.open();
    running.write_settings("timeouts: {body_idle: 7}\n");
    running.write_quotas(quota_set("s\ngeneration: 2", "[{name: b, limits: [{rate: 5r/s}]}]"));
    running.reload(Reload::settings);
    CHECK(running.told == Lines{"failed 1"});
    running.wait_for([&] { return running.has_quota("b"); });
    CHECK(running.host->config_figures().errors.size() == 1);
}

TEST_CASE("settings take effect beside a quota set that is older, and that is what is told") {
    Running running("");
    running.open();
    running.write_quotas(quota_set("s\ngeneration: 2", "[{name: a, limits: [{rate: 5r/s}]}]"));
    running.reload(Reload::quotas);
    running.told.clear();
    running.write_settings("timeouts: {body_idle: 7s}\n");
    running.write_quotas(quota_set("s\ngeneration: 1", "[{name: a, limits: [{rate: 9r/s}]}]"));
    running.reload(Reload::settings);
    CHECK(running.told == Lines{"settings", "left out 1"});
    CHECK(running.body_idle() == 7s);
    CHECK_FALSE(running.host->config_figures().last_reload_successful);
}

TEST_CASE("quotas that change while settings are taken over are read also beside an older set") {
    Running running("");
    running.open();
    running.write_quotas(quota_set("s\ngeneration: 2", "[{name: a, limits: [{rate: 5r/s}]}]"));
    running.reload(Reload::quotas);
    running.write_settings("timeouts: {body_idle: 7s}\n");
    running.write_quotas(quota_set("s\ngeneration: 1", "[{name: a, limits: [{rate: 9r/s}]}]"));
    running.on_settings = [&] {
        running.write_quotas(quota_set("s\ngeneration: 3", "[{name: b, limits: [{rate: 5r/s}]}]"));
    };
    running.reload(Reload::settings);
    running.wait_for([&] { return running.has_quota("b"); });
}

TEST_CASE("settings from a pipe are not compared, which would wait for a writer") {
    Running running("");
    const std::string file = running.folder.path() + "/weir.yaml";
    REQUIRE(std::filesystem::remove(file));
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    running.start();
    running.turn(std::chrono::milliseconds(50));
    CHECK(running.host->config_figures().reloads == 0);
}

TEST_CASE("keys that change between reading and watching are read again") {
    const Folder keys;
    const std::string file = keys.write("keys", kFirstKey);
    Running running(sealed_with(file));
    running.open();
    const auto before = key_ids(running);
    keys.write("keys", kSecondKey);
    running.host->start();
    CHECK(key_ids(running) != before);
    CHECK(running.told == Lines{"keys changed"});
}

TEST_CASE("a bad key file is told, shown, and leaves the keys in use and the quotas alone") {
    const Folder keys;
    const std::string file = keys.write("keys", kFirstKey);
    Running running(sealed_with(file));
    running.start();
    const auto before = key_ids(running);
    keys.write("keys", "short");
    running.reload(Reload::everything);
    CHECK(running.told == Lines{"settings", "keys failed", "own files", "reloaded 1"});
    CHECK(key_ids(running) == before);
    REQUIRE(running.host->config_figures().errors.size() == 1);
    CHECK(running.host->config_figures().errors.front().find(file) != std::string::npos);
    CHECK_FALSE(running.host->config_figures().last_reload_successful);
    const auto now = running.host->reload_now();
    REQUIRE_FALSE(now.has_value());
    CHECK(now.error().message == running.host->config_figures().errors.front());

    keys.write("keys", kFirstKey);
    CHECK(running.host->reload_now().has_value());
    CHECK(running.host->config_figures().last_reload_successful);
}

TEST_CASE("an error of reading at once says everything that is wrong") {
    Running running("");
    running.open();
    running.write_quotas(quota_set("s", "[{name: a, limits: [{rate: 5r/s}]}, {nmae: b}]"));
    const auto read = running.host->reload_now();
    REQUIRE_FALSE(read.has_value());
    const std::string& message = read.error().message;
    CHECK(std::count(message.begin(), message.end(), '\n') == 1);
    CHECK(message.find("did you mean 'name'") != std::string::npos);
}

TEST_CASE("a set whose file is gone is told to stay in force") {
    Running running("");
    running.open();
    running.write_quotas(quota_set("t", "[]"));
    CHECK(running.host->reload_now().has_value());
    CHECK(running.told == Lines{"gone", "reloaded 1"});
}

TEST_CASE("after stop_reloading() nothing is taken over") {
    Running running("");
    running.start();
    running.host->stop_reloading();
    running.write_quotas(quota_set("s\ngeneration: 2", "[]"));
    running.host->reload(Reload::everything);
    running.host->join();
    running.control.poll();
    CHECK(running.told.empty());
    CHECK(running.has_quota("a"));
}

}  // namespace weir::node
