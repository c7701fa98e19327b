#include "config/setting_readers.h"

#include "base/loopback.h"
#include "config/values.h"

namespace weir::config {

ClusterSettings& cluster_of(Settings& settings) {
    if (!settings.cluster) {
        settings.cluster.emplace();
    }
    return *settings.cluster;
}

CheckSettings& check_of(Settings& settings) {
    if (!settings.check) {
        settings.check.emplace();
        settings.check->listen.endpoint = loopback_address(9903);
    }
    return *settings.check;
}

void read_string(NodeRef node, std::string& target, Diagnostics& diagnostics) {
    const auto text = read_text(node, diagnostics);
    if (text && text->empty()) {
        diagnostics.error(node, "must not be empty");
    } else if (text) {
        target = std::string(*text);
    }
}

void read_path(NodeRef node, std::string& target, Diagnostics& diagnostics) {
    read_string(node, target, diagnostics);
    const bool of_file = node->place.line != 0;
    if (!of_file || target.empty() || target == "-" || target.front() == '/') {
        return;
    }
    const std::string& file = node.document().file();
    const std::size_t slash = file.rfind('/');
    if (slash != std::string::npos) {
        target.insert(0, file, 0, slash + 1);
    }
}

void read_files(NodeRef node, std::vector<std::string>& target, Diagnostics& diagnostics) {
    target.clear();
    for (const NodeRef element : read_list(node, diagnostics)) {
        target.emplace_back();
        read_path(element, target.back(), diagnostics);
    }
}

void read_field_name(NodeRef node, std::string& target, Diagnostics& diagnostics) {
    if (auto name = read_parsed(node, &parse_field_name, diagnostics)) {
        target = std::move(*name);
    }
}

void read_cluster_name(NodeRef node, std::string& target, Diagnostics& diagnostics) {
    constexpr std::size_t kMaxBytes = 64;
    read_string(node, target, diagnostics);
    if (target.size() > kMaxBytes) {
        diagnostics.error(node, "must have at most 64 bytes");
    }
}

void read_rate_limit_headers(NodeRef node, Settings& settings, Diagnostics& diagnostics) {
    settings.headers.ietf = false;
    settings.headers.x_ratelimit = false;
    bool none = false;
    const std::vector<NodeRef> elements = read_list(node, diagnostics);
    for (const NodeRef element : elements) {
        const auto word = read_word(element, {"ietf", "x-ratelimit", "none"}, diagnostics);
        settings.headers.ietf = settings.headers.ietf || word == 0U;
        settings.headers.x_ratelimit = settings.headers.x_ratelimit || word == 1U;
        none = none || word == 2U;
    }
    if (none && elements.size() > 1) {
        diagnostics.error(node, "'none' must stand alone");
    }
}

}  // namespace weir::config
