#include "node/file_stamp.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>

namespace weir::node {
namespace {

namespace fs = std::filesystem;

void add_stamp(const fs::path& path, std::string& text) {
    struct stat found {};
    text += path.string();
    if (::stat(path.c_str(), &found) == 0) {
        for (const auto number :
             {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino),
              static_cast<std::uint64_t>(found.st_mode), static_cast<std::uint64_t>(found.st_size),
              static_cast<std::uint64_t>(found.st_mtim.tv_sec),
              static_cast<std::uint64_t>(found.st_mtim.tv_nsec),
              static_cast<std::uint64_t>(found.st_ctim.tv_sec),
              static_cast<std::uint64_t>(found.st_ctim.tv_nsec)}) {
            text += ' ' + std::to_string(number);
        }
    }
    text += '\n';
}

}  // namespace

std::string stamp_of(const std::vector<std::string>& paths) {
    std::string text;
    for (const std::string& path : paths) {
        std::error_code failure;
        add_stamp(path, text);
        if (!fs::is_directory(path, failure)) {
            continue;
        }
        std::set<std::string> files;
        for (fs::directory_iterator at(path, failure), end; !failure && at != end;
             at.increment(failure)) {
            files.insert(at->path().string());
        }
        for (const std::string& file : files) {
            add_stamp(file, text);
        }
    }
    return text;
}

bool is_read_once(const std::string& path) {
    std::error_code failure;
    return fs::exists(path, failure) && !fs::is_regular_file(path, failure) &&
           !fs::is_directory(path, failure);
}

void Stamps::note(const std::vector<std::string>& paths) {
    std::vector<std::string> lasting;
    std::copy_if(paths.begin(), paths.end(), std::back_inserter(lasting), [](const auto& path) {
        std::error_code failure;
        return fs::is_regular_file(path, failure) || fs::is_directory(path, failure);
    });
    std::string stamp = stamp_of(lasting);
    noted_.emplace_back(std::move(lasting), std::move(stamp));
}

bool Stamps::changed() const {
    return std::any_of(noted_.begin(), noted_.end(),
                       [](const auto& noted) { return stamp_of(noted.first) != noted.second; });
}

}  // namespace weir::node
