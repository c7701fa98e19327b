#pragma once
// The snapshot's file: written beside its place and renamed onto it when it is whole and on the
// disk, so that whoever reads finds the old one or the new one, whenever the process or the machine
// ends. Blocks on the disk: not for the control thread, but for small files at start and end.
//
// Thread-safety: one thread at a time. Ownership: each owns its descriptor; the temporary file goes
// with its own unless it was committed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "net/file_descriptor.h"

namespace weir::node {

class SnapshotFile {
  public:
    /// `path` with ".new": at most one of it is ever left behind.
    [[nodiscard]] static Result<SnapshotFile> create(const std::string& path);
    SnapshotFile(SnapshotFile&&) = default;
    SnapshotFile& operator=(SnapshotFile&&) = delete;
    ~SnapshotFile();

    [[nodiscard]] Result<void> append(ByteSpan bytes);
    /// On the disk and in its place; its size.
    [[nodiscard]] Result<std::uint64_t> commit();

  private:
    SnapshotFile(std::string path, net::FileDescriptor descriptor);

    std::string path_;
    net::FileDescriptor descriptor_;
    std::uint64_t size_ = 0;
};

/// One file to read, as often as wanted, whatever takes its place meanwhile.
class SnapshotInput {
  public:
    /// Error not_found if there is none, conflict if it is no regular file, else io. Never waits
    /// for a writer.
    [[nodiscard]] static Result<SnapshotInput> open(const std::string& path);

    /// Its bytes from the beginning in pieces, until `take` says false.
    [[nodiscard]] Result<void> read(const std::function<bool(ByteSpan)>& take) const;

  private:
    SnapshotInput(std::string path, net::FileDescriptor descriptor);

    std::string path_;
    net::FileDescriptor descriptor_;
};

/// Something is there, even if it cannot be opened.
[[nodiscard]] bool is_taken(const std::string& path);

/// Keeps a refused file as `path` with ".refused", or ".refused.2" to ".refused.9" if there are
/// earlier ones: none is replaced. The name that it has now; error conflict if all are taken.
[[nodiscard]] Result<std::string> set_aside(const std::string& path);

}  // namespace weir::node
