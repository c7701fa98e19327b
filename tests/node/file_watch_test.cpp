// Real inotify on real files; nothing waits longer than the events take.

#include "node/file_watch.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

namespace weir::node {
namespace {

namespace fs = std::filesystem;

class Watched {
  public:
    explicit Watched(std::chrono::milliseconds look = FileWatch::kLook)
        : watch_(
              context_, [this] { ++changes_; }, look) {
        std::string pattern = (fs::temp_directory_path() / "weir-watch-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        folder_ = pattern;
    }
    ~Watched() {
        watch_.stop();
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    fs::path at(const std::string& name) const { return folder_ / name; }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(at(name)) << text;
    }
    void watch(const std::vector<std::string>& paths) { watch_.watch(paths); }
    void again() { watch_.again(); }
    void run_for(std::chrono::milliseconds time) {
        context_.restart();
        context_.run_for(time);
    }
    /// Runs the next handler that becomes ready.
    void run_one() {
        context_.restart();
        REQUIRE(context_.run_one_for(std::chrono::seconds(3)) == 1);
    }
    int changes() const { return changes_; }

    /// Runs until a change is told, at most three seconds: sooner than the regular look.
    bool notices(const std::function<void()>& act) {
        const int before = changes_;
        act();
        context_.restart();
        const auto end = std::chrono::seconds(3);
        for (auto spent = std::chrono::milliseconds(0); spent < end && changes_ == before;
             spent += std::chrono::milliseconds(50)) {
            context_.run_for(std::chrono::milliseconds(50));
        }
        return changes_ > before;
    }

    /// Three times as long as a change takes to be told.
    bool stays_quiet(const std::function<void()>& act) {
        const int before = changes_;
        act();
        context_.restart();
        context_.run_for(6 * FileWatch::kSettle);
        return changes_ == before;
    }

  private:
    boost::asio::io_context context_;
    FileWatch watch_;
    fs::path folder_;
    int changes_ = 0;
};

TEST_CASE("a file written in place, and one renamed over it as editors do") {
    Watched watched;
    watched.write("q.yaml", "1");
    watched.watch({watched.at("q.yaml")});
    CHECK(watched.notices([&] { watched.write("q.yaml", "22"); }));
    CHECK(watched.notices([&] {
        watched.write("q.yaml.new", "333");
        fs::rename(watched.at("q.yaml.new"), watched.at("q.yaml"));
    }));
    CHECK(watched.notices([&] { fs::remove(watched.at("q.yaml")); }));
    CHECK(watched.notices([&] { watched.write("q.yaml", "back"); }));
}

TEST_CASE("the symbolic link of a ConfigMap is swapped") {
    Watched watched;
    fs::create_directory(watched.at("..1"));
    watched.write("..1/q.yaml", "1");
    fs::create_directory_symlink("..1", watched.at("..data"));
    fs::create_symlink("..data/q.yaml", watched.at("q.yaml"));
    watched.watch({watched.at("q.yaml")});
    CHECK(watched.notices([&] {
        fs::create_directory(watched.at("..2"));
        watched.write("..2/q.yaml", "2");
        fs::create_directory_symlink("..2", watched.at("..data_tmp"));
        fs::rename(watched.at("..data_tmp"), watched.at("..data"));
    }));
}

TEST_CASE("a file that appears in a watched directory") {
    Watched watched;
    watched.watch({watched.at("")});
    CHECK(watched.notices([&] { watched.write("new.yaml", "1"); }));
}

TEST_CASE("a file that is written in two goes is told once, when it is whole") {
    Watched watched;
    watched.write("q.yaml", "1");
    watched.watch({watched.at("q.yaml")});
    watched.write("q.yaml", "half");
    watched.run_one();  // the event
    watched.run_one();  // the first look, after which one more must find the same
    CHECK(watched.changes() == 0);
    CHECK(watched.notices([&] { watched.write("q.yaml", "half and half"); }));
    CHECK(watched.stays_quiet([] {}));
    CHECK(watched.changes() == 1);
}

TEST_CASE("a file that changes for ever is told all the same") {
    Watched watched;
    watched.write("q.yaml", "");
    watched.watch({watched.at("q.yaml")});
    std::string text;
    const int most = 10 * FileWatch::kMostSamples;
    for (int i = 0; i < most && watched.changes() == 0; ++i) {
        watched.write("q.yaml", text += 'x');
        watched.run_for(FileWatch::kSettle / 2);
    }
    CHECK(watched.changes() == 1);
}

TEST_CASE("a change that was not told yet is not forgotten when the same files are watched again") {
    Watched watched;
    watched.write("q.yaml", "1");
    watched.watch({watched.at("q.yaml")});
    CHECK(watched.notices([&] {
        watched.write("q.yaml", "22");
        watched.watch({watched.at("q.yaml")});
    }));
}

TEST_CASE("other permissions are a change") {
    Watched watched;
    watched.write("key", "1");
    watched.watch({watched.at("key")});
    CHECK(watched.notices([&] { fs::permissions(watched.at("key"), fs::perms::owner_read); }));
}

TEST_CASE("what could not be read is told again at the next look, once") {
    Watched watched(FileWatch::kSettle);
    watched.write("q.yaml", "1");
    watched.watch({watched.at("q.yaml")});
    CHECK(watched.stays_quiet([] {}));
    CHECK(watched.notices([&] { watched.again(); }));
    CHECK(watched.stays_quiet([] {}));
}

TEST_CASE("a callback that throws is called at the next change, too") {
    int calls = 0;
    boost::asio::io_context context;
    FileWatch watch(context, [&] {
        if (++calls == 1) {
            throw std::runtime_error("once");
        }
    });
    const Watched files;
    files.write("q.yaml", "1");
    watch.watch({files.at("q.yaml")});
    const auto run_until = [&](int wanted) {
        for (int i = 0; i < 100 && calls < wanted; ++i) {
            context.run_for(FileWatch::kSettle);
        }
        return calls;
    };
    files.write("q.yaml", "22");
    CHECK_THROWS_AS(run_until(1), std::runtime_error);
    files.write("q.yaml", "333");
    CHECK(run_until(2) == 2);
    watch.stop();
}

TEST_CASE("what happens to other files is not told") {
    Watched watched;
    watched.write("q.yaml", "1");
    watched.watch({watched.at("q.yaml")});
    CHECK(watched.stays_quiet([&] { watched.write("other", "1"); }));
}

}  // namespace
}  // namespace weir::node
