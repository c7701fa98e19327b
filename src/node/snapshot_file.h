#pragma once
// The file of a snapshot. It is written under a temporary name and renamed when it is complete and
// on the disk. So a reader finds either the old file or the new one, whenever the process or the
// machine ends. The functions block on the disk: the control thread calls them only for small files
// at start and at the end.
//
// Thread-safety: one thread at a time. Ownership: each object owns its descriptor. A SnapshotFile
// that was not committed removes its temporary file in its destructor.

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
    /// Creates the temporary file, whose name is `path` with ".new". A process that is killed
    /// leaves at most this one behind.
    [[nodiscard]] static Result<SnapshotFile> create(const std::string& path);
    SnapshotFile(SnapshotFile&&) = default;
    SnapshotFile& operator=(SnapshotFile&&) = delete;
    ~SnapshotFile();

    [[nodiscard]] Result<void> append(ByteSpan bytes);
    /// Brings the file onto the disk and into its place, and returns its size.
    [[nodiscard]] Result<std::uint64_t> commit();

  private:
    SnapshotFile(std::string path, net::FileDescriptor descriptor);

    std::string path_;
    net::FileDescriptor descriptor_;
    std::uint64_t size_ = 0;
};

/// One file that can be read several times, also when another one has taken its place meanwhile.
class SnapshotInput {
  public:
    /// The error is not_found if there is no such file, conflict if it is no regular file, and io
    /// in all other cases. It never waits for a writer (of a pipe, for instance).
    [[nodiscard]] static Result<SnapshotInput> open(const std::string& path);

    /// Gives the bytes of the file to `take` from the beginning, in pieces, until it returns false.
    [[nodiscard]] Result<void> read(const std::function<bool(ByteSpan)>& take) const;

  private:
    SnapshotInput(std::string path, net::FileDescriptor descriptor);

    std::string path_;
    net::FileDescriptor descriptor_;
};

/// Whether a file of any kind has that name, even if it cannot be opened.
[[nodiscard]] bool is_taken(const std::string& path);

/// Renames a refused file to `path` with ".refused", or with ".refused.2" to ".refused.9" if there
/// are earlier ones; none of them is replaced. Returns the new name. The error is conflict if all
/// of these names are taken.
[[nodiscard]] Result<std::string> set_aside(const std::string& path);

}  // namespace weir::node
