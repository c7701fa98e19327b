// Overrides kept over a restart, and every way in which that fails.
#include "node/snapshot_keeper.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>

#include "definitions/quota.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "limiter/limiter.h"
#include "net/clock.h"

namespace weir::node {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

using definitions::test::quota;

struct Folder {
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "weir-keeper-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path = pattern;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { fs::remove_all(path); }
    [[nodiscard]] std::string file(const std::string& name = "overrides") const {
        return (path / name).string();
    }
    fs::path path;
};

std::string read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

/// One run of a process; the control thread is the test itself.
struct Process {
    explicit Process(std::string file, std::string cluster = "storage", Duration max_age = 23h,
                     Duration unix_ahead = {})
        : engine(lone(), limiter,
                 static_cast<std::uint64_t>(net::now().time_since_epoch().count()) | 1U),
          store(engine.definitions()),
          keeper(
              control, store, {engine.kept_counts(), engine.kept_levels()},
              {std::move(file), max_age}, std::move(cluster),
              [this](const SnapshotNotice& notice) { notices.push_back(notice); }, quick()) {
        keeper.load(net::now(), net::unix_time() + unix_ahead);
    }
    static engine::EngineOptions lone() {
        engine::EngineOptions options;
        options.clustered = false;
        return options;
    }
    static SnapshotTiming quick() {
        return {.look = 1ms,
                .settle = 0ms,
                .pause = 0ms,
                .refresh = 1h,
                .between_pieces = 0ms,
                .first_retry = 1ms,
                .last_retry = 4ms};
    }
    void edit(const std::string& name, double amount = 5) {
        REQUIRE(store.set(quota(name, amount), {"ann", "test", {}}, net::now()).has_value());
    }
    /// Puts a quota in force and offers it requests. Returns how many are admitted.
    int serve(const limiter::QuotaDefinition& definition, int requests) {
        const Duration ahead = net::unix_time() - net::now().time_since_epoch();
        limiter.set_wall_clock(ahead);
        engine.set_wall_clock(ahead);
        engine.start(net::now());
        REQUIRE(store.set(definition, {"ann", "test", {}}, net::now()).has_value());
        REQUIRE(!engine.apply_definitions(net::now()));
        engine.tick(net::now());
        limiter::ThreadContext& thread = limiter.register_thread(1);
        int admitted = 0;
        for (int i = 0; i < requests; ++i) {
            const auto leaf = limiter.find(thread, definition.name, net::now());
            const auto decision =
                limiter.check(thread, leaf, {}, net::now(), limiter::CheckMode::charge);
            admitted += decision.admitted ? 1 : 0;
        }
        engine.tick(net::now());
        limiter.quiescent(thread);
        return admitted;
    }
    template <class Condition>
    void run_until(Condition condition) {
        while (!condition()) {
            control.run_one();
        }
    }
    void run_until_saved() {
        run_until([&] { return !keeper.figures().unsaved; });
    }
    [[nodiscard]] std::size_t warnings() const {
        return static_cast<std::size_t>(
            std::count_if(notices.begin(), notices.end(),
                          [](const SnapshotNotice& notice) { return notice.is_warning; }));
    }

    boost::asio::io_context control{1};
    limiter::Limiter limiter{{.seed = 1}};
    engine::Engine engine;
    definitions::DefinitionStore& store;
    std::vector<SnapshotNotice> notices;
    SnapshotKeeper keeper;
};

}  // namespace

TEST_CASE("an edit is on the disk soon, and there after a restart") {
    const Folder folder;
    {
        Process first(folder.file());
        CHECK(first.keeper.figures().found == "none");
        first.keeper.start();
        first.run_until_saved();  // the place can be written, and is: an empty one
        CHECK(first.keeper.figures().overrides == 0);
        first.edit("s3/a", 7);
        CHECK(first.keeper.figures().unsaved);
        first.run_until_saved();
        CHECK(first.keeper.figures().overrides == 1);
        CHECK(first.keeper.figures().bytes == fs::file_size(folder.file()));
        CHECK(first.warnings() == 0);
    }  // no stop(): killed
    Process second(folder.file());
    CHECK(second.keeper.figures().found == "loaded");
    CHECK(second.keeper.figures().loaded == 1);
    CHECK(second.store.find("s3/a", net::now())->definition->limits[0].amount == 7);
    CHECK(second.warnings() == 0);
}

TEST_CASE("what is edited in the last moment is written at the stop") {
    const Folder folder;
    {
        Process first(folder.file());
        first.keeper.start();
        first.edit("s3/a");
        first.keeper.stop();
        first.keeper.stop();
    }
    Process second(folder.file());
    CHECK(second.keeper.figures().loaded == 1);
}

TEST_CASE("a stop in the middle of a save leaves a whole one") {
    const Folder folder;
    {
        Process first(folder.file());
        for (int i = 0; i < 5000; ++i) {
            first.edit("s3/bucket-" + std::to_string(i));
        }
        first.keeper.start();
        for (int i = 0; i < 3; ++i) {
            first.control.run_one();  // some pieces of it
        }
        first.keeper.stop();
    }
    CHECK(!fs::exists(folder.file() + ".new"));
    Process second(folder.file());
    CHECK(second.keeper.figures().loaded == 5000);
}

TEST_CASE("a truncated, altered or empty one is refused once, set aside, and a new one written") {
    const Folder folder;
    {
        Process first(folder.file());
        first.edit("s3/a");
        first.keeper.start();
        first.keeper.stop();
    }
    const std::string good = read(folder.file());
    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 4);
    for (const std::string& bad : {good.substr(0, good.size() - 1), flipped, std::string()}) {
        write(folder.file(), bad);
        Process second(folder.file());
        CHECK(second.keeper.figures().found == "refused");
        CHECK(second.store.overrides().size() == 0);
        REQUIRE(second.warnings() == 1);
        CHECK(second.notices[0].reason.find(".refused") != std::string::npos);
        CHECK(read(folder.file() + ".refused") == bad);
        fs::remove(folder.file() + ".refused");
        second.edit("s3/b");
        second.keeper.start();
        second.run_until_saved();
        CHECK(second.warnings() == 1);
        Process third(folder.file());
        CHECK(third.keeper.figures().loaded == 1);
    }
}

TEST_CASE("overrides that this version does not understand are told, the others are taken") {
    const Folder folder;
    definitions::DefinitionMap map(10);
    Process first(folder.file("another"));
    first.edit("s3/a");
    definitions::DefinitionEntry entry = *first.store.overrides().find("s3/a");
    REQUIRE(map.merge(entry, net::now()) == definitions::MergeOutcome::applied);
    entry.name = "s3/later";
    entry.value += "a field of a later version";
    REQUIRE(map.merge(entry, net::now()) == definitions::MergeOutcome::applied);
    definitions::SnapshotWriter writer(map, "storage", net::now(), net::unix_time());
    std::string text;
    for (auto piece = writer.next(); !piece.empty(); piece = writer.next()) {
        text += as_text(piece);
    }
    write(folder.file(), text);
    const Process second(folder.file());
    CHECK(second.keeper.figures().found == "loaded");
    CHECK(second.keeper.figures().loaded == 1);
    CHECK(second.store.find("s3/a", net::now()).has_value());
    REQUIRE(second.warnings() == 1);
    CHECK(second.notices.back().message.find("refuses") != std::string::npos);
}

TEST_CASE("one of another cluster or of long ago is refused") {
    const Folder folder;
    const auto make = [&] {
        Process first(folder.file());
        first.edit("s3/a");
        first.keeper.stop();
    };
    make();
    Process other(folder.file(), "other");
    CHECK(other.store.overrides().size() == 0);
    CHECK(other.notices.at(0).reason.find("cluster 'storage', this is 'other'") !=
          std::string::npos);
    make();
    Process late(folder.file(), "storage", 23h, 24h);
    CHECK(late.keeper.figures().found == "refused");
    CHECK(late.notices.at(0).reason.find("24 hours ago") != std::string::npos);
    make();
    const Process weekend(folder.file(), "storage", 100h, 72h);
    CHECK(weekend.keeper.figures().loaded == 1);
}

/// A count of a window that ends in a day.
std::vector<std::byte> a_count(std::uint64_t run) {
    sync::WindowReport count;
    count.key = {77, static_cast<std::uint8_t>(limiter::LimitKind::window), 0, 86'400'000};
    count.run = run;
    count.number = 1;
    count.end = static_cast<std::uint32_t>(to_seconds(net::unix_time())) + 86'400;
    count.gone = true;
    count.most = 1000;
    count.admitted = count.allowance = count.wanted = 12;
    std::vector<std::byte> block(sync::KeptCounts::kLargestCount);
    ByteWriter writer(block);
    encode(writer, count);
    block.resize(writer.size());
    return block;
}

TEST_CASE("counts are on the disk with the overrides, and taken also from an old snapshot") {
    const Folder folder;
    {
        Process first(folder.file());
        first.engine.kept_counts().read(a_count(5));
        first.engine.kept_counts().read(a_count(6));
        first.edit("s3/a");
        first.keeper.stop();
        CHECK(first.keeper.figures().counts == 2);
    }
    {
        Process second(folder.file());
        CHECK(second.keeper.figures().loaded == 1);
        CHECK(second.keeper.figures().loaded_counts == 2);
        second.edit("s3/b");
        second.keeper.stop();  // before the counts had come to anybody
        CHECK(second.keeper.figures().counts == 2);
    }
    const Process late(folder.file(), "storage", 23h, 48h);
    CHECK(late.keeper.figures().found == "refused");
    CHECK(late.keeper.figures().loaded == 0);
    CHECK(late.keeper.figures().loaded_counts == 2);
    CHECK(late.notices.back().message.find("only counts and levels") != std::string::npos);
}

TEST_CASE("counts of a snapshot of which a bit is wrong are not taken") {
    const Folder folder;
    {
        Process first(folder.file());
        first.engine.kept_counts().read(a_count(5));
        first.edit("s3/a");
        first.keeper.stop();
    }
    std::string text = read(folder.file());
    text[text.size() - 3] = static_cast<char>(text[text.size() - 3] ^ 1);  // of the end
    write(folder.file(), text);
    const Process second(folder.file());
    CHECK(second.keeper.figures().found == "refused");
    CHECK(second.keeper.figures().loaded_counts == 0);
}

TEST_CASE("what is admitted in a window is on the disk soon, without an edit") {
    const Folder folder;
    limiter::QuotaDefinition daily;
    daily.name = "daily";
    daily.limits = {limiter::RateLimit::in_window(100, std::chrono::hours(24))};
    {
        Process first(folder.file(), "");
        first.serve(daily, 30);
        first.keeper.start();
        first.run_until([&] { return first.keeper.figures().counts == 1; });
        first.keeper.stop();
    }
    Process second(folder.file(), "");
    CHECK(second.keeper.figures().loaded_counts == 1);
    CHECK(second.serve(daily, 200) == 70);
}

TEST_CASE("a long level is on the disk soon, and a damaged file gives none") {
    const Folder folder;
    limiter::QuotaDefinition slow;
    slow.name = "slow";
    slow.limits = {{.amount = 100, .period = std::chrono::hours(24)}};
    {
        Process first(folder.file(), "");
        first.serve(slow, 30);
        CHECK(first.keeper.figures().unsaved_levels);
        first.keeper.start();
        first.run_until([&] { return first.keeper.figures().levels == 1; });
        CHECK_FALSE(first.keeper.figures().unsaved_levels);
    }  // no stop(): killed
    const std::string good = read(folder.file());
    {
        Process second(folder.file(), "");
        CHECK(second.keeper.figures().loaded_levels == 1);
        CHECK(second.serve(slow, 200) == 70);
    }
    for (const std::size_t cut : {good.size() - 1, good.size() / 2}) {
        write(folder.file(), good.substr(0, cut));
        Process third(folder.file(), "");
        CHECK(third.keeper.figures().found == "refused");
        CHECK(third.keeper.figures().loaded_levels == 0);
        CHECK(third.warnings() == 1);
        CHECK(third.serve(slow, 200) == 100);
    }
}

TEST_CASE("a file of somebody else is neither read nor written over") {
    for (const std::string precious : {"quotas: [precious.yaml]\n", "4711\n"}) {
        const Folder folder;
        write(folder.file(), precious);
        Process process(folder.file());
        CHECK(process.keeper.figures().found == "refused");
        process.keeper.start();
        process.run_until([&] { return process.keeper.figures().failures >= 3; });
        CHECK(read(folder.file()) == precious);
        CHECK(!fs::exists(folder.file() + ".refused"));
        CHECK(process.warnings() == 2);  // not used, not written: once each
        process.keeper.stop();
        CHECK(read(folder.file()) == precious);
    }
}

TEST_CASE("what is no regular file or cannot be read is neither renamed nor written over") {
    const std::vector<std::function<void(const std::string&)>> kinds = {
        [](const std::string& path) { fs::create_directory(path); },
        [](const std::string& path) { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); },
        [](const std::string& path) { fs::create_symlink("/dev/null", path); },
        [](const std::string& path) { fs::create_symlink("/dev/zero", path); },
        [](const std::string& path) { fs::create_symlink(path, path); },             // ELOOP
        [](const std::string& path) { fs::create_symlink("/proc/self/mem", path); }  // EIO
    };
    for (const auto& make : kinds) {
        const Folder folder;
        make(folder.file());
        const auto kind = fs::symlink_status(folder.file()).type();
        Process process(folder.file());
        CHECK(process.keeper.figures().found == "refused");
        process.keeper.start();
        process.run_until([&] { return process.keeper.figures().failures >= 3; });
        CHECK(process.keeper.figures().problem.find("not written over") != std::string::npos);
        process.edit("s3/a");
        process.keeper.stop();
        CHECK(process.warnings() == 2);  // not used, not written: once each
        CHECK(fs::symlink_status(folder.file()).type() == kind);
        CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
    }
}

TEST_CASE("a refused one that cannot be set aside is not written over until it is moved away") {
    const Folder folder;
    {
        Process first(folder.file());
        first.edit("s3/a");
        first.keeper.stop();
    }
    const std::string good = read(folder.file());
    write(folder.file() + ".refused", "earlier");
    for (const char number : std::string("23456789")) {
        write(folder.file() + ".refused." + number, "earlier");
    }
    Process other(folder.file(), "other");
    other.keeper.start();
    other.run_until([&] { return other.keeper.figures().failures >= 2; });
    CHECK(read(folder.file()) == good);
    CHECK(read(folder.file() + ".refused") == "earlier");
    CHECK(other.keeper.figures().problem.find("was refused and is still there") !=
          std::string::npos);
    fs::rename(folder.file(), folder.file("away"));
    other.run_until_saved();
    other.edit("s3/b");
    other.run_until_saved();
    CHECK(Process(folder.file(), "other").keeper.figures().loaded == 1);
}

TEST_CASE(
    "a place that cannot be written is told once, counted, tried again and told when it can") {
    const Folder folder;
    Process process(folder.file("later/overrides"));
    process.edit("s3/a");
    process.keeper.start();
    process.run_until([&] { return process.keeper.figures().failures >= 5; });
    CHECK(process.warnings() == 1);
    CHECK(process.keeper.figures().problem.find("No such file") != std::string::npos);
    CHECK(process.keeper.figures().unsaved);
    fs::create_directory(folder.path / "later");
    process.run_until_saved();
    CHECK(process.keeper.figures().problem.empty());
    CHECK(process.notices.back().message == "the snapshot is written again");
    CHECK(Process(folder.file("later/overrides")).keeper.figures().loaded == 1);
}

TEST_CASE("attempts that fail become more and more seldom") {
    const Folder folder;
    Process process(folder.file("none/overrides"));
    process.keeper.start();
    const Instant begin = net::now();
    process.run_until([&] { return process.keeper.figures().failures >= 8; });
    // 1, 2, then 4 ms each; a busy machine only adds to it.
    CHECK(net::now() - begin >= 1ms + 2ms + 5 * 4ms);
}

TEST_CASE("without a change nothing is written until the refresh") {
    const Folder folder;
    Process process(folder.file());
    process.keeper.start();
    process.run_until_saved();
    const Instant until = net::now() + 50ms;
    process.run_until([&] { return net::now() >= until; });
    CHECK(process.keeper.figures().saves == 1);
}

}  // namespace weir::node
