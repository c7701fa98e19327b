#pragma once
// Reports when watched files may have changed. It watches their directories with inotify, because
// editors and Kubernetes replace files by renames (a ConfigMap swaps the symbolic link `..data`),
// which a watch on the file itself would miss. It also looks at the files every few seconds, for
// cases in which inotify does not work (network file systems, replaced directories).
//
// A file that is written in several steps is reported once, when it has stayed the same for two
// times kSettle, or for ten times if no event came (then it may still be open). A file that never
// stops changing is reported after kSettle * kMostSamples.
//
// Thread-safety: none; all calls come on the thread of the io_context. `changed` may be called
// although nothing has changed. Ownership: it borrows the io_context, which must outlive it, and
// owns the descriptor of inotify and its timers.

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

    /// Replaces the watched paths, which are files or directories of files.
    void watch(const std::vector<std::string>& paths);
    [[nodiscard]] const std::vector<std::string>& watched() const { return paths_; }
    /// Says that the changed files could not be read. `changed` is called again at the next look,
    /// whether or not a further change is visible.
    void again() { again_ = true; }
    void stop();

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
    std::string seen_;       ///< the stamp that was reported last
    std::string candidate_;  ///< the stamp of the last sample
    int rests_ = 0;
    int rests_needed_ = 0;
    int samples_ = 0;
    bool settling_ = false;
    bool again_ = false;
    bool stopped_ = false;
};

}  // namespace weir::node
