#include "app/key_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "admin/figures.h"
#include "cluster/key_file.h"
#include "gossip/seal.h"
#include "net/file_descriptor.h"

namespace weir::app {
namespace {

namespace fs = std::filesystem;
using gossip::Key;

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

/// A new key from the system's random generator.
Key random_key() {
    Key key{};
    gossip::SystemNonces().fill(key);
    return key;
}

Error io_error(const std::string& path, const std::string& what) {
    return error(ErrorCode::io, path + ": " + what + ": " + std::strerror(errno));
}

Result<void> write_all(int descriptor, std::string_view text, const std::string& path) {
    while (!text.empty()) {
        const auto count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return io_error(path, "cannot write");
        }
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    if (::fsync(descriptor) != 0) {
        return io_error(path, "cannot write");
    }
    return {};
}

/// Writes a file under another name and renames it when it is complete. With `replace` false no
/// other file is replaced.
Result<void> put_file(const std::string& path, std::string_view text, mode_t mode, bool replace) {
    const std::string fresh = path + ".new-" + std::to_string(::getpid());
    const net::FileDescriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
    if (!file.is_open()) {
        return io_error(fresh, "cannot make the file");
    }
    Result<void> done = write_all(file.get(), text, path);
    if (done && ::fchmod(file.get(), mode) != 0) {
        done = io_error(path, "cannot set its mode");
    }
    if (done && replace && ::rename(fresh.c_str(), path.c_str()) != 0) {
        done = io_error(path, "cannot put the file there");
    }
    if (done && !replace && ::link(fresh.c_str(), path.c_str()) != 0) {
        done = errno == EEXIST
                   ? error(ErrorCode::conflict,
                           path +
                               " is there already; whoever uses it would lose the fleet. "
                               "--force replaces it, --add begins a rotation")
                   : io_error(path, "cannot put the file there");
    }
    ::unlink(fresh.c_str());
    return done;
}

std::string file_text(const std::vector<Key>& keys) {
    std::string text = "# weir gossip keys: the first one seals, all are accepted.\n";
    for (const Key& key : keys) {
        text += cluster::to_hex(key) + "\n";
    }
    return text;
}

Result<std::vector<Key>> changed_keys(KeyCommand::Action step, std::vector<Key> keys) {
    const bool two = keys.size() == gossip::kMaximumKeys;
    if (step == KeyCommand::Action::add) {
        if (two) {
            return error(ErrorCode::conflict,
                         "there are two keys already; end that rotation with --swap and --drop");
        }
        keys.push_back(random_key());
    } else if (!two) {
        return error(ErrorCode::conflict, "there is only one key; a rotation begins with --add");
    } else if (step == KeyCommand::Action::swap) {
        std::swap(keys[0], keys[1]);
    } else {
        keys.pop_back();
    }
    return keys;
}

void tell(const std::string& path, const std::vector<Key>& keys, const char* next) {
    std::printf("%s\n", path.c_str());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        std::printf("  %s  %s\n", gossip::to_text(gossip::key_id(keys[i])).c_str(),
                    i == 0 ? "seals" : "accepted");
    }
    if (*next != '\0') {
        std::printf("%s\n", next);
    }
}

const char* what_next(KeyCommand::Action step) {
    switch (step) {
        case KeyCommand::Action::add:
            return "Next: bring this file to every sidecar; when `weir status` shows both keys "
                   "everywhere, --swap.";
        case KeyCommand::Action::swap:
            return "Next: bring this file to every sidecar; when `weir status` shows no peer with "
                   "the old key any more, --drop.";
        case KeyCommand::Action::drop:
            return "Next: bring this file to every sidecar; then the old key is worth nothing.";
        case KeyCommand::Action::create:
            return "Next: name it as cluster.key_file of every sidecar.";
        case KeyCommand::Action::show:
            break;
    }
    return "";
}

Result<void> create(const KeyCommand& command) {
    const std::vector<Key> keys{random_key()};
    auto done = put_file(command.file, file_text(keys), kOwnerOnly, command.force);
    if (done) {
        tell(command.file, keys, what_next(command.action));
    }
    return done;
}

/// Changes a key file. Keeps its mode, because a group may have to read it, and follows a symbolic
/// link to the file itself.
Result<void> change(const KeyCommand& command) {
    auto file = cluster::read_key_file(command.file);
    if (!file) {
        return file.error();
    }
    if (command.action == KeyCommand::Action::show) {
        tell(command.file, file->keys, "");
        return {};
    }
    auto keys = changed_keys(command.action, std::move(file->keys));
    if (!keys) {
        return error(keys.error().code, command.file + ": " + keys.error().message);
    }
    std::error_code failure;
    const fs::path real = fs::canonical(command.file, failure);
    struct stat status {};
    if (failure || ::stat(real.c_str(), &status) != 0) {
        return io_error(command.file, "cannot be found");
    }
    auto done = put_file(real.string(), file_text(*keys), status.st_mode & 0777U, true);
    if (done) {
        tell(command.file, *keys, what_next(command.action));
    }
    return done;
}

}  // namespace

int make_key(const KeyCommand& command) {
    const auto done =
        command.action == KeyCommand::Action::create ? create(command) : change(command);
    if (done) {
        return 0;
    }
    std::fprintf(stderr, "weir: %s\n", done.error().message.c_str());
    return 1;
}

}  // namespace weir::app
