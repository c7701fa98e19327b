#include "member/file_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <filesystem>
#include <set>

namespace weir::member {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF;
constexpr std::size_t kBufferBytes = 16 * 1024;

/// The directory in which a change of this path shows: its own if it is one, else its parent.
void add_directory(const fs::path& path, std::set<std::string>& directories) {
    std::error_code failure;
    const bool is_directory = fs::is_directory(path, failure);
    const fs::path directory = is_directory ? path : path.parent_path();
    directories.insert(directory.empty() ? "." : directory.string());
}

/// With the places that symbolic links on the way lead to.
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

void add_fingerprint(const fs::path& path, std::string& text) {
    struct stat found {};
    text += path.string();
    if (::stat(path.c_str(), &found) == 0) {
        for (const auto number :
             {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino),
              static_cast<std::uint64_t>(found.st_size),
              static_cast<std::uint64_t>(found.st_mtim.tv_sec),
              static_cast<std::uint64_t>(found.st_mtim.tv_nsec)}) {
            text += ' ' + std::to_string(number);
        }
    }
    text += '\n';
}

}  // namespace

FileWatch::FileWatch(boost::asio::io_context& control, std::function<void()> changed)
    : descriptor_(control),
      settle_timer_(control),
      look_timer_(control),
      changed_(std::move(changed)),
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
    paths_ = paths;
    seen_ = fingerprint();
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
                settle();
                read_events();
            }
        });
}

void FileWatch::settle() {
    if (settling_) {
        return;
    }
    settling_ = true;
    settle_timer_.expires_after(kSettle);
    settle_timer_.async_wait([this](const boost::system::error_code& failure) {
        settling_ = false;
        if (failure || stopped_) {
            return;
        }
        std::string now = fingerprint();
        if (now != seen_) {
            seen_ = std::move(now);
            changed_();
        }
    });
}

void FileWatch::look_regularly() {
    look_timer_.expires_after(kLook);
    look_timer_.async_wait([this](const boost::system::error_code& failure) {
        if (failure || stopped_) {
            return;
        }
        settle();
        look_regularly();
    });
}

std::string FileWatch::fingerprint() const {
    std::string text;
    for (const std::string& path : paths_) {
        std::error_code failure;
        add_fingerprint(path, text);
        if (!fs::is_directory(path, failure)) {
            continue;
        }
        std::set<std::string> files;
        for (fs::directory_iterator at(path, failure), end; !failure && at != end;
             at.increment(failure)) {
            files.insert(at->path().string());
        }
        for (const std::string& file : files) {
            add_fingerprint(file, text);
        }
    }
    return text;
}

}  // namespace weir::member
