#pragma once
// Shows people the value of each setting and where it comes from (GET /v1/config). Settings hold no
// secrets, only the paths of files that do. The functions are pure.

#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/settings.h"

namespace weir::config {

/// The node's value as it was written, in JSON.
[[nodiscard]] std::string json_text(NodeRef node);

/// A JSON object with each key of the table once: {"listen": {"value": "0.0.0.0:8080", "source":
/// "default"}, …}.
[[nodiscard]] std::string describe_settings(const std::vector<GivenSetting>& given);

}  // namespace weir::config
