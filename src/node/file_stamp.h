#pragma once
// What tells a file's versions apart without reading it. Blocks on the file system; stateless.

#include <string>
#include <utility>
#include <vector>

namespace weir::node {

/// Device, inode, mode, size and times of these files, and of the files in those that are
/// directories, as one text. It is another one after every change, of permissions too.
[[nodiscard]] std::string stamp_of(const std::vector<std::string>& paths);

/// The stamps of files that are about to be read. Pipes and devices, which change by being read,
/// have none.
class Stamps {
  public:
    void note(const std::vector<std::string>& paths);
    [[nodiscard]] bool changed() const;

  private:
    std::vector<std::pair<std::vector<std::string>, std::string>> noted_;
};

/// Calls `read(stamps)`, which notes what it is going to read, until nothing of that changed
/// meanwhile: half of a file that is being written, or two files of different versions, are read
/// again, at once: nobody is waited for. After kMostReadings they are taken as they are.
inline constexpr int kMostReadings = 4;
template <class Read>
auto read_at_rest(Read read) {
    for (int readings = 1;; ++readings) {
        Stamps stamps;
        auto result = read(stamps);
        if (readings == kMostReadings || !stamps.changed()) {
            return result;
        }
    }
}

}  // namespace weir::node
