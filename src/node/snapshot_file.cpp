#include "node/snapshot_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "net/socket_address.h"

namespace weir::node {
namespace {

constexpr mode_t kOwnerOnly = 0600;

std::string temporary(const std::string& path) { return path + ".new"; }

/// Whether the descriptor is still the file at this path.
bool still_there(int descriptor, const std::string& path) {
    struct stat here {};
    struct stat there {};
    return ::fstat(descriptor, &here) == 0 && ::lstat(path.c_str(), &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino && S_ISREG(here.st_mode);
}

/// Whether a file of this size is within the limit of the process; writing beyond it causes a
/// signal.
bool fits_file_limit(std::uint64_t size) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

Result<void> sync_directory(const std::string& path) {
    std::string directory = std::filesystem::path(path).parent_path().string();
    if (directory.empty()) {
        directory = ".";
    }
    const net::FileDescriptor descriptor(
        ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // EINVAL means a file system that cannot sync a directory and need not.
    if (!descriptor.is_open() || (::fsync(descriptor.get()) != 0 && errno != EINVAL)) {
        return net::system_error("cannot sync " + directory, errno);
    }
    return {};
}

/// Renames the file. False, with EEXIST, if there is a file at the new place.
bool rename_beside(const std::string& path, const std::string& place) {
    const int outcome =
        ::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE);
    if (outcome == 0) {
        return true;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return false;
    }
    // A file system (such as NFS) or a kernel does not support renameat2().
    if (is_taken(place)) {
        errno = EEXIST;
        return false;
    }
    return ::rename(path.c_str(), place.c_str()) == 0;
}

}  // namespace

SnapshotFile::SnapshotFile(std::string path, net::FileDescriptor descriptor)
    : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

SnapshotFile::~SnapshotFile() {
    if (descriptor_.is_open()) {
        static_cast<void>(::unlink(temporary(path_).c_str()));
    }
}

Result<SnapshotFile> SnapshotFile::create(const std::string& path) {
    const std::string place = temporary(path);
    net::FileDescriptor descriptor(::open(
        place.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kOwnerOnly));
    if (!descriptor.is_open()) {
        return net::system_error("cannot write " + place, errno);
    }
    // Two processes with the same path must not write to the same file.
    if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0 ||
        !still_there(descriptor.get(), place)) {
        return error(ErrorCode::conflict,
                     "another process writes " + place + ": give each a snapshot.file of its own");
    }
    if (::ftruncate(descriptor.get(), 0) != 0) {
        return net::system_error("cannot write " + place, errno);
    }
    return SnapshotFile(path, std::move(descriptor));
}

Result<void> SnapshotFile::append(ByteSpan bytes) {
    if (!fits_file_limit(size_ + bytes.size())) {
        return net::system_error("cannot write " + temporary(path_), EFBIG);
    }
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return net::system_error("cannot write " + temporary(path_),
                                     written < 0 ? errno : ENOSPC);
        }
        size_ += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Result<std::uint64_t> SnapshotFile::commit() {
    const std::string place = temporary(path_);
    if (::fsync(descriptor_.get()) != 0) {
        return net::system_error("cannot sync " + place, errno);
    }
    if (::rename(place.c_str(), path_.c_str()) != 0) {
        return net::system_error("cannot rename " + place + " to " + path_, errno);
    }
    descriptor_.reset();
    if (auto synced = sync_directory(path_); !synced) {
        return synced.error();
    }
    return size_;
}

SnapshotInput::SnapshotInput(std::string path, net::FileDescriptor descriptor)
    : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

Result<SnapshotInput> SnapshotInput::open(const std::string& path) {
    net::FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat about {};
    if (!descriptor.is_open() || ::fstat(descriptor.get(), &about) != 0) {
        const int reason = errno;
        Error failure = net::system_error("cannot read " + path, reason);
        failure.code = reason == ENOENT ? ErrorCode::not_found : ErrorCode::io;
        return failure;
    }
    if (!S_ISREG(about.st_mode)) {
        return error(ErrorCode::conflict,
                     path + " is no regular file: let snapshot.file name another");
    }
    return SnapshotInput(path, std::move(descriptor));
}

Result<void> SnapshotInput::read(const std::function<bool(ByteSpan)>& take) const {
    constexpr std::size_t kPiece = 64 * 1024;
    if (::lseek(descriptor_.get(), 0, SEEK_SET) != 0) {
        return net::system_error("cannot read " + path_, errno);
    }
    std::vector<std::byte> piece(kPiece);
    for (;;) {
        const ssize_t got = ::read(descriptor_.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return net::system_error("cannot read " + path_, errno);
        }
        if (got == 0) {
            return {};
        }
        if (!take(ByteSpan(piece).first(static_cast<std::size_t>(got)))) {
            return {};
        }
    }
}

bool is_taken(const std::string& path) {
    struct stat about {};
    return ::lstat(path.c_str(), &about) == 0 || errno != ENOENT;
}

Result<std::string> set_aside(const std::string& path) {
    constexpr int kMost = 9;
    for (int number = 1; number <= kMost; ++number) {
        const std::string place =
            path + ".refused" + (number == 1 ? "" : "." + std::to_string(number));
        if (rename_beside(path, place)) {
            return place;
        }
        if (errno != EEXIST) {
            return net::system_error("cannot rename " + path + " to " + place, errno);
        }
    }
    return error(ErrorCode::conflict,
                 "there are " + std::to_string(kMost) + " refused ones already: remove some");
}

}  // namespace weir::node
