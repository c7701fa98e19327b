#pragma once
// The admin API's answers as JSON (docs/admin-api.md). Pure functions of plain values, thread-safe.

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "admin/sources.h"
#include "config/diagnostics.h"

namespace weir::admin {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json to_json(const ConfigFigures& config);
[[nodiscard]] Json to_json(const engine::PeerReport& peer);
[[nodiscard]] Json to_json(const Health& health);
[[nodiscard]] Json to_json(const GossipTrouble& gossip);
[[nodiscard]] Json to_json(const ProblemList& list);
/// Says for people what is wrong with datagrams that were refused for this reason, a word such as
/// "forged". The text continues a sentence such as "datagrams of this peer are". A reason that has
/// no text is returned as it is.
[[nodiscard]] std::string_view describe_refusal(std::string_view reason);
/// One line of the list of quotas, with who changed it, why, until when, and its problem, as far as
/// there is something to say. The definition is null when the quota is hidden.
[[nodiscard]] Json to_json(const QuotaRow& row);
[[nodiscard]] Json to_json(const QuotaReport& report);
[[nodiscard]] Json to_json(const std::vector<QuotaHistoryRow>& history);
[[nodiscard]] Json to_json(const std::vector<definitions::DefinitionError>& errors);
[[nodiscard]] Json to_json(const std::vector<config::Diagnostic>& errors);

}  // namespace weir::admin
