#include "node/file_watch.h"

#include <sys/inotify.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <filesystem>
#include <set>

#include "node/file_stamp.h"

namespace weir::node {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE |
                                  IN_DELETE | IN_DELETE_SELF | IN_ATTRIB;
constexpr std::size_t kBufferBytes = 16 * 1024;
/// How many samples in a row, kSettle apart, must show no further change before a change is
/// reported.
constexpr int kRests = 2;
/// The same for a change that was found without an event. The file may still be open, because the
/// event comes when it is closed.
constexpr int kRestsWithoutEvent = 10;

/// Adds the directory in which a change of this path is seen: the path itself if it is a directory,
/// else its parent.
void add_directory(const fs::path& path, std::set<std::string>& directories) {
    std::error_code failure;
    const bool is_directory = fs::is_directory(path, failure);
    const fs::path directory = is_directory ? path : path.parent_path();
    directories.insert(directory.empty() ? "." : directory.string());
}

/// All directories to watch, also those to which symbolic links on the way lead.
std::set<std::string> directories_of(const std::vector<std::string>& paths) {
    std::set<std::string> directories;
    for (const std::string& path : paths) {
        add_directory(path, directories);
        std::error_code failure;
        const fs::path real = fs::canonical(path, failure);
        if (!failure) {
            add_directory(real, directories);
        }
    }
    return directories;
}

}  // namespace

FileWatch::FileWatch(boost::asio::io_context& control, std::function<void()> changed,
                     std::chrono::milliseconds look)
    : descriptor_(control),
      settle_timer_(control),
      look_timer_(control),
      changed_(std::move(changed)),
      look_(look),
      buffer_(kBufferBytes) {
    open();
    look_regularly();
}

void FileWatch::open() {
    const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (descriptor < 0) {
        return;
    }
    descriptor_.assign(descriptor);
    read_events();
}

void FileWatch::watch(const std::vector<std::string>& paths) {
    // If the paths are the same, a change that was noticed and not reported yet must not be
    // forgotten.
    if (paths_ != paths) {
        paths_ = paths;
        seen_ = stamp_of(paths_);
    }
    if (!descriptor_.is_open()) {
        return;
    }
    for (const int watch : watches_) {
        ::inotify_rm_watch(descriptor_.native_handle(), watch);
    }
    watches_.clear();
    for (const std::string& directory : directories_of(paths)) {
        const int watch =
            ::inotify_add_watch(descriptor_.native_handle(), directory.c_str(), kEvents);
        if (watch >= 0) {
            watches_.push_back(watch);
        }
    }
}

void FileWatch::stop() {
    stopped_ = true;
    settle_timer_.cancel();
    look_timer_.cancel();
    boost::system::error_code ignored;
    descriptor_.close(ignored);
}

void FileWatch::read_events() {
    descriptor_.async_read_some(
        boost::asio::buffer(buffer_),
        [this](const boost::system::error_code& failure, std::size_t) {
            if (failure == boost::asio::error::operation_aborted || stopped_) {
                return;
            }
            if (!failure) {
                read_events();
                settle(kRests);
            }
        });
}

void FileWatch::settle(int rests) {
    rests_needed_ = settling_ ? std::min(rests_needed_, rests) : rests;
    if (settling_) {
        return;
    }
    rests_ = 0;
    samples_ = 0;
    candidate_ = stamp_of(paths_);
    wait_for_rest();
}

void FileWatch::wait_for_rest() {
    settle_timer_.expires_after(kSettle);
    settle_timer_.async_wait([this](const boost::system::error_code& failure) {
        settling_ = false;
        if (!failure && !stopped_) {
            sample();
        }
    });
    settling_ = true;
}

void FileWatch::sample() {
    std::string now = stamp_of(paths_);
    if (now == seen_) {
        return;
    }
    rests_ = now == candidate_ ? rests_ + 1 : 0;
    candidate_ = std::move(now);
    if (rests_ < rests_needed_ && ++samples_ < kMostSamples) {
        wait_for_rest();
        return;
    }
    seen_ = candidate_;
    again_ = false;
    changed_();
}

void FileWatch::look_regularly() {
    look_timer_.expires_after(look_);
    look_timer_.async_wait([this](const boost::system::error_code& failure) {
        if (failure || stopped_) {
            return;
        }
        look_regularly();  // comes first, so that there is a next look even if the rest throws
        look();
    });
}

void FileWatch::look() {
    if (!again_ || stamp_of(paths_) != seen_) {
        settle(kRestsWithoutEvent);
        return;
    }
    again_ = false;
    changed_();
}

}  // namespace weir::node
