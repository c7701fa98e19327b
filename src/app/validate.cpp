#include "app/validate.h"

#include <cstdio>

#include "node/files.h"

namespace weir::app {
namespace {

std::size_t count_quotas(const std::vector<config::QuotaSet>& sets) {
    std::size_t count = 0;
    for (const config::QuotaSet& set : sets) {
        count += set.quotas.size();
    }
    return count;
}

/// Prints the errors and warnings. True if the configuration is good.
bool tell_result(const config::Diagnostics& diagnostics, const std::vector<config::QuotaSet>& sets,
                 bool strict) {
    std::fputs(diagnostics.text().c_str(), stderr);
    if (!tell_if_bad(diagnostics, strict)) {
        return false;
    }
    std::printf("valid: %zu quota set(s), %zu quota(s)\n", sets.size(), count_quotas(sets));
    return true;
}

bool validate_documents(const std::vector<std::string>& paths, bool strict) {
    config::Diagnostics diagnostics;
    const std::vector<std::string> files = node::expand_quota_paths(paths, diagnostics);
    const std::vector<config::QuotaSet> sets =
        config::parse_quota_sets(node::read_sources(files, diagnostics), diagnostics);
    return tell_result(diagnostics, sets, strict);
}

bool validate_settings(const node::ConfigSource& source, bool strict) {
    const node::Loaded loaded = node::load(source);
    return tell_result(loaded.diagnostics, loaded.sets, strict);
}

}  // namespace

bool tell_if_bad(const config::Diagnostics& diagnostics, bool strict) {
    if (diagnostics.has_errors()) {
        std::fprintf(stderr, "weir: %zu error(s)\n", diagnostics.error_count());
        return false;
    }
    if (strict && diagnostics.warning_count() > 0) {
        std::fprintf(stderr, "weir: %zu warning(s), which are errors because of --strict\n",
                     diagnostics.warning_count());
        return false;
    }
    return true;
}

int validate(const node::ConfigSource& source, const std::vector<std::string>& documents,
             bool strict) {
    bool good = true;
    if (source.file || documents.empty()) {
        good = validate_settings(source, strict);
    }
    if (!documents.empty()) {
        good = validate_documents(documents, strict) && good;
    }
    return good ? 0 : 1;
}

}  // namespace weir::app
