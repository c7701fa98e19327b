#pragma once
// Another value for each key of the settings, for tests that change them one by one.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/load_settings.h"
#include "config/settings_fields.h"

namespace weir::config::testing {

/// What such tests begin with: valid, bound to no fixed port, and with the optional sections.
inline std::vector<Override> first_values() {
    return {{"upstream", "first", "http://127.0.0.1:3000"},
            {"listen", "first", "127.0.0.1:0"},
            {"admin", "first", "127.0.0.1:0"},
            {"status", "first", "127.0.0.1:0"},
            {"check.listen", "first", "127.0.0.1:0"},
            {"cluster.listen", "first", "127.0.0.1:0"},
            {"cluster.insecure", "first", "true"}};
}

inline Settings settings_of(const std::vector<Override>& values, Diagnostics& diagnostics) {
    return load_settings(std::nullopt, values, diagnostics);
}

/// Texts to try for a key, by what the table says of its type and bounds.
inline std::vector<std::string> texts_to_try(const SettingField& field) {
    const std::string type(field.type);
    const std::string bounds(field.bounds);
    if (type == "true or false") {
        return {"true", "false"};
    }
    if (type == "word" || type == "list of words") {
        const std::size_t first = bounds.find(", ");
        const std::size_t last = bounds.rfind(", ");
        return {bounds.substr(0, first), bounds.substr(last + 2)};
    }
    if (const std::size_t to = bounds.find(" to "); to != std::string::npos && type != "text") {
        return {bounds.substr(to + 4), bounds.substr(0, to)};
    }
    const std::vector<std::pair<std::string, std::string>> others = {
        {"address", "127.0.0.1:1"},
        {"upstream", "http://127.0.0.1:4000"},
        {"path", "another-file"},
        {"list of paths", "another-file"},
        {"list of address blocks", "10.1.0.0/16"},
        {"list of statuses", "304"},
        {"list of protocols", "another/1"},
        {"list of seeds", "127.0.0.1:2"},
        {"field name", "X-Another"},
        {"text", "another"}};
    for (const auto& [known, text] : others) {
        if (known == type) {
            return {text};
        }
    }
    FAIL("texts_to_try() needs a value of the type '" << type << "', for " << field.key);
    return {};
}

/// `first` with another value of this key, and with what that value needs beside it.
inline std::vector<Override> with_another(const std::vector<Override>& first,
                                          const SettingField& field) {
    Diagnostics ignored;
    const Settings before = settings_of(first, ignored);
    for (const std::string& text : texts_to_try(field)) {
        const std::vector<std::vector<Override>> beside = {
            {},
            {{"cluster.insecure", "second", "false"}, {"cluster.key_file", "second", "keys"}},
            {{"cluster.insecure", "second", "true"}}};  // an anchor needs a fleet
        for (const std::vector<Override>& more : beside) {
            std::vector<Override> values = first;
            values.insert(values.end(), more.begin(), more.end());
            values.push_back({std::string(field.key), "second", text});
            Diagnostics diagnostics;
            const Settings after = settings_of(values, diagnostics);
            if (!diagnostics.has_errors() && !field.value.same(before, after)) {
                return values;
            }
        }
    }
    FAIL("no text of texts_to_try() is another value of " << field.key);
    return {};
}

}  // namespace weir::config::testing
