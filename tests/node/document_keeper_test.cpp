// Quota documents kept over a restart, and every way in which that fails.
#include "node/document_keeper.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "definitions/quota.h"
#include "definitions/store.h"
#include "net/clock.h"
#include "node/folder.h"

namespace weir::node {
namespace {

using namespace std::chrono_literals;
using definitions::test::quota;
using testing::Folder;

/// One run of a process; the control thread is the test itself.
struct Keeping {
    explicit Keeping(const std::string& file, const std::string& cluster = "storage")
        : keeper(control, store, file, cluster,
                 [this](const SnapshotNotice& notice) { notices.push_back(notice); },
                 {.look = 1ms, .first_retry = 1ms, .last_retry = 4ms}) {}
    void apply(const std::string& set, std::optional<std::uint64_t> generation) {
        static_cast<void>(
            store.apply_document({set, generation, {quota(set + "/a", 5)}}, net::now()));
    }
    void start() {
        keeper.start([this] { return good; });
    }
    template <class Condition>
    void run_until(const Condition& condition) {
        for (int turns = 0; !condition() && turns < 10'000; ++turns) {
            control.run_one_for(10ms);
        }
        CHECK(condition());
    }

    boost::asio::io_context control{1};
    definitions::DefinitionStore store{7};
    std::vector<SnapshotNotice> notices;
    bool good = true;
    DocumentKeeper keeper;
};

/// The sets of the file, as the next run finds them.
std::string sets_in(const std::string& file) {
    const Keeping next(file);
    std::string names;
    for (const auto& one : next.keeper.load()) {
        names += one.set + (one.generation ? "#" + std::to_string(*one.generation) : "") + " ";
    }
    return names;
}

}  // namespace

TEST_CASE("documents are on the disk soon after they change") {
    const Folder folder;
    const std::string file = folder.path() + "/kept";
    Keeping run(file);
    CHECK(run.keeper.load().empty());
    CHECK(run.notices.empty());
    run.apply("fleet", 3);
    run.apply("here", {});
    run.start();
    run.run_until([&] { return sets_in(file) == "here fleet#3 "; });
    run.apply("fleet", 4);
    run.run_until([&] { return sets_in(file) == "here fleet#4 "; });
    CHECK(run.notices.empty());
}

TEST_CASE("what was in force when the files were good last stays on the disk") {
    const Folder folder;
    const std::string file = folder.path() + "/kept";
    {
        Keeping run(file);
        run.apply("fleet", 3);
        run.start();
        run.keeper.stop();  // writes what has changed
        CHECK(sets_in(file) == "fleet#3 ");
    }
    Keeping run(file);
    run.good = false;
    run.start();
    run.control.run_for(20ms);
    run.keeper.stop();
    CHECK(sets_in(file) == "fleet#3 ");
}

TEST_CASE("a file that is larger than there is room is told and not read") {
    const Folder folder;
    const std::string file = folder.path() + "/kept";
    Keeping run(file);
    run.apply("fleet", 3);
    run.start();
    run.keeper.stop();
    const Keeping next(file);
    CHECK(next.keeper.load(100).empty());
    REQUIRE(next.notices.size() == 1);
    CHECK(next.notices[0].reason.find("for which there is room") != std::string::npos);
    CHECK(next.keeper.load(1U << 20U).size() == 1);
}

TEST_CASE("documents of another cluster are not used") {
    const Folder folder;
    const std::string file = folder.path() + "/kept";
    Keeping run(file);
    run.apply("fleet", 3);
    run.start();
    run.keeper.stop();
    const Keeping other(file, "other");
    CHECK(other.keeper.load().empty());
    REQUIRE(other.notices.size() == 1);
    CHECK(other.notices[0].is_warning);
}

TEST_CASE("a file of another program is told once and not written over") {
    const Folder folder;
    const std::string file = folder.write("kept", "upstream: http://127.0.0.1:3000\n");
    Keeping run(file);
    run.apply("fleet", 3);
    run.start();
    run.run_until([&] { return !run.notices.empty(); });
    run.control.run_for(20ms);
    REQUIRE(run.notices.size() == 1);
    CHECK(run.notices[0].reason.find("is not written over") != std::string::npos);
    folder.remove("kept");
    run.run_until([&] { return run.notices.size() == 2; });
    CHECK_FALSE(run.notices[1].is_warning);
    CHECK(sets_in(file) == "fleet#3 ");
}

}  // namespace weir::node
