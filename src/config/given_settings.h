#pragma once
// What the settings are and where each comes from, for people: GET /v1/config. Settings hold no
// secrets, only the paths of files that do. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/settings.h"

namespace weir::config {

/// The value as it was written: a text of JSON.
[[nodiscard]] std::string json_text(NodeRef node);

/// Whether only a restart takes over a change of this key.
[[nodiscard]] bool needs_restart(std::string_view key);

/// After a reload: what may change from `wanted`, the rest as it was.
[[nodiscard]] std::vector<GivenSetting> take_over(const std::vector<GivenSetting>& now,
                                                  const std::vector<GivenSetting>& wanted);

/// A JSON object: {"listen": {"value": "0.0.0.0:8080", "source": "default"}, …}, each key once.
[[nodiscard]] std::string describe_settings(const std::vector<GivenSetting>& given);

}  // namespace weir::config
