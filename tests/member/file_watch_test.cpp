// Real inotify on real files; nothing waits longer than the events take.

#include "member/file_watch.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace weir::member {
namespace {

namespace fs = std::filesystem;

class Watched {
  public:
    Watched() : watch_(context_, [this] { ++changes_; }) {
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
    bool notified() const { return watch_.notified(); }

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
        context_.run_for(3 * FileWatch::kSettle);
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
    REQUIRE(watched.notified());
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

TEST_CASE("what happens to other files is not told") {
    Watched watched;
    watched.write("q.yaml", "1");
    watched.watch({watched.at("q.yaml")});
    CHECK(watched.stays_quiet([&] { watched.write("other", "1"); }));
}

}  // namespace
}  // namespace weir::member
