#include "config/settings_reload.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace weir::config {
namespace {

/// The name by which reports mention a key that waits for a restart.
std::string told_as(const SettingField& field) {
    const bool by_section = field.at_reload == AtReload::section_needs_restart;
    return std::string(by_section ? field.key.substr(0, field.key.find('.')) : field.key);
}

void take_over_given(std::string_view key, const std::vector<GivenSetting>& wanted,
                     std::vector<GivenSetting>& in_force) {
    const auto is_it = [&](const GivenSetting& one) { return one.key == key; };
    std::erase_if(in_force, is_it);
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(in_force), is_it);
}

}  // namespace

bool waits_for_restart(AtReload at_reload) {
    return at_reload == AtReload::needs_restart || at_reload == AtReload::section_needs_restart;
}

std::vector<std::string> changes_after_restart(const Settings& in_force, const Settings& wanted) {
    std::vector<std::string> names;
    for (const SettingField& field : setting_fields()) {
        if (!waits_for_restart(field.at_reload) || field.value.same(in_force, wanted)) {
            continue;
        }
        if (std::string name = told_as(field); names.empty() || names.back() != name) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

void take_over(const Settings& wanted, Settings& in_force) {
    for (const SettingField& field : setting_fields()) {
        if (!waits_for_restart(field.at_reload) && field.value.copy(wanted, in_force)) {
            take_over_given(field.key, wanted.given, in_force.given);
        }
    }
    // The routes are not in the table. All other members of `routing` are, except max_weight: it
    // belongs to limiter.max_weight and waits with it.
    in_force.routing.routes = wanted.routing.routes;
    take_over_given("routes", wanted.given, in_force.given);
}

}  // namespace weir::config
