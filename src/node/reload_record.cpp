#include "node/reload_record.h"

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
    settings_bad_ = false;
}

bool ReloadRecord::succeed(Duration unix_now) {
    ++figures_.reloads;
    if (settings_bad_) {
        return false;
    }
    figures_.last_reload_successful = true;
    figures_.last_success_seconds = to_seconds(unix_now);
    figures_.errors.clear();
    return true;
}

void ReloadRecord::fail(Reload what, std::vector<std::string> errors) {
    settings_bad_ = settings_bad_ || what != Reload::quotas;
    ++figures_.reloads;
    ++figures_.reload_failures;
    figures_.last_reload_successful = false;
    figures_.errors = std::move(errors);
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
    for (const auto& [file, problem] : problems_) {
        figures.last_reload_successful = false;
        figures.errors.push_back(problem);
    }
    return figures;
}

}  // namespace weir::node
