#pragma once
// Story files for the programs and tests of the simulator. Plain functions; errors go to the
// diagnostics, a file that cannot be read too.

#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "sim/story_file.h"

namespace weir::sim::test {

/// The stories of docs/cluster.md; those that take minutes each are in its folder `costly`.
inline const std::filesystem::path kStories = WEIR_STORIES_DIR;

inline std::vector<Story> stories_of(const std::filesystem::path& path,
                                     config::Diagnostics& diagnostics) {
    std::ifstream file(path);
    if (!file) {
        diagnostics.add({config::Severity::error, path.string(), {}, {}, "cannot be read", {}});
        return {};
    }
    std::ostringstream text;
    text << file.rdbuf();
    return read_stories({path.string(), text.str()}, diagnostics);
}

/// All stories of the folder, in the order of their files' names.
inline std::vector<Story> stories_in(const std::filesystem::path& folder,
                                     config::Diagnostics& diagnostics) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".yaml") {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Story> stories;
    for (const std::filesystem::path& path : paths) {
        std::vector<Story> found = stories_of(path, diagnostics);
        std::move(found.begin(), found.end(), std::back_inserter(stories));
    }
    return stories;
}

/// To be called at the start of a program that simulates fleets: thousands of limiters live in its
/// process, and each would touch a page of 2 MiB.
inline void use_small_pages() { static_cast<void>(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)); }

}  // namespace weir::sim::test
