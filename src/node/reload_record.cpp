#include "node/reload_record.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "admin/figures.h"

namespace weir::node {

ReloadRecord::ReloadRecord(std::string settings_file, std::uint64_t settings_hash) {
    figures_.file = std::move(settings_file);
    figures_.hash = admin::hash_text(settings_hash);
}

void ReloadRecord::start(Duration unix_now) {
    figures_.last_success_seconds = to_seconds(unix_now);
}

void ReloadRecord::settings_taken_over(std::uint64_t settings_hash) {
    figures_.hash = admin::hash_text(settings_hash);
    settings_errors_.clear();
}

bool ReloadRecord::succeed(Duration unix_now) {
    ++figures_.reloads;
    quota_errors_.clear();
    if (settings_bad()) {
        return false;
    }
    figures_.last_reload_successful = true;
    figures_.last_success_seconds = to_seconds(unix_now);
    return true;
}

void ReloadRecord::fail(Reload what, std::vector<std::string> errors) {
    ++figures_.reloads;
    ++figures_.reload_failures;
    figures_.last_reload_successful = false;
    if (what == Reload::quotas) {
        quota_errors_ = std::move(errors);
        return;
    }
    settings_errors_ = std::move(errors);
    quota_errors_.clear();
}

bool ReloadRecord::told(Reload what, const std::vector<std::string>& errors) const {
    return errors == settings_errors_ || (what == Reload::quotas && errors == quota_errors_);
}

/// Quotas that were bad together with settings may have been read alone since then.
std::vector<std::string> ReloadRecord::errors() const {
    std::vector<std::string> all = settings_errors_;
    std::copy_if(quota_errors_.begin(), quota_errors_.end(), std::back_inserter(all),
                 [this](const std::string& one) {
                     return std::find(settings_errors_.begin(), settings_errors_.end(), one) ==
                            settings_errors_.end();
                 });
    return all;
}

void ReloadRecord::file_is_good(OwnFile file, bool changed) {
    problems_.erase(file);
    if (changed) {
        ++figures_.reloads;
    }
}

void ReloadRecord::file_is_bad(OwnFile file, std::string problem) {
    ++figures_.reloads;
    ++figures_.reload_failures;
    problems_[file] = std::move(problem);
}

std::string ReloadRecord::problem(OwnFile file) const {
    const auto found = problems_.find(file);
    return found == problems_.end() ? "" : found->second;
}

admin::ConfigFigures ReloadRecord::figures() const {
    admin::ConfigFigures figures = figures_;
    figures.errors = errors();
    for (const auto& [file, problem] : problems_) {
        figures.last_reload_successful = false;
        figures.errors.push_back(problem);
    }
    return figures;
}

}  // namespace weir::node
