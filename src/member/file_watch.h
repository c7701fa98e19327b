#pragma once
// Tells when watched files may have changed: the directories that hold them are watched with
// inotify, since editors and Kubernetes replace files by renames (a ConfigMap swaps the symbolic
// link `..data`), which a watch on the file itself would miss. A look at the files every few
// seconds stands in where inotify does not work (network file systems, replaced directories).
//
// Thread-safety: none, all on the io_context's thread. `changed` is called at most once per
// kSettle, and may be called although nothing has changed.

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/instant.h"

namespace weir::member {

class FileWatch {
  public:
    /// Several writes in a row are one change.
    static constexpr std::chrono::milliseconds kSettle{100};
    static constexpr std::chrono::seconds kLook{5};

    FileWatch(boost::asio::io_context& control, std::function<void()> changed);
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    /// Replaces what is watched: files, or directories of files.
    void watch(const std::vector<std::string>& paths);
    void stop();
    /// False when the kernel gave no inotify instance: then only the regular look is left.
    [[nodiscard]] bool notified() const { return descriptor_.is_open(); }

  private:
    void open();
    void read_events();
    void settle();
    void look_regularly();
    /// Device, inode, size and times of all watched paths, as one text.
    [[nodiscard]] std::string fingerprint() const;

    boost::asio::posix::stream_descriptor descriptor_;
    boost::asio::steady_timer settle_timer_;
    boost::asio::steady_timer look_timer_;
    std::function<void()> changed_;
    std::vector<std::string> paths_;
    std::vector<int> watches_;
    std::vector<char> buffer_;
    std::string seen_;
    bool settling_ = false;
    bool stopped_ = false;
};

}  // namespace weir::member
