// Memory in use and its limit, from files as the kernel writes them.

#include "app/memory_gauge.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weir::app {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// A folder with the kernel's files.
class Kernel {
  public:
    Kernel() {
        std::string path = "/tmp/weir-memory-XXXXXX";
        REQUIRE(::mkdtemp(path.data()) != nullptr);
        root_ = path;
        const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        write("statm", "99999 " + std::to_string(50 * kMiB / page) + " 10 1 0 20 0\n");
    }
    ~Kernel() { std::filesystem::remove_all(root_); }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((root_ / name).parent_path());
        std::ofstream(root_ / name) << text;
    }
    void limit_v1(const std::string& group, std::uint64_t limit, std::uint64_t usage,
                  std::uint64_t inactive) const {
        const std::string folder = "groups/memory" + group;
        write(folder + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
        write(folder + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
        write(folder + "/memory.stat", "cache 5\ninactive_file 1\ntotal_inactive_file " +
                                           std::to_string(inactive) + "\ntotal_rss 1\n");
    }
    void limit_v2(const std::string& group, const std::string& limit, std::uint64_t usage,
                  std::uint64_t inactive) const {
        const std::string folder = "groups" + group;
        write(folder + "/memory.max", limit + "\n");
        write(folder + "/memory.current", std::to_string(usage) + "\n");
        write(folder + "/memory.stat",
              "anon 5\ninactive_file " + std::to_string(inactive) + "\nfile 9\n");
    }
    [[nodiscard]] MemoryGauge::MemoryReading read(std::uint64_t configured = 0) const {
        MemoryGauge gauge({.groups = (root_ / "groups").string(),
                           .own_group = (root_ / "cgroup").string(),
                           .own_pages = (root_ / "statm").string()});
        gauge.set_limit(configured);
        return gauge.read();
    }

  private:
    std::filesystem::path root_;
};

}  // namespace

TEST_CASE("without any limit the resident memory is told") {
    const Kernel kernel;
    CHECK(kernel.read().used == 50 * kMiB);
    CHECK(kernel.read().limit == 0);
    kernel.write("cgroup", "0::/\n");
    CHECK(kernel.read().limit == 0);
}

TEST_CASE("control groups of version 2: the tightest limit from the own group to the root") {
    const Kernel kernel;
    kernel.write("cgroup", "0::/pod/weir\n");
    kernel.limit_v2("/pod/weir", "max", 70 * kMiB, 0);
    CHECK(kernel.read().limit == 0);
    kernel.limit_v2("/pod", std::to_string(200 * kMiB), 150 * kMiB, 30 * kMiB);
    CHECK(kernel.read().limit == 200 * kMiB);
    CHECK(kernel.read().used == 120 * kMiB);
    kernel.limit_v2("/pod/weir", std::to_string(100 * kMiB), 70 * kMiB, 20 * kMiB);
    CHECK(kernel.read().limit == 100 * kMiB);
    CHECK(kernel.read().used == 50 * kMiB);
    // Figures that were read one after the other may contradict each other.
    kernel.limit_v2("/pod/weir", std::to_string(100 * kMiB), 10 * kMiB, 20 * kMiB);
    CHECK(kernel.read().used == 0);
}

TEST_CASE("control groups of version 1, in a container whose root is its own group") {
    const Kernel kernel;
    kernel.write("cgroup", "12:cpu,cpuacct:/x\n9:memory:/docker/abc\n0::/system\n");
    kernel.limit_v1("", 100 * kMiB, 80 * kMiB, 10 * kMiB);
    CHECK(kernel.read().limit == 100 * kMiB);
    CHECK(kernel.read().used == 70 * kMiB);
    kernel.limit_v1("", 9223372036854771712U, 80 * kMiB, 10 * kMiB);
    CHECK(kernel.read().limit == 0);
}

TEST_CASE("a configured limit counts the process alone") {
    const Kernel kernel;
    kernel.write("cgroup", "0::/\n");
    kernel.limit_v2("", std::to_string(100 * kMiB), 70 * kMiB, 0);
    CHECK(kernel.read(64 * kMiB).limit == 64 * kMiB);
    CHECK(kernel.read(64 * kMiB).used == 50 * kMiB);
}

TEST_CASE("the real files can be read") {
    MemoryGauge gauge;
    gauge.set_limit(1024 * kMiB);
    CHECK(gauge.read().used > kMiB);
    CHECK(gauge.read().used < 1024 * kMiB);
    gauge.set_limit(0);
    CHECK(gauge.read().used > 0);
}

TEST_CASE("short from 95 % on until below 90 %") {
    MemoryPressure pressure;
    const std::uint64_t limit = 100 * kMiB;
    CHECK(!pressure.update({.used = limit, .limit = 0}));
    CHECK(!pressure.update({.used = 95 * kMiB - 1, .limit = limit}));
    CHECK(pressure.update({.used = 95 * kMiB, .limit = limit}));
    CHECK(pressure.update({.used = 90 * kMiB, .limit = limit}));
    CHECK(!pressure.update({.used = 90 * kMiB - 1, .limit = limit}));
    CHECK(!pressure.update({.used = 94 * kMiB, .limit = limit}));
    // A small limit keeps more in hand.
    const std::uint64_t small = 48 * kMiB;
    CHECK(!pressure.update({.used = 44 * kMiB - 1, .limit = small}));
    CHECK(pressure.update({.used = 44 * kMiB, .limit = small}));
    CHECK(pressure.update({.used = 40 * kMiB, .limit = small}));
    CHECK(!pressure.update({.used = 40 * kMiB - 1, .limit = small}));
    CHECK(!MemoryPressure::is_near({.used = 69 * kMiB, .limit = limit}));
    CHECK(MemoryPressure::is_near({.used = 70 * kMiB, .limit = limit}));
}

TEST_CASE("what stays may take memory until three margins are left") {
    CHECK(!room_left({.used = 10 * kMiB, .limit = 0}));
    CHECK(room_left({.used = 10 * kMiB, .limit = 1000 * kMiB}) == 840 * kMiB);
    CHECK(room_left({.used = 10 * kMiB, .limit = 64 * kMiB}) == 42 * kMiB);
    CHECK(room_left({.used = 60 * kMiB, .limit = 64 * kMiB}) == 0U);
    CHECK(room_left({.used = 99 * kMiB, .limit = 64 * kMiB}) == 0U);
    // All of it may be taken without memory becoming short.
    MemoryPressure pressure;
    CHECK(pressure.update({.used = 950 * kMiB, .limit = 1000 * kMiB}));
    CHECK(!pressure.update({.used = 850 * kMiB, .limit = 1000 * kMiB}));
}

}  // namespace weir::app
