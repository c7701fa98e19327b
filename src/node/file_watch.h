#pragma once
// Tells when watched files may have changed: the directories that hold them are watched with
// inotify, since editors and Kubernetes replace files by renames (a ConfigMap swaps the symbolic
// link `..data`), which a watch on the file itself would miss. A look at the files every few
// seconds stands in where inotify does not work (network file systems, replaced directories).
//
// A file that is written in several goes is told once, at rest: when it stayed the same for two
// times kSettle, or for ten if no event told of it (it may be open still). One that changes for
// ever is told all the same, after kSettle * kMostSamples.
//
// Thread-safety: none, all on the io_context's thread. `changed` may be called although nothing has
// changed.

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/instant.h"

namespace weir::node {

class FileWatch {
  public:
    static constexpr std::chrono::milliseconds kSettle{100};
    static constexpr int kMostSamples = 30;
    static constexpr std::chrono::seconds kLook{5};

    /// `look` is how often the files are looked at without an event.
    FileWatch(boost::asio::io_context& control, std::function<void()> changed,
              std::chrono::milliseconds look = kLook);
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    /// Replaces what is watched: files, or directories of files.
    void watch(const std::vector<std::string>& paths);
    /// What changed could not be read: `changed` is called again at the next look, whether or not
    /// anything shows from outside.
    void again() { again_ = true; }
    void stop();
    /// False when the kernel gave no inotify instance: then only the regular look is left.
    [[nodiscard]] bool notified() const { return descriptor_.is_open(); }

  private:
    void open();
    void read_events();
    void settle(int rests);
    void wait_for_rest();
    void sample();
    void look_regularly();
    void look();

    boost::asio::posix::stream_descriptor descriptor_;
    boost::asio::steady_timer settle_timer_;
    boost::asio::steady_timer look_timer_;
    std::function<void()> changed_;
    std::chrono::milliseconds look_;
    std::vector<std::string> paths_;
    std::vector<int> watches_;
    std::vector<char> buffer_;
    std::string seen_;       ///< the stamp that was told
    std::string candidate_;  ///< the stamp of the last sample
    int rests_ = 0;
    int rests_needed_ = 0;
    int samples_ = 0;
    bool settling_ = false;
    bool again_ = false;
    bool stopped_ = false;
};

}  // namespace weir::node
