// What a reload makes of each key: it takes effect, or it is told to wait for a restart.

#include "config/settings_reload.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "config/another_value.h"
#include "config/helpers.h"

namespace weir::config {
namespace {

using testing::first_values;
using testing::Lines;
using testing::settings_of;
using testing::with_another;

Settings load(const std::vector<Override>& values) {
    Diagnostics diagnostics;
    Settings settings = settings_of(values, diagnostics);
    CHECK_MESSAGE(!diagnostics.has_errors(), diagnostics.text());
    return settings;
}

std::string source_of(const Settings& settings, std::string_view key) {
    const auto found = std::find_if(settings.given.begin(), settings.given.end(),
                                    [&](const GivenSetting& one) { return one.key == key; });
    return found == settings.given.end() ? "default" : found->source;
}

}  // namespace

TEST_CASE("each key takes effect, or is told to wait for a restart and stays as it is") {
    const Settings first = load(first_values());
    for (const SettingField& field : setting_fields()) {
        CAPTURE(std::string(field.key));
        const Settings wanted = load(with_another(first_values(), field));
        REQUIRE_FALSE(field.value.same(first, wanted));
        const Lines waiting = changes_after_restart(first, wanted);
        Settings in_force = first;
        take_over(wanted, in_force);
        if (waits_for_restart(field.at_reload)) {
            REQUIRE(waiting.size() == 1);
            CHECK(field.key.starts_with(waiting.front()));
            CHECK(field.value.same(in_force, first));
            CHECK(source_of(in_force, field.key) == source_of(first, field.key));
        } else {
            CHECK(waiting == Lines{});
            CHECK(field.value.same(in_force, wanted));
            CHECK(source_of(in_force, field.key) == "second");
        }
    }
}

TEST_CASE("several changes of one section are told once, in the order of the documentation") {
    std::vector<Override> values = first_values();
    for (const auto& [key, text] :
         std::vector<std::pair<std::string, std::string>>{{"metrics.max_quota_series", "7"},
                                                          {"drain.grace", "1s"},
                                                          {"drain.keep_accepting", "1s"},
                                                          {"log.format", "json"},
                                                          {"cluster.name", "other"},
                                                          {"cluster.join", "127.0.0.1:2"},
                                                          {"limits.connections", "9"},
                                                          {"limits.memory", "1GiB"}}) {
        values.push_back({key, "second", text});
    }
    CHECK(
        changes_after_restart(load(first_values()), load(values)) ==
        Lines{"cluster", "limits.connections", "log.format", "drain", "metrics.max_quota_series"});
}

TEST_CASE("a section that comes or goes waits for a restart, and so does what stands in it") {
    const std::vector<Override> alone = {{"upstream", "first", "http://127.0.0.1:3000"}};
    std::vector<Override> asked = alone;
    asked.push_back({"check.clients", "second", "10.1.0.0/16"});
    Settings in_force = load(alone);
    CHECK(changes_after_restart(in_force, load(asked)) == Lines{"check.listen"});
    take_over(load(asked), in_force);
    CHECK_FALSE(in_force.check.has_value());
    CHECK(source_of(in_force, "check.clients") == "default");

    in_force = load(asked);
    take_over(load(alone), in_force);
    REQUIRE(in_force.check.has_value());
    CHECK(in_force.check->clients.size() == 1);
    CHECK(source_of(in_force, "check.clients") == "second");
}

TEST_CASE("the heaviest weight of routes waits for a restart with the limiter's") {
    std::vector<Override> values = first_values();
    values.push_back({"limiter.max_weight", "second", "5"});
    Settings in_force = load(first_values());
    take_over(load(values), in_force);
    CHECK(in_force.limiter.max_weight == 1e12);
    CHECK(in_force.routing.max_weight == 1e12);
}

}  // namespace weir::config
