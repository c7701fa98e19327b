#pragma once
// Finds out whether files have changed, without reading them. The functions block on the file
// system. Any thread may call them; a Stamps belongs to one reading.

#include <string>
#include <utility>
#include <vector>

namespace weir::node {

/// A text made of device, inode, mode, size and times of these files and, for directories, of the
/// files in them. It differs after every change, also of permissions.
[[nodiscard]] std::string stamp_of(const std::vector<std::string>& paths);

/// Whether this is a pipe or a device, which changes by being read.
[[nodiscard]] bool is_read_once(const std::string& path);

/// The stamps of files that are about to be read. Pipes and devices, which change by being read,
/// have none.
class Stamps {
  public:
    void note(const std::vector<std::string>& paths);
    [[nodiscard]] bool changed() const;

  private:
    std::vector<std::pair<std::vector<std::string>, std::string>> noted_;
};

/// Calls `read(stamps)`, which notes the files that it is going to read, again until none of them
/// has changed meanwhile. So a file that is half written, or two files of different versions, are
/// read again. This happens at once, without waiting. After kMostReadings readings the last result
/// is used.
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
