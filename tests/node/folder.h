#pragma once
// Files for tests that read them.

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::node::testing {

/// A directory of its own, gone with the test.
class Folder {
  public:
    Folder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "weir-test-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    /// The file's path. Nobody but its owner may read it.
    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = path_ / name;
        std::ofstream(path) << text;
        std::filesystem::permissions(
            path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
        return path.string();
    }
    void remove(const std::string& name) const { std::filesystem::remove(path_ / name); }
    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

inline std::string quota_set(const std::string& name, const std::string& quotas) {
    return "apiVersion: weir/v1\nkind: QuotaSet\nname: " + name + "\nquotas: " + quotas + "\n";
}

}  // namespace weir::node::testing
