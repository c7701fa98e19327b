#pragma once
// The names of quotas that checks ask for and that do not exist. A worker notes them, and the
// control thread takes them once a second for the list of problems. Names come from other proxies,
// so number and length of what is kept are bounded.
//
// Thread-safety: note() is for one thread, take() for any other. A check whose quota exists does
// not come here. It owns copies of the names.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::proxy {

class UnknownNames {
  public:
    static constexpr std::size_t kMostNames = 16;
    static constexpr std::size_t kMostBytes = 128;  ///< of a name that is kept; the rest is cut

    void note(std::string_view name) {
        name = name.substr(0, kMostBytes);
        const std::lock_guard lock(mutex_);
        const bool is_known = std::find(names_.begin(), names_.end(), name) != names_.end();
        if (!is_known && names_.size() < kMostNames) {
            names_.emplace_back(name);
        }
    }

    /// The names that were noted since the last call, each once.
    [[nodiscard]] std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(names_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<std::string> names_;
};

}  // namespace weir::proxy
