// The snapshot's file under full disks, limits, other processes and deaths at any moment.
#include "node/snapshot_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/random.h"

namespace weir::node {
namespace {

namespace fs = std::filesystem;

struct Folder {
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "weir-snapshot-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path = pattern;
        file = (path / "overrides").string();
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { fs::remove_all(path); }

    [[nodiscard]] std::string text() const {
        std::ifstream stream(file, std::ios::binary);
        std::ostringstream all;
        all << stream.rdbuf();
        return all.str();
    }

    fs::path path;
    std::string file;
};

Result<std::uint64_t> save(const std::string& path, std::string_view text) {
    auto file = SnapshotFile::create(path);
    if (!file) {
        return file.error();
    }
    if (auto appended = file->append(as_bytes(text)); !appended) {
        return appended.error();
    }
    return file->commit();
}

std::string content(char letter) { return std::string(300'000, letter); }

char following(char letter) { return letter == 'z' ? 'a' : static_cast<char>(letter + 1); }

[[noreturn]] void commit_until_killed(const std::string& path, char letter) {
    for (;; letter = following(letter)) {
        auto file = SnapshotFile::create(path);
        if (!file) {
            continue;
        }
        const std::string text = content(letter);
        for (std::size_t at = 0; at < text.size(); at += 10'000) {
            static_cast<void>(file->append(as_bytes(text).subspan(at, 10'000)));
        }
        static_cast<void>(file->commit());
    }
}

}  // namespace

TEST_CASE("a file is in its place when it is whole, for its owner only") {
    const Folder folder;
    {
        auto file = SnapshotFile::create(folder.file);
        REQUIRE(file.has_value());
        REQUIRE(file->append(as_bytes("one ")).has_value());
        REQUIRE(file->append(as_bytes("two")).has_value());
        CHECK(!fs::exists(folder.file));
        CHECK(file->commit().value() == 7);
    }
    CHECK(folder.text() == "one two");
    CHECK(!fs::exists(folder.file + ".new"));
    CHECK(fs::status(folder.file).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
    REQUIRE(save(folder.file, "three").has_value());
    CHECK(folder.text() == "three");
}

TEST_CASE("one that is given up leaves the old one and nothing beside it") {
    const Folder folder;
    REQUIRE(save(folder.file, "old").has_value());
    {
        auto file = SnapshotFile::create(folder.file);
        REQUIRE(file.has_value());
        REQUIRE(file->append(as_bytes("half of the ne")).has_value());
    }
    CHECK(folder.text() == "old");
    CHECK(!fs::exists(folder.file + ".new"));
}

TEST_CASE("what a dead process left is written over") {
    const Folder folder;
    std::ofstream(folder.file + ".new") << "half of a much longer one than this";
    REQUIRE(save(folder.file, "new").has_value());
    CHECK(folder.text() == "new");
}

TEST_CASE("a directory that is missing, a link and a full device are errors") {
    const Folder folder;
    const auto missing = save((folder.path / "none" / "overrides").string(), "x");
    REQUIRE(!missing.has_value());
    CHECK(missing.error().message.find("No such file") != std::string::npos);
    fs::create_symlink("/dev/full", folder.file + ".new");
    CHECK(!save(folder.file, "x").has_value());
    CHECK(fs::is_symlink(folder.file + ".new"));
}

TEST_CASE("a file limit of the process is an error, not its end") {
    const Folder folder;
    REQUIRE(save(folder.file, "old").has_value());
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small{8, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const auto saved = save(folder.file, "more than eight bytes");
    CHECK(save(folder.file, "eight by").value() == 8);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    REQUIRE(!saved.has_value());
    CHECK(saved.error().message.find("File too large") != std::string::npos);
    CHECK(folder.text() == "eight by");
}

TEST_CASE("two writers of one path do not mix") {
    const Folder folder;
    auto first = SnapshotFile::create(folder.file);
    REQUIRE(first.has_value());
    const auto second = SnapshotFile::create(folder.file);
    REQUIRE(!second.has_value());
    CHECK(second.error().message.find("a snapshot.file of its own") != std::string::npos);
    REQUIRE(first->append(as_bytes("first")).has_value());
    REQUIRE(first->commit().has_value());
    CHECK(folder.text() == "first");
    REQUIRE(save(folder.file, "second").has_value());
}

TEST_CASE("killed at any moment, the old one or a new one is there, never half of one") {
    const Folder folder;
    REQUIRE(save(folder.file, content('a')).has_value());
    Random random(7);
    char before = 'a';
    std::size_t seen_new = 0;
    // Where a commit takes longer than 20 ms, the turns become longer until one was seen.
    for (std::uint64_t turn = 0; turn < 60 || (seen_new == 0 && turn < 300); ++turn) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            commit_until_killed(folder.file, following(before));
        }
        // Spins instead of sleeping: the moment is somewhere in the child's work.
        const auto until =
            std::chrono::steady_clock::now() +
            std::chrono::microseconds(random.next() % (20'000 * (1 + turn / 60 * 10)));
        while (std::chrono::steady_clock::now() < until) {
        }
        REQUIRE(::kill(child, SIGKILL) == 0);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        const std::string text = folder.text();
        REQUIRE(text.size() == 300'000);
        CHECK(text == content(text[0]));
        if (std::exchange(before, text[0]) != text[0]) {
            ++seen_new;
        }
        std::size_t files = 0;
        for (const auto& each : fs::directory_iterator(folder.path)) {
            static_cast<void>(each);
            ++files;
        }
        CHECK(files <= 2);  // it, and one that was begun
    }
    CHECK(seen_new > 0);
}

TEST_CASE("reading tells a missing file from one that cannot be read") {
    const Folder folder;
    std::string text;
    const auto take = [&](ByteSpan piece) {
        text += as_text(piece);
        return true;
    };
    const auto missing = SnapshotInput::open(folder.file);
    REQUIRE(!missing.has_value());
    CHECK(missing.error().code == ErrorCode::not_found);
    for (const std::string& other : {folder.path.string(), std::string("/dev/null")}) {
        const auto opened = SnapshotInput::open(other);
        REQUIRE(!opened.has_value());
        CHECK(opened.error().code == ErrorCode::conflict);
        CHECK(opened.error().message.find("no regular file") != std::string::npos);
    }
    const auto inside = SnapshotInput::open("/dev/null/overrides");
    REQUIRE(!inside.has_value());
    CHECK(inside.error().code == ErrorCode::io);
    const std::string long_text(200'000, 'x');
    REQUIRE(save(folder.file, long_text).has_value());
    const auto input = SnapshotInput::open(folder.file);
    REQUIRE(input.has_value());
    std::size_t pieces = 0;
    REQUIRE(input->read([&](ByteSpan) { return ++pieces == 0; }).has_value());
    CHECK(pieces == 1);
    REQUIRE(save(folder.file, "another one").has_value());
    REQUIRE(input->read(take).has_value());
    CHECK(text == long_text);  // the one that was opened, from its beginning
}

TEST_CASE("refused files are kept beside, nine of them, and none is replaced") {
    const Folder folder;
    const auto refuse = [&](std::string_view text) {
        REQUIRE(save(folder.file, text).has_value());
        return set_aside(folder.file);
    };
    CHECK(refuse("bad").value() == folder.file + ".refused");
    CHECK(!fs::exists(folder.file));
    CHECK(!set_aside(folder.file).has_value());
    for (const char number : std::string("23456789")) {
        CHECK(refuse(std::string(2, number)).value() == folder.file + ".refused." + number);
    }
    const auto tenth = refuse("worse");
    REQUIRE(!tenth.has_value());
    CHECK(tenth.error().code == ErrorCode::conflict);
    CHECK(folder.text() == "worse");
    CHECK(fs::file_size(folder.file + ".refused") == 3);
    CHECK(fs::file_size(folder.file + ".refused.9") == 2);
}

}  // namespace weir::node
