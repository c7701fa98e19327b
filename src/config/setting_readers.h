#pragma once
// How the members of Settings are read, compared and copied: the functions from which the table of
// keys (settings_fields.cpp) is made. Internal to config. Stateless.
//
// Each reader below writes the value of a node to `target`. A wrong value becomes an error in
// `diagnostics`.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/diagnostics.h"
#include "config/document.h"
#include "config/reader.h"
#include "config/settings.h"
#include "config/settings_fields.h"

namespace weir::config {

/// The optional section; makes it with its defaults if it is not there yet.
[[nodiscard]] ClusterSettings& cluster_of(Settings& settings);
[[nodiscard]] CheckSettings& check_of(Settings& settings);

/// Compares and copies one member; `Find` returns a pointer to it in the settings that it is given,
/// or nullptr when its section is not there.
template <class Find>
constexpr SettingValue value_at(Find) {
    return {[](const Settings& one, const Settings& other) {
                const auto* first = Find{}(one);
                const auto* second = Find{}(other);
                return first == nullptr || second == nullptr ? first == second : *first == *second;
            },
            [](const Settings& from, Settings& to) {
                const auto* source = Find{}(from);
                auto* target = Find{}(to);
                if (source == nullptr || target == nullptr) {
                    return false;
                }
                *target = *source;
                return true;
            }};
}

/// Assigns the value if there is one.
template <class T, class U>
void assign(T& target, std::optional<U> value) {
    if (value) {
        target = static_cast<T>(std::move(*value));
    }
}

template <class T>
void read_all(NodeRef node, std::vector<T>& target, Result<T> (*parse)(std::string_view),
              Diagnostics& diagnostics) {
    target.clear();
    for (const NodeRef element : read_list(node, diagnostics)) {
        if (auto value = read_parsed(element, parse, diagnostics)) {
            target.push_back(std::move(*value));
        }
    }
}

/// Reads a text that must not be empty.
void read_string(NodeRef node, std::string& target, Diagnostics& diagnostics);
/// Reads a path. A relative one that a file names begins at that file's folder, one of a flag or
/// variable at the working directory.
void read_path(NodeRef node, std::string& target, Diagnostics& diagnostics);
void read_files(NodeRef node, std::vector<std::string>& target, Diagnostics& diagnostics);
/// Reads the name of an HTTP field; the word `none` becomes an empty text.
void read_field_name(NodeRef node, std::string& target, Diagnostics& diagnostics);
void read_cluster_name(NodeRef node, std::string& target, Diagnostics& diagnostics);
/// Reads the key `headers.rate_limit`, which stands for two members.
void read_rate_limit_headers(NodeRef node, Settings& settings, Diagnostics& diagnostics);

}  // namespace weir::config
