#include "tools/arrival_counts.h"

#include <nlohmann/json.hpp>

namespace weir::tools {

void ArrivalCounts::Series::add(std::int64_t bin) {
    if (bins.empty()) {
        first_bin = bin;
    }
    ++total;
    const auto index = static_cast<std::size_t>(bin < first_bin ? 0 : bin - first_bin);
    if (index >= kMaxBins) {
        return;
    }
    if (index >= bins.size()) {
        bins.resize(index + 1, 0);
    }
    ++bins[index];
}

void ArrivalCounts::add(std::string_view listener, std::string_view key, std::int64_t now_ns) {
    auto found = series_.find(NameOrder::View(listener, key));
    if (found == series_.end()) {
        const std::string_view name = series_.size() < kMaxSeries ? key : "__other__";
        found = series_.try_emplace(Name(listener, name)).first;
    }
    found->second.add(now_ns / kBinNs);
}

std::string ArrivalCounts::to_json(std::int64_t now_ns) const {
    nlohmann::json series = nlohmann::json::array();
    for (const auto& [name, one] : series_) {
        series.push_back({{"listener", name.first},
                          {"key", name.second},
                          {"total", one.total},
                          {"first_bin", one.first_bin},
                          {"counts", one.bins}});
    }
    const nlohmann::json document{
        {"now_ns", now_ns}, {"bin_ns", kBinNs}, {"series", std::move(series)}};
    // Keys come from request paths and need not be UTF-8.
    return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::uint64_t ArrivalCounts::total() const {
    std::uint64_t sum = 0;
    for (const auto& [name, one] : series_) {
        sum += one.total;
    }
    return sum;
}

std::string_view first_segment(std::string_view request_line) {
    const std::size_t space = request_line.find(' ');
    if (space == std::string_view::npos) {
        return {};
    }
    std::string_view target = request_line.substr(space + 1);
    target = target.substr(0, target.find_first_of(" ?"));
    if (target.starts_with('/')) {
        target.remove_prefix(1);
    }
    return target.substr(0, target.find('/'));
}

}  // namespace weir::tools
