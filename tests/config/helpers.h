#pragma once
// Functions that several tests of config share.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/load_settings.h"
#include "config/quota_document.h"

namespace weir::config::testing {

inline std::vector<std::string> lines(const Diagnostics& diagnostics) {
    std::vector<std::string> texts;
    for (const Diagnostic& diagnostic : diagnostics.sorted()) {
        texts.push_back(to_string(diagnostic));
    }
    return texts;
}

/// The messages about a quota file with this text.
inline std::vector<std::string> quota_errors(const std::string& text) {
    Diagnostics diagnostics;
    const auto sets = parse_quota_sets({{"q.yaml", text}}, diagnostics);
    return lines(diagnostics);
}

/// The messages about a settings file with this text.
inline std::vector<std::string> settings_errors(const std::string& text) {
    Diagnostics diagnostics;
    const Settings settings = load_settings(SourceText{"weir.yaml", text}, {}, diagnostics);
    return lines(diagnostics);
}

using Lines = std::vector<std::string>;

}  // namespace weir::config::testing

namespace doctest {

template <>
struct StringMaker<std::vector<std::string>> {
    static String convert(const std::vector<std::string>& texts) {
        std::string all;
        for (const std::string& text : texts) {
            all += "\n  " + text;
        }
        return all.c_str();
    }
};

}  // namespace doctest
